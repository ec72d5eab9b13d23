"""Values of a TOOL.json command are data, whatever the author wrote around the placeholder."""

import json
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

import pytest

from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.tool import ToolError
from planck.tools.template import Template, compile_template
from tests.tools.external_bench import HOSTILE, called, loaded, refusal, values

RECEIVER = """
import json, os, sys
how, *given = sys.argv[1:]
if how == "argv":
    received = [os.fsencode(value) for value in given]
elif how == "stdin":
    received = sys.stdin.buffer.read().split(b"\\0")[:-1]
else:
    received = [os.environb[f"V{i}".encode()] for i in range(int(given[0]))]
with open("received.json", "w") as file:
    json.dump([value.hex() for value in received], file)
"""
Shape = tuple[str, Callable[[list[str]], str], Callable[[str], str]]


def argv(form: str) -> Callable[[list[str]], str]:
    return lambda names: f"{{program}} argv {' '.join(form.replace('NAME', name) for name in names)}"


def each(form: str, before: str, after: str) -> Callable[[list[str]], str]:
    return lambda names: f"{before}{' '.join(form.replace('NAME', name) for name in names)}{after}"


SHAPES: list[Shape] = [
    ("unquoted", argv("{{NAME}}"), lambda v: v),
    ("in double quotes", argv('"{{NAME}}"'), lambda v: v),
    ("in single quotes", argv("'{{NAME}}'"), lambda v: v),
    ("inside a word", argv("--opt={{NAME}}.x"), lambda v: f"--opt={v}.x"),
    ("in all quotes", argv("\"[{{NAME}}]\"'({{NAME}})'{{NAME}}"), lambda v: f"[{v}]({v}){v}"),
    ("in ANSI quotes", argv("$'\\t{{NAME}}\\''"), lambda v: f"\t{v}'"),
    ("after a dollar sign", argv('"${{NAME}}"'), lambda v: f"${v}"),
    ("in a substitution", argv('"$(printf "%s." {{NAME}})"'), lambda v: f"{v}."),
    ("in a pipe", each("{{NAME}}", "printf '%s\\0' ", " | {program} stdin"), lambda v: v),
    ("as an argument of sh -c", each("{{NAME}}", """sh -c '"$@"' sh {program} argv """, ""), lambda v: v),
    ("in a loop", each("{{NAME}}", "for _ in 1; do {program} argv ", "; done"), lambda v: v),
    (
        "in the environment",
        lambda names: (
            " ".join(f"V{i}={{{{{n}}}}}" for i, n in enumerate(names)) + f" {{program}} env {len(names)}"
        ),
        lambda v: v,
    ),
]
BATCH = 250


