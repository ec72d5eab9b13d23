"""The page's sources and what ships of them: what they never hold, two equal languages, the size."""

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest

from scripts.make_page import MADE, SOURCES, copy_files, digest_sources, make_page

OURS = sorted(path for path in SOURCES.rglob("*.js") if "vendor" not in path.parts)
COMPONENTS = [path for path in OURS if "i18n" not in path.parts]
RAW, GZ = 150_000, 54 << 10
"""Bytes of all files that ship: the design's 150 and 50 KB. Here it is below 50,000 compressed, but another
zlib makes some hundred bytes more or less of the same."""

FORBIDDEN = (
    "innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\\.write|createContextualFragment|"
    "DOMParser|srcdoc|\\beval\\b|new Function|javascript:|setAttribute\\('style'|style=|\\.cssText|@import"
)


def name(path: Path) -> str:
    return path.relative_to(SOURCES).as_posix()


def read_messages() -> dict[str, list[str]]:
    """Every key, with what it says in each language."""
    english, spanish = (_read_language(language) for language in ("en", "es"))
    assert list(english) == list(spanish)
    return {key: [text, spanish[key]] for key, text in english.items()}


def _read_language(language: str) -> dict[str, str]:
    text = (SOURCES / "i18n" / f"{language}.js").read_text()
    rows = re.findall(r"^\t(?:'([^']+)'|(\w+)): '((?:[^'\\]|\\.)*)',$", text, re.M)
    assert len(rows) == text.count("\n\t"), "a line that is no message"
    said = {quoted or plain: words for quoted, plain, words in rows}
    assert len(said) == len(rows), "a key twice"
    return said


def list_addresses(text: str) -> list[str]:
    return re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s'\"`]*", text)


@pytest.mark.parametrize("path", [*OURS, SOURCES / "index.html", SOURCES / "app.css"], ids=name)
def test_no_way_leads_from_text_to_markup_or_to_another_server(path: Path) -> None:
    text = path.read_text()
    assert re.findall(FORBIDDEN, text) == []
    assert list_addresses(re.sub(r"^\s*//.*$", "", text, flags=re.M)) == []


@pytest.mark.parametrize("path", OURS, ids=name)
def test_a_module_has_or_imports_every_constant_that_it_uses(path: Path) -> None:
    """A bundler takes any other name for a global, and nobody would know before the page is opened."""
    code = re.sub(r"//[^\n]*|'(?:[^'\\\n]|\\.)*'", "", path.read_text())
    used = set(re.findall(r"(?<![.\w$-])[A-Z][A-Z0-9_]{2,}\b(?!\s*:)", code))
    known = set(re.findall(r"\b(?:const|let)\s+([A-Z][A-Z0-9_]+)", code))
    known |= {one.strip() for names in re.findall(r"import \{([^}]*)\}", code) for one in names.split(",")}
    assert used - known <= {"JSON", "URL"}


def read_shipped() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in MADE.iterdir() if path.is_file()}


def test_what_ships_was_made_of_the_sources_as_they_are_now() -> None:
    shipped = read_shipped()
    assert digest_sources().encode() in shipped["app.js"].partition(b"\n")[0], "run `make page`"
    assert shipped == {**shipped, **copy_files()}, "run `make page`"


@pytest.mark.heavy
@pytest.mark.usefixtures("esbuild")
def test_what_ships_is_what_esbuild_makes_of_the_sources() -> None:
    made, shipped = make_page(), read_shipped()
    assert sorted(shipped) == sorted(made)
    # Names, not contents: nobody wants to read how two minified files differ.
    assert [name for name in made if shipped[name] != made[name]] == [], "run `make page`"


def test_what_ships_has_no_way_either_and_no_address_but_names_of_namespaces() -> None:
    shipped, vendored = (MADE / "app.js").read_text(), (SOURCES / "vendor" / "preact.js").read_text()
    assert Counter(re.findall(FORBIDDEN, shipped)) <= Counter(re.findall(FORBIDDEN, vendored))
    for path in MADE.iterdir():
        namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
        assert set(list_addresses(path.read_text())) <= namespaces, path.name


def test_the_page_is_one_style_and_one_script_and_names_whose_work_is_in_it() -> None:
    page = (MADE / "index.html").read_text()
    assert re.findall(r'(?:src|href)="([^"]+)"', page) == ["/web/icon.svg", "/web/app.css", "/web/app.js"]
    notice = (MADE / "NOTICE.txt").read_text()
    assert "Preact (MIT License, copyright Jason Miller)" in notice


def test_english_and_spanish_say_the_same_things() -> None:
    said = read_messages()
    assert len(said) > 250
    for key, texts in said.items():
        english, spanish = (
            [sorted(re.findall(r"\{(\w+)\}", one)) for one in text.split("|")] for text in texts
        )
        assert english == spanish, key
        assert len(english) <= 2, key
    same = {
        key
        for key, (en, es) in said.items()
        if en == es and re.search(r"[a-z]{4}", re.sub(r"\{\w+\}", "", en))
    }
    assert same <= {"card.tokens", "tokens", "language.en", "language.es", "plan", "mode.plan", "check.error"}


def test_every_word_that_is_asked_for_is_there_and_every_other_one_is_gone() -> None:
    bases = set(read_messages())
    text = "\n".join(path.read_text() for path in COMPONENTS)
    asked = set(re.findall(r"\bt\((?:[^()'`]*\? )?'([\w.-]+)'", text))
    groups = {base.partition(".")[0] for base in bases if "." in base}
    asked |= {one for one in re.findall(r"['\"](\w+\.[\w.-]+)['\"]", text) if one.partition(".")[0] in groups}
    assert asked - bases == set()
    prefixes = set(re.findall(r"t\(`([\w]+(?:\.\w+)*)\.\$\{", text)) | set(
        re.findall(r"known\('(\w+)'", text)
    )
    quoted = set(re.findall(r"['\"]([\w.-]+)['\"]", text))
    unused = {base for base in bases - quoted if base.rpartition(".")[0] not in prefixes}
    assert unused == set()


@pytest.mark.parametrize("path", COMPONENTS, ids=name)
def test_components_hold_no_text_of_their_own(path: Path) -> None:
    """Between two tags there are only values, marks and numbers; and no label is written out."""
    text = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M)
    for template in re.findall(r"html`(?:[^`]|`[^`]*`)*`", text):
        bare = template
        while (shorter := re.sub(r"\$\{[^{}]*\}", "", bare)) != bare:
            bare = shorter
        for words in re.findall(r">([^<>{}$`=();&|?]*)<", bare):
            assert not re.search(r"[A-Za-z]{3}", words) or words.startswith("planck "), words
        assert not re.findall(r"(?:aria-label|title|placeholder|alt)=\"[^\"]*[A-Za-z]", template)


def test_the_page_stays_small() -> None:
    files = [path for path in MADE.rglob("*") if path.is_file()]
    raw = sum(path.stat().st_size for path in files)
    gz = sum(len(gzip.compress(path.read_bytes(), 9, mtime=0)) for path in files)
    print(f"{len(files)} files, {raw} bytes, {gz} compressed")
    assert raw <= RAW
    assert gz <= GZ
