"""Values of a TOOL.json command are data, whatever the author wrote around the placeholder."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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
    ("in an array", each("'{{NAME}}'", "all=(", ') && {program} argv "${all[@]}"'), lambda v: v),
    (
        "in a function and a loop",
        each("{{NAME}}", 'f() { {program} argv "$@"; }\nfor _ in 1; do f ', "; done"),
        lambda v: v,
    ),
    (
        "in the environment",
        lambda names: (
            " ".join(f"V{i}={{{{{n}}}}}" for i, n in enumerate(names)) + f" {{program}} env {len(names)}"
        ),
        lambda v: v,
    ),
]
VALUES = 2_000
BATCH = 250


@pytest.mark.parametrize(("name", "command", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
async def test_the_program_receives_exactly_the_value(
    tmp_path: Path, name: str, command: Callable[[list[str]], str], expected: Callable[[str], str]
) -> None:
    (tmp_path / "receiver.py").write_text(RECEIVER)
    names = [f"v{i}" for i in range(BATCH)]
    program = f"{sys.executable} -I receiver.py"
    tool = loaded(tmp_path / "tools", command(names).replace("{program}", program))
    seed = 20260
    given = values(random.Random(seed), VALUES)
    for start in range(0, VALUES, BATCH):
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


@pytest.mark.parametrize("command", [c for group in REFUSED.values() for c in group])
def test_a_placeholder_that_a_shell_would_evaluate_is_refused_at_load(tmp_path: Path, command: str) -> None:
    err = refusal(tmp_path, command)
    assert err.kind is ErrorKind.INVALID_ARGS
    assert err.message.startswith(f"TOOL.json at {tmp_path}/probe/TOOL.json: ")


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
        ("bash {{x}}", {"x": "script.sh"}, "script\n"),
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
        ("sh -c \"$(echo 'echo $1')\" sh {{x}}", {"x": "v"}, "v\n"),
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
        'f() { "$@"; }; f eval {{x}}',
        'f() { "$@"; }; f {{y}} {{x}}',
        '"$@" eval {{x}}',
        "echo {{x}} | bash {{absent}}",
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


def run_random_templates(
    folder: Path, count: int, seed: int, make: Callable[[random.Random], str] = random_template
) -> int:
    source = random.Random(seed)
    hostile = [value for value in HOSTILE if "CANARY" in value] + ["touch CANARY", "-c", "eval"]
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
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", script, "probe", *given],
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=30,
            check=False,
            env={"PATH": os.defpath},
        )
        if len(runs) > 100:  # what a template left in the background has had its time by then
            _assert_harmless(*runs.pop(0), seed)
    for place, command in runs:
        _assert_harmless(place, command, seed)
    return accepted


def _assert_harmless(place: Path, command: str, seed: int) -> None:
    assert not (place / "CANARY").exists(), f"seed {seed}, template {place.name}: {command!r} ran a value"
    shutil.rmtree(place, ignore_errors=True)


@pytest.mark.serial
def test_no_accepted_template_runs_a_value(tmp_path: Path) -> None:
    assert run_random_templates(tmp_path, 700, seed=41) > 150


@pytest.mark.serial
def test_no_accepted_garbage_runs_a_value(tmp_path: Path) -> None:
    assert run_random_templates(tmp_path, 4_000, seed=43, make=random_garbage) > 150


@pytest.mark.soak
def test_no_accepted_garbage_runs_a_value_at_length(tmp_path: Path) -> None:
    assert run_random_templates(tmp_path, 200_000, seed=44, make=random_garbage) > 5_000


@pytest.mark.soak
def test_no_accepted_template_runs_a_value_at_length(tmp_path: Path) -> None:
    assert run_random_templates(tmp_path, 60_000, seed=42) > 10_000


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
