"""The page as it ships, made of its sources: `make page` writes it, tests hold it current.

esbuild joins and shortens the modules. It is installed by npm, as package-lock.json pins it, and needed only
by those who change the page: what it makes is committed.
"""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from planck.records import tools
from planck.records.events import VIEWS, list_types
from scripts.compile_templates import TemplateError, compile_templates

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "page"
MADE = ROOT / "src" / "planck" / "web"
_MODULES = ROOT / "node_modules"
_LOCK = ROOT / "package-lock.json"
_VENDORED = "vendor/preact.js"
_HTM = "fe=function(e)"
"""Where htm begins in the vendored file. esbuild leaves it out only if it may take the call as pure."""
_ENDS = re.compile(r"</?script|<!--", re.I)
_MESSAGE = re.compile(r"^\t'?([\w.-]+)'?: '((?:[^'\\`$]|\\'|\$(?!\{))*)',$", re.M)


class PageError(Exception):
    """The page can't be made; the message says why."""


def make_page() -> dict[str, bytes]:
    """File names below src/planck/web, and what must stand in them."""
    style = _run_esbuild(["--loader=css"], (SOURCES / "app.css").read_text(), ROOT)
    script = make_script(load_modules(), "start.js")
    # Modules are strict, a script has to say so.
    head = f"// Made of page/ by `make page`: {digest_sources()}\n"
    return {**copy_files(), "app.css": style.encode(), "app.js": f'{head}"use strict";{script}'.encode()}


def copy_files() -> dict[str, bytes]:
    """Returns what ships as it is."""
    return {
        "NOTICE.txt": (SOURCES / "vendor" / "NOTICE.txt").read_bytes(),
        "icon.svg": (SOURCES / "icon.svg").read_bytes(),
        "index.html": (SOURCES / "index.html").read_bytes(),
    }


def digest_sources() -> str:
    """Returns what tells, without esbuild, whether the page was made again after a change."""
    files = [_LOCK, *sorted(path for path in SOURCES.rglob("*") if path.suffix in (".js", ".css"))]
    found = [[path.relative_to(ROOT).as_posix(), path.read_text()] for path in files]
    found += [[name, text] for name, text in list_known().items()]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]


def load_modules() -> dict[str, str]:
    """Returns the sources by their paths, ready for esbuild."""
    texts = {path.relative_to(SOURCES).as_posix(): path.read_text() for path in SOURCES.rglob("*.js")}
    texts |= list_known()
    vendored = texts.pop(_VENDORED)
    if vendored.count(_HTM) != 1:
        raise PageError(f"{_VENDORED} is another one, {_HTM!r} is not in it: look what it has now")
    made = {path: _compile(path, text) for path, text in texts.items()}
    packed = _pack_messages(texts["i18n/en.js"], texts["i18n/es.js"])
    return {**made, **packed, _VENDORED: vendored.replace("fe=", "fe=/*@__PURE__*/", 1)}


def list_known() -> dict[str, str]:
    """Returns what the page knows of tools and events by their names, as modules: of records/."""
    rows = tools.TOOLS.values()
    named = {
        "ASK": tools.ASK,
        "PLAN": tools.PLAN,
        "COMMANDS": tools.COMMAND_TOOLS,
        "SUBJECT": tools.SUBJECT,
        "SUBJECTS": tools.SUBJECTS,
        "SUBJECT_OF": {row.name: row.subject for row in rows if row.subject},
        "SHOWN_OF": {row.name: row.shown for row in rows if row.shown != "end"},
    }
    unshown = {view.type: view.unseen for view in VIEWS.values() if view.unseen}
    traits = {"NOTED": sorted(list_types("noted")), "UNSHOWN": unshown}
    return {"events.js": _make_module(traits), "tools.js": _make_module(named)}


def _make_module(named: Mapping[str, object]) -> str:
    return "\n".join(f"export const {name} = {json.dumps(value)};" for name, value in named.items())


def make_script(modules: Mapping[str, str], entry: str, form: str = "iife") -> str:
    """Returns `entry` and all it needs as one script; as `esm` it exports what `entry` does."""
    with TemporaryDirectory() as folder:
        for name, text in modules.items():
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        made = _run_esbuild([entry, "--bundle", f"--format={form}"], "", Path(folder))
    if _ENDS.search(made):
        raise PageError("the script has the beginning or the end of a script element in it")
    return made


def install_esbuild() -> None:
    """Installs what package-lock.json pins, where it is not installed yet."""
    done = _MODULES / ".package-lock.json"
    if done.exists() and done.stat().st_mtime >= _LOCK.stat().st_mtime:
        return
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise PageError("npm is not installed") from None
    except subprocess.CalledProcessError as failed:
        raise PageError(f"the package registry can't be reached: {failed.stderr[-500:]}") from None
    done.touch()


def _run_esbuild(options: list[str], given: str, folder: Path) -> str:
    common = ["--minify", "--charset=utf8", "--legal-comments=none", "--target=es2022", "--log-level=warning"]
    command = [str(_MODULES / "esbuild" / "bin" / "esbuild"), *options, *common]
    done = subprocess.run(command, input=given, cwd=folder, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise PageError(done.stderr)
    return done.stdout


def _compile(path: str, text: str) -> str:
    try:
        return compile_templates(text)
    except TemplateError as problem:
        raise PageError(f"{path}: {problem}") from None


def _pack_messages(english: str, spanish: str) -> dict[str, str]:
    """Returns both languages as lines and their keys once: as two maps they are 5 KB larger."""
    keys, said = zip(*_MESSAGE.findall(english), strict=True)
    others, told = zip(*_MESSAGE.findall(spanish), strict=True)
    if keys != others or len(keys) != english.count("\n\t"):
        raise PageError("i18n/en.js and i18n/es.js must have the same keys in the same order, each on a line")
    lines = ["\n".join(texts).replace("\\'", "'") for texts in (said, told)]
    packed = f"""const MESSAGE_KEYS = '{" ".join(keys)}'.split(' ');
export const unpack = (text) =>
  Object.fromEntries(text.split('\\n').map((one, at) => [MESSAGE_KEYS[at], one]));
export const english = unpack(`{lines[0]}`);"""
    return {
        "i18n/en.js": packed,
        "i18n/es.js": f"import {{unpack}} from './en.js';\nexport const spanish = unpack(`{lines[1]}`);",
    }


def main() -> None:
    try:
        install_esbuild()
        made = make_page()
    except PageError as problem:
        sys.exit(f"make page: {problem}")
    MADE.mkdir(exist_ok=True)
    for name, content in made.items():
        (MADE / name).write_bytes(content)


if __name__ == "__main__":
    main()
