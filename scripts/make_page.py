"""The page as it ships, made of its sources: `make page` writes it, a test holds it current."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import minify

from planck.records import tools
from planck.records.events import VIEWS, list_types
from scripts.compile_templates import TemplateError, compile_templates
from scripts.join_modules import JoinError, join

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "page"
MADE = ROOT / "src" / "planck" / "web"
_VENDORED = "vendor/preact.js"
_UNUSED = (
    r"function F\(e,n\)\{.*?(?=e=i\.slice)",  # createContext
    r"function X\(.*?(?=function Y\()",  # useImperativeHandle
    r"function Z\(.*?(?=function te\()",  # useCallback, useContext, useDebugValue, useErrorBoundary
    r"var ce=function\(e,n,_,t\)\{.*?\.bind\(a\);",  # htm: templates are read here
)
"""What the page does not use of the vendored file, which no minifier takes out of it."""
_ENDS = re.compile(r"</?script|<!--", re.I)
_MESSAGE = re.compile(r"^\t'?([\w.-]+)'?: '((?:[^'\\`$]|\\'|\$(?!\{))*)',$", re.M)


def make_page() -> dict[str, bytes]:
    """File names below src/planck/web, and what must stand in them."""
    style = minify.string("text/css", (SOURCES / "app.css").read_text())
    script = make_script(load_modules(), "start.js")
    return {
        "NOTICE.txt": (SOURCES / "vendor" / "NOTICE.txt").read_bytes(),
        "app.css": f"{style}\n".encode(),
        "app.js": f"// Made of page/ by `make page`.\n{script}\n".encode(),
        "icon.svg": (SOURCES / "icon.svg").read_bytes(),
        "index.html": (SOURCES / "index.html").read_bytes(),
    }


def load_modules() -> dict[str, str]:
    """Returns the sources by their paths, ready to be joined."""
    texts = {path.relative_to(SOURCES).as_posix(): path.read_text() for path in SOURCES.rglob("*.js")}
    texts |= {"events.js": _list_events(), "tools.js": _list_tools()}
    vendored = _drop_unused(texts.pop(_VENDORED))
    made = {path: _compile(path, text) for path, text in texts.items()}
    return {**made, **_pack_messages(texts["i18n/en.js"], texts["i18n/es.js"]), _VENDORED: vendored}


def _list_tools() -> str:
    """Returns what the page knows of tools by their names, as a module: of records/tools.py."""
    named = {
        "ASK": tools.ASK,
        "PLAN": tools.PLAN,
        "COMMANDS": tools.COMMAND_TOOLS,
        "SUBJECT": tools.SUBJECT,
        "SUBJECTS": tools.SUBJECTS,
        "SUBJECT_OF": {row.name: row.subject for row in tools.TOOLS.values() if row.subject},
        "SHOWN_OF": {row.name: row.shown for row in tools.TOOLS.values() if row.shown != "end"},
    }
    return _make_module(named)


def _list_events() -> str:
    """The same of types of events: of records/events.py."""
    unseen = {view.type: view.unseen for view in VIEWS.values() if view.unseen}
    return _make_module({"NOTED": sorted(list_types("noted")), "UNSHOWN": unseen})


def _make_module(named: Mapping[str, object]) -> str:
    return "\n".join(f"export const {name} = {json.dumps(value)};" for name, value in named.items())


def make_script(modules: Mapping[str, str], entry: str, result: str = "") -> str:
    """Returns what `entry` and all it needs do, as one expression whose value is `result`."""
    # Only inside a function may names be shortened; modules are strict, a script has to say so.
    text = f"(() => {{\n'use strict';\n{join(modules, entry)}\n{result and f'return {result};'}\n}})();"
    made: str = minify.string("application/javascript", text)
    if _ENDS.search(made):
        raise JoinError("the script has the beginning or the end of a script element in it")
    return made


def _compile(path: str, text: str) -> str:
    try:
        return compile_templates(text)
    except TemplateError as problem:
        raise JoinError(f"{path}: {problem}") from None


def _drop_unused(text: str) -> str:
    for part in _UNUSED:
        text, dropped = re.subn(part, "", text, flags=re.S)
        if dropped != 1:
            raise JoinError(f"{_VENDORED} is another one, {part!r} is not in it: look what it has now")
    return text


def _pack_messages(english: str, spanish: str) -> dict[str, str]:
    """Returns both languages as lines and their keys once: as two maps they are 4 KB larger."""
    keys, said = zip(*_MESSAGE.findall(english), strict=True)
    others, told = zip(*_MESSAGE.findall(spanish), strict=True)
    if keys != others or len(keys) != english.count("\n\t"):
        raise JoinError("i18n/en.js and i18n/es.js must have the same keys in the same order, each on a line")
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
        made = make_page()
    except JoinError as problem:
        sys.exit(f"make page: {problem}")
    MADE.mkdir(exist_ok=True)
    for name, content in made.items():
        (MADE / name).write_bytes(content)


if __name__ == "__main__":
    main()
