"""The page's modules as one script: what it runs is what the modules say, or it is refused."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from planck.session.linker import LinkError, link


def write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        path = folder / f"{name.replace('__', '/')}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_modules_run_once_in_order_and_keep_their_names_to_themselves(tmp_path: Path) -> None:
    write(
        tmp_path,
        app=(
            "import {add as plus, NAME} from './parts/sum.js';\nimport * as sum from './parts/sum.js';\n"
            "import './parts/side.js';\nconst secret = 'app';\n"
            "export const result = [plus(1, 2), NAME, sum.make().x, secret, globalThis.count];\n"
        ),
        parts__sum=(
            "import {\n  one,\n} from '../vendor/min.js';\nconst secret = one;\nexport const NAME = secret;\n"
            "export function add(a, b) { return a + b; }\nclass Made { x = 3; }\n"
            "const make = () => new Made();\n"
            "export {make, Made as Other};\nglobalThis.count = (globalThis.count || 0) + 1;\n"
        ),
        parts__side="import {add} from './sum.js';\nglobalThis.count = add(globalThis.count, 10);\n",
        vendor__min="var e='min';export{e as one};",
    )
    script = link(tmp_path, "app.js", "page")
    assert script == link(tmp_path, "app.js", "page")
    assert "import " not in script
    assert "export " not in script
    if node := shutil.which("node"):
        (tmp_path / "out.cjs").write_text(f"{script}\nconsole.log(JSON.stringify(page.result));")
        done = subprocess.run([node, tmp_path / "out.cjs"], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == [3, "min", 3, "app", 11]


@pytest.mark.parametrize(
    "text",
    [
        "import {b} from './other.js';\nexport const a = b;",
        "export let counter = 0;",
        "export default function () {}",
        "export * from './other.js';",
        "export {b} from './other.js';",
        "import x from './other.js';",
        "import {x} from 'preact';",
        "import {x} from 'https://example.org/x.js';",
        "const later = import('./other.js');",
        "export const {a, b} = {a: 1, b: 2};",
        "const end = '</script>';",
        "const begin = '<!--';",
        "const where = import.meta.url;",
    ],
)
def test_what_can_not_be_one_script_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path, app=text, other="import {a} from './app.js';\nexport const b = a;")
    with pytest.raises(LinkError):
        link(tmp_path, "app.js", "page")
