"""What a second attacker tried against the rules: other spellings of options, other programs that start
programs, and texts that bash evaluates though they are quoted."""

import pytest

from planck.permissions.rules import Decision, apply_rules, load

UNSEEN = [
    # options in a cluster, glued or abbreviated
    "env -vS 'rm x'", "script -qc 'rm x' log", "script -qec 'rm x' log", "nice --adj 5 rm x",
    "timeout --kill 1 5 rm x", "stdbuf --out 0 rm x", "xargs --max-a 1 rm", "flock l -nc 'rm x'",
    "tar cf a --checkpoint-act=exec='rm x' b", "tar cf a --checkpoint-action 'exec=rm x' b",
    "tar xf a --to-com='rm x'", "tar cf a --use='rm x' b", "tar cIf 'rm x' a b", "tar cfI a 'rm x' b",
    "rsync -ae 'rm x' a b:c", "rsync --rsync-path='rm x' a b:c", "sort --compress-prog=rm f",
    "split --filt='rm x' f", "su --comm='rm x'", "hash -p/bin/rm q; q x", "man --pag='rm x' ls",
    # programs that start others
    "setarch -R rm x", "x86_64 rm x", "choom -n 0 -- rm x", "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
    "run-parts --regex rm /bin", "start-stop-daemon -S -x /bin/rm", "/proc/self/exe -c 'rm x'", "fc -s",
    "npx rm x", "npm exec -- rm x", "npm --prefix . exec rm x", "uv tool run rm x", "uv --offline run rm x",
    "pnpm exec rm x", "yarn exec rm x", "pipx run rm x", "fd x -x rm", "scp -o ProxyCommand='rm x' a b:c",
    "scp -oProxyCommand='rm x' a b:c", "less '+!rm x' f", "cmake -E env rm x", "go test -exec 'rm x'",
    "zip -T -TT 'rm x' a b", "psql -c '\\! rm x'", "sqlite3 db '.shell rm x'",
    "bash --rcfile f -ic ls", "echo rm x | xargs -I{} sh -c '{}'", "for i do rm x; done",
    "env env env env env env env env env env rm x",
    "kubectl exec p -- rm x", "docker exec c rm x", "docker compose exec s rm x", "doppler run -- rm x",
    "aws-vault exec p -- rm x", "conda run -n e rm x", "pyenv exec rm x", "gosu u rm x", "tini -- rm x",
    "ccache rm x", "cross-env A=b rm x", "bwrap --bind / / rm x", "hyperfine 'rm x'", "chpst -u u rm x",
    # grammar
    "for ((;;)) { rm x; }", "if [[ a == a ]] then rm x; fi", "{fd}>f rm x", "select i do rm x; done",
    # languages
    "sed '1e rm x' f", "sed 's/.*/rm x/e' f", "sed -n '1{e rm x\n}' f", "sed -e p -e 's/a/rm x/;e' f",
    "sed --expression='1e rm x' f", "sed -f x f", "sed -E 's|(.*)|rm \\1|ge' f", "sed '/a/,$ e rm x' f",
    "awk -l x 1", "awk '\"rm x\" | getline' f",
    # git
    "git rebase -x 'rm x' main", "git -C . rebase -x'rm x' main", "git difftool -x 'rm x'",
    "git grep -O'rm x' a", "git grep --open-files='rm x' a", "git clone -u 'rm x' a b",
    "git clone --config core.sshCommand='rm x' a", "git -c protocol.ext.allow=always fetch 'ext::rm x'",
    "git fetch --upload-p='rm x' .", "git submodule --quiet foreach rm x", "git config alias.q '!rm x'",
    "git filter-branch --tree-filter 'rm x'", "git -c core.hooksPath=h commit", "git --exec-path=/x q",
    "Q='!rm x' git --config-env=alias.q=Q q",
    # variables
    "GIT_SSH_COMMAND='rm x' git fetch", "GIT_PAGER='rm x' git log", "export GIT_PAGER='rm x'; git log",
    "env PAGER='rm x' man ls", "GIT_EXTERNAL_DIFF='rm x' git diff", "RSYNC_RSH='rm x' rsync a b:c",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.q GIT_CONFIG_VALUE_0='!rm x' git q",
    "TAR_OPTIONS=x tar cf a b",
    "BASH_CMDS[q]=/bin/rm; q x", "BASH_ALIASES[q]=rm; q", "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls",
    # quoted, and evaluated all the same
    "[[ -v 'a[$(rm x)]' ]]", "x='a[$(rm x)]'; [[ $x -eq 1 ]]", "x='a[$(rm x)]'; echo $((x))",
    "x='a[`rm x`]'; (( x ))", "x='a[$(rm x)]'; let y=x", "x='a[$(rm x)]'; declare -i y=x",
    "x='a[$(rm x)]'; y[x]=1", "x='a[$(rm x)]'; test -v \"$x\"", "x='a[$(rm x)]'; printf -v \"$x\" a",
    "test -v 'a[$(rm x)]'", "printf -v 'a[$(rm x)]' y", "unset 'a[$(rm x)]'", "x='$(rm x)'; echo \"${x@P}\"",
    "compgen -W '$(rm x)' a",
]  # fmt: skip


