"""The page's templates as calls: what the sources say, or it is refused."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scripts.compile_templates import TemplateError, compile_templates
from scripts.make_page import SOURCES, PageError, make_script

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def run(script: str, folder: Path) -> Any:
    """What a module writes to its output, which is JSON."""
    assert NODE
    (folder / "out.mjs").write_text(script)
    done = subprocess.run([NODE, folder / "out.mjs"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.heavy
@pytest.mark.usefixtures("esbuild")
def test_a_text_that_begins_a_script_element_is_refused() -> None:
    with pytest.raises(PageError, match="script element"):
        make_script({"app.js": "globalThis.begin = '<!--';"}, "app.js")
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
