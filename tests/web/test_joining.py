"""The page's modules as one scope, its templates as calls: what the sources say, or it is refused."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scripts.compile_templates import TemplateError, compile_templates
from scripts.join_modules import JoinError, join
from scripts.make_page import SOURCES, make_script

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def run(script: str, folder: Path) -> Any:
    """What a module writes to its output, which is JSON."""
    assert NODE
    (folder / "out.mjs").write_text(script)
    done = subprocess.run([NODE, folder / "out.mjs"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


MODULES = {
    "app.js": (
        "import {NAME, add} from './parts/sum.js';\nimport {make} from './parts/make.js';\n\n"
        "export const result = [add(1, 2), NAME, make().x, Total.name === 'Total'];\n"
    ),
    "parts/sum.js": (
        "import {one} from '../vendor/min.js';\n\nlet first, second;\nexport const NAME = one;\n"
        "export function add(a, b) {\n\t[first, second] = [a, b];\n\treturn first + second;\n}\n"
    ),
    "parts/make.js": (
        "import {add} from './sum.js';\n\nclass Total { x = add(2, 1); }\n"
        "export const make = () => new Total();\n"
    ),
    "vendor/min.js": "var e='min',add=0;export{e as one,add as two};",
    "unused.js": "export const add = 1;",
}


@needs_node
def test_modules_run_in_order_and_what_is_vendored_keeps_its_names(tmp_path: Path) -> None:
    assert join(MODULES, "app.js") == join(dict(reversed(MODULES.items())), "app.js")
    script = make_script(MODULES, "app.js", "result")
    assert script.startswith('(()=>{"use strict";')  # as modules are
    assert "import" not in script
    assert "export" not in script
    told = f"console.log(JSON.stringify({script.removesuffix(';')}));"
    # Names are shortened: nothing of ours may go by what a class or a function is called.
    assert run(told, tmp_path) == [3, "min", 3, False]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import {b} from './other.js';\nexport const a = b;", "app.js needs other.js needs app.js"),
        ("import {gone} from './third.js';", "gone, which third.js does not export"),
        ("import {c} from './third.js';\nconst own = 1;", "own is declared in third.js and in app.js"),
        ("import {c} from './third.js';\nfunction own() {}", "own is declared in third.js and in app.js"),
        ("import {c} from './third.js';\nlet x, own;", "own is declared in third.js and in app.js"),
        ("import {c as d} from './third.js';", "c as d"),
        ("import * as third from './third.js';", "import *"),
        ("import c from './third.js';", "import c"),
        ("import './third.js';", "import './third.js'"),
        ("import {x} from './absent.js';", "absent.js, which is not one of our files"),
        ("import {x} from 'preact';", "from 'preact'"),
        ("import {x} from 'https://example.org/x.js';", "example.org"),
        ("export default function () {}", "export default"),
        ("export * from './third.js';", "export *"),
        ("export {c} from './third.js';", "export {c} from"),
        ("export const {a, b} = {a: 1, b: 2};", "export const {a"),
        ("const later = import('./third.js');", "import('./third.js')"),
        ("const where = import.meta.url;", "import.meta"),
        ("const another = '<script>';", "script element"),
        ("const begin = '<!--';", "script element"),
    ],
)
def test_what_can_not_be_one_scope_is_refused(text: str, told: str) -> None:
    other = "import {a} from './app.js';\nexport const b = a;"
    modules = {"app.js": text, "other.js": other, "third.js": "const own = 0;\nexport const c = own;"}
    with pytest.raises(JoinError) as refused:
        make_script(modules, "app.js")
    assert told in str(refused.value)


def test_a_text_that_ends_a_script_does_not_end_this_one() -> None:
    assert "</script" not in make_script({"app.js": "globalThis.end = '</script>';"}, "app.js")


TEMPLATES = r"""
html`<p>one</p>`
html`<p class="a b" data-stop title=${x} ...${more} aria-label="">${x} two <b>three</b>${' '}</p>`
html`<ul>
	${[1, 2].map((n) => html`<li key=${n}>${`${n}<i>`}</li>`)}
	text and
	lines
	<${Part} of=${{a: {b: 1}}} /><${Part}>within<//>
</ul>`
html`<br /><hr/>`
html` ${x} `
html`<input value=/a/b type=text disabled />`
html`<p>${x ? html`<b>${/[`}]/.test('`}') ? 'yes' : 'no'}</b>` : null}</p>`
html`<p title='it"s'>${8 / 2 / 2}${x /* } ` */}</p>`
"""


@needs_node
def test_a_template_becomes_what_htm_would_have_made_of_it(tmp_path: Path) -> None:
    templates = [one for one in TEMPLATES.replace("\nhtml`", "\0html`").split("\0") if one.strip()]
    assert len(templates) == 8
    listed = ",\n".join(templates)
    show = "(key, value) => (typeof value === 'function' ? value.name : value === undefined ? '-' : value)"
    script = f"""
import {{h, html}} from {json.dumps((tmp_path / "preact.mjs").as_uri())};
const x = 'x', more = {{id: 'm'}};
function Part() {{}}
const clean = (one) => (Array.isArray(one) ? one.map(clean) : one?.props ? [one.type, one.key,
  one.props.children ? {{...one.props, children: clean(one.props.children)}} : one.props] : one);
const made = [{compile_templates(listed)}];
const wanted = [{listed}];
console.log(JSON.stringify([made, wanted].map(clean), {show}));
"""
    shutil.copy(SOURCES / "vendor" / "preact.js", tmp_path / "preact.mjs")
    made, wanted = run(script, tmp_path)
    assert made == wanted
    assert wanted[0] == ["p", "-", {"children": "one"}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("html`<p>`", "not closed"),
        ("html`<p></p></p>`", "closes what is not open"),
        ('html`<p class="a ${x}"></p>`', "inside quotes"),
        ("html`<p class=a${x}></p>`", "in pieces"),
        ("html`<p ${x}></p>`", "without a name"),
        ("html`<p>\\u00b7</p>`", "backslash"),
        ("const h = 1;", "rename it"),
        ("html`<p>${x", "a value is not closed"),
        ("html`<p></p>", "a template is not closed"),
    ],
)
def test_a_template_that_means_something_else_here_is_refused(text: str, told: str) -> None:
    with pytest.raises(TemplateError, match=told):
        compile_templates(text)