@pytest.mark.parametrize("command", UNSEEN)
def test_no_spelling_passes_a_denying_rule_unseen(command: str) -> None:
    rules = load([{"tool": "bash", "command": "rm", "decision": "deny"}], "test")
    assert apply_rules(rules, "bash", {"command": command}).decision in {Decision.DENY, Decision.ASK}


STARTING = [
    "sed '1e evil' f", "sed -n 's/a/evil/e' f", "sed -i -e p -e '1e evil' f", "sed -f evil f", "sed $x f",
    "awk 'BEGIN{system(\"evil\")}'", "awk '{print | \"evil\"}' f", "awk -f evil f", "awk -lx 1", "xargs sed",
    "fd -x evil", "fd --exec evil", "fd -Hx evil", "git grep -Oevil x", "git rebase -x evil main",
    "git fetch --upload-p=evil .", "git push --rec=evil", "git clone -u evil a b", "git fetch ext::evil",
    "git clone --conf core.pager=evil a", "git submodule --quiet foreach evil", "git config core.pager evil",
    "tar xIf evil a", "tar --use=evil -xf a", "tar xf a --to-c=evil", "tar cf a --checkpoint-act=exec=evil b",
    "zip -TTevil -T a b", "go test -exec=evil ./...", "go build -toolexec evil", "less +!evil f",
    "man -Hevil ls", "man --pag=evil ls", "npx evil", "npm exec evil", "npm test --script-shell=evil",
    "uv --offline run evil", "uv tool run evil", "pnpm dlx evil", "rsync -ae evil a b:c",
    "rsync --rsync-path=evil a b:c", "scp -oProxyCommand=evil a b:c", "split --filt=evil f",
    "sort --compress-prog=evil f", "setarch -R evil", "choom -n 0 -- evil", "cmake -E env evil",
    "wget --use-askpass=evil u", "gcc -wrapper evil a.c", "tcpdump -z evil", "bat --pager=evil f",
    "hg log --config alias.log='!evil'", "svn log --diff-cmd=evil", "svn log --config-opt x:y:z=evil",
    "cargo test --config x.runner=evil", "gcc -fplugin=./evil.so a.c", "rg --hostname-bin=evil x",
    "apt-get -o APT::Update::Pre-Invoke::=evil update", "npm test --node-options=-revil", "man -C evil ls",
    "psql -c '\\! evil'", "sqlite3 db '.shell evil'", "env PATH=. ls", "env LD_PRELOAD=./x.so ls",
    "env GIT_PAGER=evil ls", "sudo BASH_ENV=x ls", "bash --rcfile evil -ic ls", "script -qc evil log",
]  # fmt: skip


@pytest.mark.parametrize("command", STARTING)
def test_a_rule_for_a_program_does_not_vouch_for_what_its_options_start(command: str) -> None:
    words = command.split()
    mine = " ".join(words[:2]) if words[0] in {"git", "npm", "go"} else words[0]
    rules = load([{"tool": "bash", "command": text, "decision": "allow"} for text in (mine, "ls")], "test")
    assert apply_rules(rules, "bash", {"command": command}).decision is None


ORDINARY = [
    "sed -n '1,5p' f", "sed -i 's/e/x/g; /e e/d; $!N' f", "sed -E 's#a(b|e)#\\1e#g' f", 
    "sed '/^e/{s/a/b/;p}' f",
    "sed -e 's/[/]e/x/' -e 5q f", "sed '1i\\\nhere e' f", "sed 's/a/b/;y/abc/def/' f", "sed '$d' f",
    "sed -n '/start/,/end/p' f", "sed 1~2d f", "sed 's/x/y/w out' f", "sed ':a;N;$!ba;s/\\n/ /g' f",
    "awk -F: '$1 == \"e\" || $2 > 1 {print $1}' f", "awk 'NR%2' f", "git log --oneline -5",
    "git cherry-pick -x abc", "git clean -fdx build", "git clone https://x/y z", "git config user.name x",
    "git rebase main", "git grep -n x", "git diff --exit-code", "tar -xzf a.tgz", "tar cf a --checkpoint=1 b",
    "tar --exclude=x -cf a b", "rsync -av a b", "sort -u f", "zip -r a b", "go test ./... -run x", "fd x",
    "npm test", "npm run build", "npm install x", "uv pip install x", "cmake -B build", "less f", "wget -q u",
    "gcc -o a a.c", "sqlite3 db 'select 1'", "timeout --foreground 5 ls", "env CI=1 ls", "scp a b:c",
    "docker run --rm image ls", "npm run build", "cargo run -- x", "echo run evil", "hg log -l 5",
    "svn log --diff", "cargo test --color always", "gcc -O2 -Wall -o a a.c",
    "apt-get install -y x", "rg --hidden -n x", "git commit -m 'about $(evil) and `evil`'",
    "grep '$(evil)' f",
]  # fmt: skip


@pytest.mark.parametrize("command", ORDINARY)
def test_ordinary_commands_are_vouched_for_and_not_asked_about(command: str) -> None:
    words = command.split()
    allow = [{"tool": "bash", "command": text, "decision": "allow"} for text in (words[0], "ls")]
    assert apply_rules(load(allow, "test"), "bash", {"command": command}).decision is Decision.ALLOW
    deny = [{"tool": "bash", "command": "evil", "decision": "deny"}]
    assert apply_rules(load(deny, "test"), "bash", {"command": command}).decision is None