@pytest.mark.parametrize("count", [500, pytest.param(2_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("name", "command", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
async def test_the_program_receives_exactly_the_value(
    tmp_path: Path, name: str, command: Callable[[list[str]], str], expected: Callable[[str], str], count: int
) -> None:
    (tmp_path / "receiver.py").write_text(RECEIVER)
    names = [f"v{i}" for i in range(BATCH)]
    program = f"{sys.executable} -I receiver.py"
    tool = loaded(tmp_path / "tools", command(names).replace("{program}", program))
    seed = 20260
    given = values(random.Random(seed), count)
    for start in range(0, count, BATCH):
        batch = given[start : start + BATCH]
        outcome = await called(tool, tmp_path, **dict(zip(names, batch, strict=True)))
        assert isinstance(outcome, Ok), outcome
        assert outcome.value["ok"], outcome.value["output"]
        received = [bytes.fromhex(item) for item in json.loads((tmp_path / "received.json").read_text())]
        wanted = [expected(value).encode() for value in batch]
        assert received == wanted, f"{name}, seed {seed}, values from {start}"
    assert not (tmp_path / "CANARY").exists()


REFUSED = {
    "arithmetic": [
        "echo $(({{x}}))",
        "echo $(( 1 + '{{x}}' ))",
        "(( {{x}} > 1 )) && echo",
        "echo $[{{x}}]",
        "for ((i=0; i<{{x}}; i++)); do :; done",
        'echo "$(( {{x}} ))"',
        "let {{x}}",
        "declare -i n={{x}}",
        "a[{{x}}]=1",
        "a=([{{x}}]=1)",
    ],
    "double brackets": [
        "[[ {{x}} == a ]]",
        "[[ -n a && ( {{x}} -eq 1 ) ]]",
        'if [[ "{{x}}" =~ a ]]; then :; fi',
    ],
    "here-documents": [
        "cat <<EOF\n{{x}}\nEOF",
        "cat <<'EOF'\n{{x}}\nEOF\necho",
        "cat <<-EOF\n\ta {{x}}\n\tEOF",
        "cat <<{{x}}\na\n{{x}}",
    ],
    "backticks": ["echo `echo {{x}}`", 'echo "`echo {{x}}`"', "echo `echo '{{x}}'`"],
    "eval and its kin": [
        "eval {{x}}",
        'eval "echo {{x}}"',
        "eval echo '{{x}}'",
        "command eval {{x}}",
        "builtin eval {{x}}",
        "eval $(echo {{x}})",
        "time eval {{x}}",
        "jobs -x eval {{x}}",
        "exec $(echo {{x}}) a",
        "time -p -- eval {{x}}",
        "! ! eval {{x}}",
        "A=1 <f 2>g eval {{x}}",
        "a=(1) eval {{x}}",
        "case a in a) eval {{x}};; esac",
        "if true; then ( { eval {{x}}; } ); fi",
        "a=( # '\n$(( {{x}} )) # '\n)",
        "function f { eval {{x}}; }",
        "f() { eval {{x}}; }",
        "trap {{x}} EXIT",
        "source {{x}}",
        ". {{x}}",
        "alias a={{x}}",
        "unset {{x}}",
        "read {{x}}",
        "mapfile -C {{x}} a",
        "[ -v {{x}} ]",
        "[ {{x}} {{y}} ]",
        "test ! {{x}} {{y}}",
        "printf -v {{x}} a",
        "printf {{x}} {{y}}",
        "printf -{{x}} {{y}}",
        "printf $format {{x}} {{y}}",
        "[ -{{x}} {{y}} ]",
        "[ $x {{y}} ]",
        "export {{x}}=1",
        'declare "$(echo {{x}})"',
        'declare "$n={{x}}"',
        "command {{x}} {{y}}",
        "set {{x}}",
        "$(echo {{x}}) a",
        "PS4={{x}} bash -x script",
        "BASH_ENV={{x}} bash script",
        "export PROMPT_COMMAND={{x}}",
        "coproc {{x}}",
    ],
    "scripts of another shell": [
        "sh -c {{x}}",
        'bash -c "echo {{x}}"',
        "bash -lc 'echo {{x}}'",
        "bash -o pipefail -c {{x}}",
        "/bin/dash -c {{x}}",
        "sudo -u nobody sh -c 'echo {{x}}'",
        "timeout 5 bash -c {{x}}",
        "env A=1 sh -c {{x}}",
        "xargs sh -c {{x}}",
        "docker exec c sh -c 'ls {{x}}'",
        "find {{x}} -exec sh -c 'echo {}' \\;",
        "echo {{x}} | sh",
        "echo {{x}} | sudo bash -s",
        "echo {{x}} | docker exec -i c sh",
        "docker exec c sh {{x}} {{y}}",
        "$SHELL {{x}} {{y}}",
        "sh -c $script {{x}}",
        'sh -c "$@" {{x}}',
        "$cmd -c {{x}}",
        "bash $x <<< {{y}}",
        "bash <<< {{x}}",
        "bash <(echo {{x}})",
        "bash {{x}} {{y}}",
        "{{x}} -c {{y}}",
        "ssh host {{x}}",
        "su -c {{x}}",
        "watch {{x}}",
    ],
    "by way of a variable": [
        'v={{x}}; eval "$v"',
        "v={{x}}; w=a$v; (( w ))",
        'v="$(echo {{x}})"; bash -c "$v"',
        "for v in {{x}}; do eval $v; done",
        "echo {{x}} | while read v; do [[ $v -eq 1 ]]; done",
        'f() { eval "$1"; }; f {{x}}',
        "set -- {{x}}; eval $1",
        "v={{x}}; echo ${!v}",
        "v={{x}}; echo ${a[$v]}",
        "v={{x}}; echo ${a:$v}",
        "v={{x}}; echo ${v@P}",
        "v={{x}}; declare -i n=$v",
        "declare -i n; n={{x}}",
        "local -i n; v={{x}}; n=$v",
        "RANDOM={{x}}",
        "OPTIND={{x}} true",
        "v={{x}}; RANDOM=$v",
        "for RANDOM in {{x}}; do :; done",
        "read HISTCMD <<< {{x}}",
        "export SRANDOM={{x}}",
        'echo {{x}} | while IFS= read -r v; do eval "$v"; done',
        "command read v <<< {{x}}; eval $v",
        "v={{x}}; cat <<E\n$(eval $v)\nE",
        "v={{x}}; cat <<E\n$((v))\nE",
        "v={{x}}; echo `eval $v`",
        "v={{x}}; echo ${a:-$(eval $v)}",
        "v={{x}}; trap 'eval $v' EXIT",
        "v={{x}}; [ -v $v ]",
        "v={{x}}; printf -v $v a",
        'v={{x}}; declare "$v"',
        "v={{x}}; a[$v]=1",
        "v={{x}}; a=([$v]=1)",
        "v={{x}}; command $v a",
        "set -- {{x}}; getopts a: o; eval $OPTARG",
        "sh -c 'eval \"$1\"' sh {{x}}",
        "sh -c 'v=$1; echo $((v))' sh {{x}}",
        "sh -c '\"$@\"' sh {{x}} {{y}}",
        "sh -c 'sh -c \"$1\"' sh {{x}}",
    ],
    "expansions and descriptors": [
        "echo ${a:-{{x}}}",
        'echo "${a#{{x}}}"',
        "echo >&{{x}}",
        "cat <&{{x}}",
        "echo > $(echo {{x}})",
        "{{x}}() { :; }",
    ],
    "what can't be followed": [
        "echo '{{x}}",
        'echo "{{x}}',
        "echo `{{x}}",
        "echo $(echo {{x}}",
        "echo {{x}})",
        "echo {{x}} \\",
        "echo ${a {{x}}",
        "[[ a {{x}}",
        "a=({{x}}",
        "echo $((1) {{x}}",
        'echo "${a:-it\'s}" {{x}}',
        "echo __planck_0 {{x}}",
        "echo {{x}} \0",
    ],
}


RELATIVES = [
    "bash s.sh | echo {{x}} > s.sh", 'awk "$@" {{x}}', "python3 $x -c {{v}}", "perl $x-e {{v}}",
    "sed $x-e {{v}} f", "sqlite3 db $x {{v}}", "sh -s $1 x <<< {{v}}", "${x:-sh} <<< {{v}}",
    "v={{x}}; $v a", "v={{x}}; timeout 5 $v",
    'bash $x-c {{v}}', 'bash ${x}-c {{v}}', 'bash $x -c {{v}}', 'bash "$x" {{v}}',
    'sh -c "sh -c \\"\\$1\\"" sh {{x}}', "$'ev\\141l' {{x}}", "$'\\x65val' {{x}}", '"ev""al" {{x}}',
    'ev\\al {{x}}', '\\eval {{x}}', 'sh -c "eval \\$1" sh {{x}}', 'sh -c "eval \\"\\$1\\"" sh {{x}}',
    'sh -c \'eval "$1"\' sh {{x}}', 'sh -c \'eval "$@"\' sh {{x}}', "sh -c '$1' sh {{x}}",
    'sh -c \'. "$1"\' sh {{x}}', 'sh -c \'python -c "$1"\' sh {{x}}',
    'sh -c \'echo "$1" | sh\' sh {{x}}', "sh -c 'echo $(( $1 ))' sh {{x}}",
    'sh -c \'f() { eval "$1"; }; f "$1"\' sh {{x}}', 'sh -c \'awk "$1"\' sh {{x}}',
    'v={{x}} sh -c \'eval "$v"\'', 'export v={{x}}; sh -c \'eval "$v"\'',
    'v={{x}}; export v; bash -c \'eval "$v"\'', 'v={{x}} bash <<\'E\'\neval "$v"\nE',
    'v={{x}}; bash <<E\n$v\nE', 'bash <<< "$(echo {{x}})"', 'echo {{x}} | sh -s',
    'echo {{x}} | bash /dev/stdin', 'echo {{x}} | bash /dev/fd/0', 'echo {{x}} | bash -',
    'echo {{x}} | source /dev/stdin', 'echo {{x}} | . /dev/fd/0', 'echo {{x}} | cat | sudo bash',
    'echo {{x}} | (cd /; sh)', 'echo {{x}} | { sh; }', 'echo {{x}} | tee >(sh)', 'echo {{x}} > >(bash)',
    'cat <(echo {{x}}) | sh', 'source <(echo {{x}})', '. <(echo {{x}})', 'bash {{x}}', 'bash ./{{x}}',
    'sh -- {{x}}', 'echo {{x}} > s.sh; bash s.sh', 'echo {{x}} > s.sh && sh ./s.sh',
    'printf %s {{x}} > run && chmod +x run && ./run', 'echo {{x}} | tee s.sh; bash s.sh',
    'echo {{x}} >> ~/s.sh; . ~/s.sh', 'echo {{x}} > a; cp a b; bash b',
    'echo {{x}} > {{f}}; bash build.sh', 'echo {{x}} > s.py; python3 s.py',
    'echo {{x}} > p.awk; awk -f p.awk file', 'echo {{x}} > Makefile; make',
    'echo {{x}} | dd of=s.sh; sh s.sh', 'eval "$(cat {{x}})"', 'echo {{x}} | eval "$(cat)"',
    'v=$(cat); eval "$v" {{x}}', 'echo {{x}} | xargs sh -c', "echo {{x}} | xargs -I{} sh -c 'echo {}'",
    "echo {{x}} | xargs -I% sh -c 'echo %'", 'echo {{x}} | xargs -I % bash -c "ls %"',
    'echo {{x}} | xargs bash', 'echo {{x}} | xargs python3 -c',
    'echo {{x}} | xargs -I{} python3 -c \'print("{}")\'', 'echo {{x}} | xargs sed',
    'echo {{x}} | xargs awk', 'find . -exec sh -c {{x}} \\;', "find {{d}} -exec sh -c 'echo {}' \\;",
    'find . -exec bash -c "{{x}}" {} +', 'find . -exec python3 -c {{x}} \\;', 'env -S {{x}}',
    'env -S"{{x}}"', 'env --split-string={{x}}', 'env {{x}} ls', 'env -i -S {{x}}',
    'flock /tmp/l -c {{x}}', 'flock -n l --command {{x}}', 'flock l sh -c {{x}}', 'ssh {{h}} uptime',
    'echo {{x}} | ssh host', 'su - user -c "{{x}}"', 'runuser -u u -c {{x}}', 'parallel {{x}} ::: a',
    'echo {{x}} | parallel', 'watch -n 1 "ls {{x}}"',
    'tar cf a --checkpoint=1 --checkpoint-action=exec={{x}} b', 'tar cf a --checkpoint-action={{x}} b',
    'tar cf a --to-command={{x}} b', 'tar -I {{x}} -cf a b', 'tar --use-compress-program {{x}} -cf a b',
    'y={{x}}; z[y]=1', "bash -c 'echo ${!1}' sh {{x}}", "sh -c 'for i do eval \"$i\"; done' sh {{x}}",
    'tar cIf {{x}} a b', 'tar --use={{x}} -cf a b', 'tar cf a --checkpoint-act={{x}} b',
    'scp -o ProxyCommand={{x}} a b:c', 'rsync -ae {{x}} a b:c', 'rsync --rsync-path={{x}} a b:c',
    'split --filt={{x}} f', 'sort --compress-prog={{x}} f', 'zip -TT {{x}} a b', 'go test -exec {{x}}',
    'git rebase -x {{x}} main', 'git bisect run {{x}}', 'git submodule foreach {{x}}', 'git grep -O{{x}} f',
    'git difftool -x {{x}}', 'git filter-branch --tree-filter {{x}}', 'git config alias.q {{x}}',
    'GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.q GIT_CONFIG_VALUE_0={{x}} git q',
    'GIT_CONFIG_PARAMETERS={{x}} git log', 'GIT_TEMPLATE_DIR={{x}} git init',
    "echo {{x}} | xargs -rI% sh -c 'echo %'", 'echo {{x}} | xargs -I% env -S %', 'echo {{x}} | xargs nice',
    'echo {{x}} | xargs timeout 5', 'echo {{x}} | xargs find', 'echo {{x}} | xargs git',
    'echo {{x}} > f; x=$(cat f); $x', 'echo {{x}} > f; make -f f', 'echo {{x}} | make -f -',
    'echo {{x}} > f; crontab f', 'echo {{x}} > package.json; npm test',
    'echo {{x}} > f; git -c include.path=f q', "echo {{x}} | bash -c 'source /dev/stdin'",
    'echo {{x}} | "$(which bash)"', 'echo {{x}} | split --filter=sh', 'echo {{x}} | ed f',
    'echo {{x}} | sed e', "echo {{x}} | sed 's/a/b/e'", "echo {{x}} | awk '{system($0)}'",
    "awk -v a={{x}} 'BEGIN{system(a)}'", "echo {{x}} | awk '{print | \"sh\"}'",
    'sh -c \'shift; "$@"\' sh a {{x}}',
    'make --eval={{x}}', 'make --eval {{x}}', 'python -c {{x}}', 'python -c "print(\'{{x}}\')"',
    'python3.11 -c "print({{x}})"', 'python3 -Ic {{x}}', 'python3 -c{{x}}', '/usr/bin/python3 -c {{x}}',
    'timeout 5 python3 -c {{x}}', 'env A=1 python3 -c "{{x}}"', 'docker exec c python3 -c {{x}}',
    "docker exec c sh -c 'ls {{x}}'", 'perl -e {{x}}', 'perl -ne {{x}}', "perl -pe 's/a/{{x}}/' f",
    'perl -E {{x}}', 'node -e {{x}}', 'node -p {{x}}', 'node --eval {{x}}', 'node --eval={{x}}',
    'node --print "{{x}}"', 'ruby -e {{x}}', 'ruby -ne {{x}}', 'php -r {{x}}', 'php -r "echo {{x}};"',
    'lua -e {{x}}', 'Rscript -e {{x}}', 'awk {{x}} f', 'awk "{print {{x}}}" f', 'awk -f {{x}} f',
    'awk -F: {{x}} f', 'awk -v a=1 "{{x}}" f', 'gawk -e {{x}} f', 'sed {{x}} f', 'sed "s/a/{{x}}/" f',
    'sed -e {{x}} f', 'sed -n "{{a}},{{b}}p" f', "sed -i 's/{{a}}/{{b}}/g' f",
    'sed --expression={{x}} f', 'sed -f {{x}} f', 'sqlite3 db {{x}}', 'sqlite3 db "select {{x}}"',
    'sqlite3 -cmd {{x}} db', 'echo {{x}} | sqlite3 db', 'echo {{x}} | python3', 'echo {{x}} | python3 -',
    'echo {{x}} | python3 /dev/stdin', 'echo {{x}} | perl', 'echo {{x}} | node', 'echo {{x}} | ruby',
    'echo {{x}} | php', 'python3 <<< {{x}}', 'sqlite3 db <<< {{x}}',
    'v={{x}}; python3 <<E\nprint("$v")\nE', 'echo {{x}} | awk -f - f', 'echo {{x}} | sed -f - f',
    'echo {{x}} | psql db', 'psql -c {{x}}', 'psql db -c "select {{x}}"', 'mysql -e "{{x}}"',
    'vim -c {{x}} f', 'vim +{{x}} f', 'gdb -ex {{x}}', 'git -c {{x}} log', 'git -c core.pager={{x}} log',
    'git rebase --exec {{x}}', 'rsync -e {{x}} a b', 'split --filter={{x}} f',
    'GIT_SSH_COMMAND={{x}} git fetch', 'PERL5OPT={{x}} perl s.pl', 'NODE_OPTIONS={{x}} node s.js',
    'LD_PRELOAD={{x}} ls', 'PATH={{x}} ls', 'env PATH={{x}} ls', 'export PATH={{x}}; ls',
    'PAGER={{x}} git log', 'a=({{x}})', 'a=(1 {{x}} 2); echo "${a[@]}"', 'f() { echo {{x}}; }; f',
    'f() { echo "$1"; }; f {{x}}', 'function f { ls; }; f {{x}}', 'echo "$\\\n(eval {{x}})"',
    'echo $\\\n(eval {{x}})', '"ev\\\nal" {{x}}', 'printf {{x}}', "printf '%n' {{x}}",
    'printf "$f" {{x}}', 'hash -p {{x}} ls', 'crontab {{x}}', 'echo {{x}} | crontab -',
    'echo {{x}} | at now', 'exec bash -c {{x}}', 'command bash -c {{x}}', 'nohup sh -c {{x}} &',
    'setsid bash -c "{{x}}"', 'busybox sh -c {{x}}', 'script -c {{x}}', 'sh -c "$(cat f)" sh {{x}}',
    'bash -c "$x" _ {{y}}', 'bash -o {{x}} f', 'bash --rcfile {{x}} -i', 'bash -{{x}} y',
    'perl -M{{x}} s.pl', 'nc -e {{x}} h 1', 'npx -c {{x}}',
    'sh -c \'sh -c "sh -c \\"\\$1\\" sh \\"\\$1\\"" sh "$1"\' sh {{x}}',
]  # fmt: skip
"""What the contract refuses, and what is like it."""
ORDINARY = [
    'radon cc {{path}} -s', 'ls -la {{dir}}', 'cat {{file}}', 'cat "{{file}}" | head -n {{n}}',
    'head -n {{n}} {{file}} | tail -n 5', 'grep -rn {{pattern}} {{path}}', 'grep -rn -- "{{pattern}}" .',
    'grep -c bash {{file}}', 'rg --json {{pattern}} {{path}} | head -100',
    'find {{dir}} -name {{pattern}} -type f', "find {{dir}} -name '*.py' -exec wc -l {} +",
    'find {{dir}} -type f | xargs grep -l {{pattern}}',
    'find . -name "{{name}}" -print0 | xargs -0 rm -f', 'wc -l {{file}}',
    'sort {{file}} | uniq -c | sort -rn | head -n {{count}}',
    "awk '{ print length, $0 }' {{path}} | sort -rn | head -n {{count}}",
    "awk -F: '{print $1}' {{file}}", "awk -v n={{n}} 'NR <= n' {{file}}", "sed -n '1,20p' {{file}}",
    "sed 's/a/b/g' {{file}}", "sed -i 's/foo/bar/' {{file}}",
    "sed -e 's/a/b/' -e 's/c/d/' {{file}} > {{out}}", 'jq . {{file}}', 'jq -r {{filter}} {{file}}',
    "jq --arg name {{name}} '.[] | select(.name == $name)' data.json", 'python script.py {{x}}',
    'python3 -m pytest {{path}} -q', 'python3 -m pytest -k {{expr}} 2>&1 | tail -20',
    "python3 -c 'import sys; print(sys.argv[1])' {{x}}", 'python3 {{script}}',
    'python3 -u tools/run.py --name={{name}} --count {{n}}', 'node build.js {{target}}',
    "node -e 'console.log(process.argv[1])' {{x}}", "perl -ne 'print if /x/' {{file}}",
    'ruby tools/x.rb {{x}}', 'bash script.sh {{x}}', 'bash -- script.sh {{x}}',
    'bash scripts/deploy.sh --env {{env}} {{tag}}', 'sh ./build.sh {{target}} > build.log 2>&1',
    'sh -c \'ls "$1" | wc -l\' sh {{dir}}', 'bash -c \'cd "$1" && ls\' _ {{dir}}',
    'git log --oneline -n {{n}}', 'git show {{ref}}:{{path}}', 'git diff {{a}}..{{b}} -- {{path}}',
    'git commit -m {{message}}', 'git grep -n {{pattern}}', 'git checkout {{branch}} && git pull',
    'make {{target}}', 'make -C {{dir}} test', 'make deploy ENV={{env}}',
    'cargo test {{name}} -- --nocapture', 'go test ./{{pkg}}/... -run {{name}}', 'npm run {{script}}',
    'npm test -- {{args}}', 'npx prettier --check {{file}}', 'pytest {{path}}::{{test}}',
    'ruff check {{path}} --fix', 'curl -sS {{url}}', 'curl -s -o {{out}} "{{url}}"',
    'curl -X POST -d \'{"name": "{{name}}"}\' {{url}}', 'wget -q {{url}} -O {{out}}',
    'echo {{text}} >> notes.txt', 'echo "{{text}}" > {{file}}', "printf '%s\\n' {{a}} {{b}} > {{out}}",
    'cp {{src}} {{dst}}', 'mkdir -p {{dir}} && cd {{dir}} && git init', 'tar -czf {{out}} {{dir}}',
    'tar -xzf {{archive}} -C {{dir}}', 'unzip -o {{archive}} -d {{dir}}',
    'docker run --rm -v {{dir}}:/data alpine ls /data', 'docker exec {{container}} cat {{file}}',
    'docker logs --tail {{n}} {{container}}', 'kubectl get pods -n {{ns}}',
    "sqlite3 {{db}} 'select count(*) from t'", 'sqlite3 {{db}} < schema.sql',
    'timeout {{seconds}} pytest {{path}}', 'env LANG={{lang}} date', 'CI=1 NAME={{name}} npm test',
    'if [ -f {{file}} ]; then cat {{file}}; else echo missing; fi', '[ {{a}} = {{b}} ] && echo same',
    'test -d {{dir}} || mkdir {{dir}}', 'for f in {{a}} {{b}}; do wc -l "$f"; done',
    'case {{kind}} in a) echo A;; *) echo other;; esac', 'cat <<< {{text}} | wc -c',
    'tr a-z A-Z < {{file}}', 'diff -u {{a}} {{b}} || true', 'diff <(sort {{a}}) <(sort {{b}})',
    'name={{x}}; echo "hello $name"', 'n=$(wc -l < {{file}}); echo "$n lines"',
    'export TOKEN={{token}}; ./bin/tool run', 'while read -r line; do echo "$line"; done < {{file}}',
    '( cd {{dir}} && ls )', '{{program}} --version', 'shellcheck {{file}}', 'stat -c %s {{file}}',
    'du -sh {{dir}} | sort -h', 'ps aux | grep {{name}} | grep -v grep', 'date -d {{when}} +%F',
    'expr {{a}} + {{b}}', 'seq 1 {{n}} | paste -sd,', 'openssl dgst -sha256 {{file}}',
    'ffmpeg -i {{in}} -vf scale={{w}}:{{h}} {{out}}', 'xmllint --xpath {{xpath}} {{file}}',
    'column -t -s, {{file}} | less', 'which python node {{x}}', 'cat {{file}} | python3 -m json.tool',
    'cat {{file}} | python3 tools/filter.py {{x}}', "cat {{file}} | sed 's/x/y/' | awk '{print $2}'",
    'echo {{text}} | tee out.txt', 'sudo systemctl restart {{service}}', 'xargs -a {{file}} ls -l',
    'echo {{a}} | xargs -n1 basename',
]  # fmt: skip


@pytest.mark.parametrize("command", RELATIVES)
def test_a_value_that_reaches_what_evaluates_text_is_refused_at_load(tmp_path: Path, command: str) -> None:
    err = refusal(tmp_path, command)
    assert err.kind is ErrorKind.INVALID_ARGS
    assert "put it in a script" in err.message


@pytest.mark.parametrize("command", ORDINARY)
def test_ordinary_templates_are_accepted(tmp_path: Path, command: str) -> None:
    assert loaded(tmp_path, command).name == "probe"


@pytest.mark.parametrize("command", [c for group in REFUSED.values() for c in group])
def test_a_placeholder_that_a_shell_would_evaluate_is_refused_at_load(tmp_path: Path, command: str) -> None:
    err = refusal(tmp_path, command)
    assert err.kind is ErrorKind.INVALID_ARGS
    assert err.message.startswith(f"TOOL.json at {tmp_path}/probe/TOOL.json: ")
    assert "put it in a script" in err.message


@pytest.mark.parametrize(
    ("command", "args", "output"),
    [
        ("export A={{x}}; printf %s \"$A\"", {"x": "$(id)"}, "$(id)"),
        ("n=0; n=$((n+1)); echo $n {{x}}", {"x": "*"}, "1 *\n"),
        ("[[ -d / ]] && echo {{x}}", {"x": "`id`"}, "`id`\n"),
        ("if [ {{x}} = '$(id)' ]; then echo same; fi", {"x": "$(id)"}, "same\n"),
        ("case {{x}} in '*') echo star;; {{x}}) echo it;; esac", {"x": "$(id)"}, "it\n"),
        ("case {{x}} in\n (a|b) echo ab;; esac; echo {{x}}", {"x": "b"}, "ab\nb\n"),
        ("echo \"$(case {{x}} in a) echo {{x}};; esac)\"", {"x": "a"}, "a\n"),
        ("cat <<< {{x}}", {"x": "$(id)"}, "$(id)\n"),
        ("cat <<EOF; echo {{x}}\n$((1+1))\nEOF\n", {"x": "v"}, "2\nv\n"),
        ("cat <<A $(cat <<B\n-\nB\n)\na\nA\necho {{x}}", {"x": "v"}, "a\nv\n"),
        ("echo {{x}} # {{x}} 'unclosed", {"x": "v"}, "v\n"),
        ("printf '%s|' {{x}} {{y}}", {"x": "%d", "y": "-v"}, "%d|-v|"),
        ("echo {a,{{x}}}", {"x": "b,c}"}, "a b,c}\n"),
        ("echo {{{x}}}", {"x": "v"}, "{v}\n"),
        ("echo \\{{x}} \"\\{{x}}\" $'\\{{x}}'", {"x": "v"}, "v \\v \\v\n"),
        ("echo ${{x}} \"${{x}}\" '${{x}}'", {"x": "v"}, "$v $v $v\n"),
        ("echo $$ >/dev/null; echo \"$?{{x}}\"", {"x": "v"}, "0v\n"),
        ("( echo {{x}} ) | { cat; }", {"x": "v"}, "v\n"),
        ("echo {{x}} 2>/dev/null 1>&2; echo {{x}}", {"x": "v"}, "v\n"),
        ("bash -- script.sh {{x}}", {"x": "-c"}, "script -c\n"),
        ("bash script.sh {{x}} {{x}}", {"x": "-c"}, "script -c -c\n"),
        ("bash -c 'echo \"$1\"' _ {{x}}", {"x": "$(id)"}, "$(id)\n"),
        ("sed 's/a/b/' {{x}}", {"x": "-e1e id"}, "sed: can't read -e1e id: No such file or directory\n[exit code 2]"),  # noqa: E501
        ("perl -e 'print @ARGV' {{x}}", {"x": "-eprint(1)"}, "-eprint(1)"),
        ("grep -c bash {{x}} {{x}} >/dev/null; echo $?", {"x": "script.sh"}, "1\n"),
        ("set -eu; echo {{x}} '{{no}}'", {"x": "v"}, "v \n"),
        ("set -- a b; echo \"$#\" {{x}}", {"x": "v"}, "2 v\n"),
        ("echo $# $1 {{x}}", {"x": "v"}, "0 v\n"),
        ("while read -r line; do echo \"<$line>\"; done <<< {{x}}", {"x": "a b"}, "<a b>\n"),
        ("tr a-z A-Z < {{x}}", {"x": "script.sh"}, 'ECHO SCRIPT "$@"\n'),
        ("! false; echo {{x}} \\\n and {{x}}", {"x": "v"}, "v and v\n"),
        ("{{x}} {{y}}", {"x": "/bin/echo", "y": "$(id)"}, "$(id)\n"),
        ("{{x}} echo {{y}}", {"y": "v"}, "v\n"),
        ("$NOTHING echo {{x}}", {"x": "v"}, "v\n"),
        ("p=/bin/echo; $p -n {{x}}; \"$p\" {{x}}", {"x": "v"}, "vv\n"),
    ],
)  # fmt: skip
async def test_what_authors_write_works(
    tmp_path: Path, command: str, args: dict[str, str], output: str
) -> None:
    (tmp_path / "script.sh").write_text('echo script "$@"\n')
    outcome = await called(loaded(tmp_path / "tools", command), tmp_path, **args)
    assert isinstance(outcome, Ok), outcome
    assert outcome.value["output"] == output


@pytest.mark.parametrize("value", ["eval", "source", "declare", "exec", "command", ".", "touch CANARY", "-n"])
async def test_a_value_that_names_the_command_runs_a_program_never_a_builtin(
    tmp_path: Path, value: str
) -> None:
    tool = loaded(tmp_path / "tools", "{{x}} 'touch CANARY'")
    outcome = await called(tool, tmp_path, x=value)
    assert isinstance(outcome, Ok)
    assert outcome.value["exit_code"] in {125, 126, 127}
    assert not (tmp_path / "CANARY").exists()


@pytest.mark.parametrize(
    "command",
    [
        "$nothing eval {{x}}",
        "${nothing}eval {{x}}",
        "v=eval; $v {{x}}",
        "{eval,true} {{x}}",
        "*val {{x}}",
        '"$@" eval {{x}}',
    ],
)
async def test_an_expansion_that_names_the_command_runs_a_program_never_a_builtin(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "eval").write_text("")
    outcome = await called(loaded(tmp_path / "tools", command), tmp_path, x="touch CANARY", y="eval")
    assert isinstance(outcome, Ok)
    assert outcome.value["exit_code"] == 127
    assert not (tmp_path / "CANARY").exists()


@pytest.mark.parametrize(
    "command", ["echo a > {{x}}", 'echo a > "{{x}}"', "echo a >> '{{x}}'", "cat < {{x}}"]
)
@pytest.mark.parametrize("value", ["/dev/tcp/127.0.0.1/9", "/dev/udp/127.0.0.1/9"])
async def test_a_value_never_opens_a_socket_by_redirection(tmp_path: Path, command: str, value: str) -> None:
    outcome = await called(loaded(tmp_path / "tools", command), tmp_path, x=value)
    assert isinstance(outcome, Ok)
    assert "No such file" in outcome.value["output"]
    partial = await called(
        loaded(tmp_path / "tools", command.replace("{{x}}", "/{{x}}")), tmp_path, x=value[1:]
    )
    assert isinstance(partial, Ok)
    assert "No such file" in partial.value["output"]


async def test_a_redirection_writes_the_file_that_the_value_names(tmp_path: Path) -> None:
    tool = loaded(tmp_path / "tools", "printf %s {{text}} > {{file}}")
    for file in ("$(id)", "a b", str(tmp_path / "absolute"), "-"):
        await called(tool, tmp_path, text="t", file=file)
        assert (tmp_path / file).read_text() == "t"


FRAGMENTS = [
    "echo {{v}}",
    'echo "{{v}}"',
    "echo '{{v}}'",
    "echo a{{v}}b",
    "{{v}}",
    "{{v}} a",
    "x={{v}}",
    'x="{{v}}" true',
    "echo $x",
    'eval "$x"',
    'echo "$x"',
    "[ {{v}} = a ]",
    "[ {{v}} ]",
    "[[ $x == a ]]",
    "(( x ))",
    "echo $(( y + 1 ))",
    "printf '%s' {{v}}",
    "printf {{v}}",
    "printf '%d' {{v}}",
    "test -n {{v}}",
    "case {{v}} in a) true;; {{v}}) echo;; esac",
    'for i in {{v}} b; do echo "$i"; done',
    "for i in {{v}}; do eval $i; done",
    "while read -r l; do echo $l; done <<< {{v}}",
    "read -r y <<< {{v}}",
    "f() { echo {{v}} $1; }",
    "f {{v}}",
    "cd {{v}}",
    "cat < {{v}}",
    "echo >> {{v}}.out",
    "a=({{v}} b)",
    'echo "${a[@]}"',
    "echo ${a[0]} ${x:-c} ${x:1:2}",
    "export E={{v}}",
    "declare d={{v}}",
    "local l={{v}}",
    "sh -c 'echo \"$1\"' sh {{v}}",
    'sh -c "$x"',
    "bash -- {{v}}",
    "env {{v}}",
    "xargs echo {{v}}",
    "set -- {{v}}",
    "shift {{v}}",
    "exit {{v}}",
    "return {{v}}",
    "kill -0 {{v}}",
    "ulimit -n {{v}}",
    "echo $'{{v}}' $\"{{v}}\"",
    "echo ${{v}} \\{{v}}",
    "# {{v}}",
    "type {{v}}",
    "command -v {{v}}",
    "hash {{v}}",
    "exec 3<> {{v}}",
    "pushd {{v}}",
    "getopts {{v}} o",
    "wait {{v}}",
    "echo {{v}}",
]
JOINTS = ["; ", " && ", " || ", " | ", "\n", " & "]
WRAPS = ["$({})", '"$({})"', "( {} )", "{{ {}; }}", "if {}; then {}; fi", "{}", "{}", "{}", 'echo "<$({})>"']


def random_template(source: random.Random) -> str:
    text = source.choice(FRAGMENTS)
    for _ in range(source.randrange(4)):
        text += source.choice(JOINTS) + source.choice(FRAGMENTS)
    if source.random() < 0.4:
        wrap = source.choice(WRAPS)
        text = wrap.replace("{}", text.replace("\\", "\\\\") if "\\" in wrap else text)
        text = text.replace("{{ ", "{ ").replace("; }}", "; }")
    return text


TOKENS = [
    *[
        "'",
        '"',
        "`",
        "$",
        "(",
        ")",
        "{",
        "}",
        "$(",
        "$((",
        "))",
        "((",
        "[[ ",
        " ]]",
        "<<E\n",
        "\nE\n",
        "\n",
        "\\",
    ],
    *[
        ";",
        "|",
        "&",
        "eval ",
        "sh -c ",
        "{{v}}",
        "{{v}}",
        "{{v}}",
        "{{v}} ",
        " ",
        " ",
        " ",
        "a",
        "#",
        "=",
        "x",
    ],
    *["x=", "$x", "${x}", "${x:-", "${", "<", ">", "<<<", "case ", " in ", " esac", " do ", " done ", "for "],
    *[
        "while ",
        "if ",
        "then ",
        "fi ",
        "echo ",
        "echo ",
        "printf ",
        "%s ",
        "test ",
        "[ ",
        " ]",
        "-v ",
        "-n ",
        "-p ",
    ],
    *[
        "declare ",
        "read ",
        "a[",
        "]",
        "@",
        "*",
        "!",
        "~",
        "$'",
        '$"',
        "<(",
        ">(",
        "&&",
        "||",
        ";;",
        "2>",
        "1",
    ],
    *["f()", "f ", "-c ", "bash ", "set -- ", "$1", '"$@"', "exec ", "command ", "env ", "time ", "! "],
    *["local ", "export ", "unset ", "let ", "trap ", "wait ", ".", "\t"],
]


def random_garbage(source: random.Random) -> str:
    """No grammar at all: where our reading and bash's could differ."""
    return "".join(source.choices(TOKENS, k=source.randrange(2, 14))) + source.choice(["", " {{v}}"])


PROGRAMS = [
    *["touch CANARY", "-c", "eval", "-", "-s", "{}", "s.sh", "/dev/stdin", "-Stouch CANARY", "$v"],
    "import os; os.system('touch CANARY')",
    "-cimport os; os.system('touch CANARY')",
    "-esystem('touch CANARY')",
    "system('touch CANARY')",
    'BEGIN { system("touch CANARY") }',
    "1e touch CANARY",
    "-e1e touch CANARY",
    ".shell touch CANARY",
]
"""Values that are programs in some language, or options that take one."""


def run_random_templates(
    folder: Path, count: int, seed: int, make: Callable[[random.Random], str] = random_template
) -> int:
    source = random.Random(seed)
    hostile = [value for value in HOSTILE if "CANARY" in value] + PROGRAMS
    runs: list[tuple[Path, str]] = []
    accepted = 0
    for number in range(count):
        command = make(source)
        try:
            template = compile_template(command)
        except ToolError:
            continue
        if not template.variables:
            continue
        accepted += 1
        place = folder / str(number)
        place.mkdir()
        runs.append((place, command))
        value = source.choice(hostile)
        script, given = template.fill({"v": value} if source.random() < 0.95 else {})
        _run_confined(["bash", "--noprofile", "--norc", "-c", script, "probe", *given], place)
        if len(runs) > 100:  # what a template left in the background has had its time by then
            _assert_harmless(*runs.pop(0), seed)
    for place, command in runs:
        _assert_harmless(place, command, seed)
    return accepted


def _run_confined(argv: list[str], place: Path) -> None:
    """As nobody and with few processes: what is random may fork without end."""
    place.chmod(0o777)
    other = 65534 if os.geteuid() == 0 else None
    with subprocess.Popen(
        argv,
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath, "HOME": str(place)},
        preexec_fn=_limit,
        start_new_session=True,
        user=other,
        group=other,
        extra_groups=None if other is None else [],
    ) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_NPROC, (80, 80))
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def _assert_harmless(place: Path, command: str, seed: int) -> None:
    assert not (place / "CANARY").exists(), f"seed {seed}, template {place.name}: {command!r} ran a value"
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that nobody can enter: pytest's own are closed."""
    folder = Path(mkdtemp(prefix="planck-templates-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


STARTS = [
    *[
        "eval",
        "sh -c",
        "bash -c",
        "bash",
        "sh -s",
        "source",
        ".",
        "xargs sh -c",
        "xargs",
        "env",
        "env -S",
        "sh",
    ],
    *[
        "python3 -c",
        "python3",
        "perl -e",
        "perl",
        "awk",
        "sed",
        "sed -e",
        "node -e",
        "find . -exec",
        "command",
    ],
    *["exec", "trap", "printf", "read", "declare", "export", "timeout 5", "nice", "bash /dev/stdin", "cat"],
    *["echo", "bash s.sh", "sqlite3 :memory:", "test -v", "[ -v", "wait -p", "hash -p", "mapfile -C", "let"],
    *[
        "unset",
        "sh -c 'eval \"$1\"' sh",
        "sh -c 'echo \"$1\"' sh",
        "sh -c '\"$@\"' sh",
        'bash -c "$x" _',
        "$x",
    ],
    *["flock l -c", "make --eval", "builtin", "${x:-sh}", "$'sh'", "s\\h", "./s.sh", "set --", "printf -v"],
]
ENDS = [
    *["{{v}}", "'{{v}}'", '"{{v}}"', "-c", "-e", '"$v"', "$(cat)", '"$(cat s.sh)"', "s.sh", "-", "--", "x"],
    *[
        "a={{v}}",
        "$x-c",
        "$x",
        '"$@"',
        '"$1"',
        "/dev/stdin",
        "<<< {{v}}",
        "< s.sh",
        "> s.sh",
        ">> s.sh",
        "-S",
    ],
    *[
        "<(echo {{v}})",
        "-I{}",
        "{}",
        "\\;",
        "'print(1)'",
        "'{print}'",
        "'eval \"$1\"'",
        "'eval \"$v\"'",
        "sh",
    ],
    *['"eval \\$v"', "'$1'", "-n1", "<<E\n$v\nE\n", "$'-c'", "-v", "'a[$v]'", "]"],
]
WAYS = [
    *[
        "",
        "",
        "v={{v}}; ",
        "v={{v}} ",
        "export v={{v}}; ",
        "echo {{v}} | ",
        "echo {{v}} > s.sh; ",
        "cat <<< {{v}} | ",
    ],
    *[
        "printf %s {{v}} | ",
        "v=$(echo {{v}}); ",
        "read v <<< {{v}}; ",
        "set -- {{v}}; ",
        "for v in {{v}}; do ",
    ],
]


def random_attempt(source: random.Random) -> str:
    """A value on its way, by a word, a variable, a pipe or a file, to something that evaluates text."""
    way = source.choice(WAYS)
    parts = [" ".join([source.choice(STARTS), *source.choices(ENDS, k=source.randrange(4))])]
    for _ in range(source.randrange(3)):
        parts += [source.choice([" | ", "; ", " && ", "\n", " | xargs ", " > s.sh; "])]
        parts += [" ".join([source.choice(STARTS), *source.choices(ENDS, k=source.randrange(4))])]
    return way + "".join(parts) + ("; done" if way.startswith("for") else "")


def test_no_accepted_attempt_runs_a_value(open_folder: Path) -> None:
    assert run_random_templates(open_folder, 100, seed=46, make=random_attempt) > 20


@pytest.mark.soak
def test_no_accepted_attempt_runs_a_value_at_length(open_folder: Path) -> None:
    assert run_random_templates(open_folder, 20_000, seed=47, make=random_attempt) > 4_000


def test_no_accepted_template_runs_a_value(open_folder: Path) -> None:
    assert run_random_templates(open_folder, 100, seed=41) > 20


def test_no_accepted_garbage_runs_a_value(open_folder: Path) -> None:
    assert run_random_templates(open_folder, 200, seed=43, make=random_garbage) > 5


@pytest.mark.soak
def test_no_accepted_garbage_runs_a_value_at_length(open_folder: Path) -> None:
    assert run_random_templates(open_folder, 200_000, seed=44, make=random_garbage) > 5_000


@pytest.mark.soak
def test_no_accepted_template_runs_a_value_at_length(open_folder: Path) -> None:
    assert run_random_templates(open_folder, 60_000, seed=42) > 10_000


@pytest.mark.parametrize(
    ("command", "args", "shown"),
    [
        ("ls {{x}} {{no}}", {"x": "a b"}, "ls 'a b' "),
        ("ls \"{{x}}\" '{{x}}'", {"x": "$a'"}, "ls \"\\$a'\" '$a'\\'''"),
        ("ls a{{x}}", {"x": ""}, "ls a"),
        ("ls $'{{x}}'", {"x": "'\\"}, "ls $'\\'\\\\'"),
    ],
)
def test_a_plan_shows_the_command_as_one_would_type_it(
    command: str, args: dict[str, str], shown: str
) -> None:
    assert compile_template(command).show(args) == shown


def test_an_err_is_never_a_template() -> None:
    with pytest.raises(ToolError) as caught:
        compile_template("eval {{x}}")
    assert isinstance(caught.value.err, Err)


def test_any_text_is_a_template_or_a_refusal_never_an_exception() -> None:
    seed = 45
    source = random.Random(seed)
    pool = [
        *TOKENS,
        "-{{v}}",
        "{{v}}=",
        "a[{{v}}]=",
        *FRAGMENTS,
        *(c for group in REFUSED.values() for c in group),
    ]
    accepted = 0
    for number in range(8_000):
        command = "".join(source.choices(pool, k=source.randrange(1, 9)))
        kind, template = _compiled(command)
        assert kind in {None, ErrorKind.INVALID_ARGS}, f"seed {seed}, {number}: {command!r}"
        if template is not None:
            accepted += 1
            template.fill({"v": "value"})
            template.show({"v": "value"})
    assert accepted > 500


def _compiled(command: str) -> tuple[ErrorKind | None, Template | None]:
    try:
        return None, compile_template(command)
    except ToolError as failure:
        return failure.err.kind, None
