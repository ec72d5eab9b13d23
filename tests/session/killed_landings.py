"""Processes that die in the middle of a landing: `python killed_landings.py kills EVERY SEED DIR`.

A process of its own, so that it may fork. A child is killed before its n-th call to the file system, for
every n (or every EVERY-th) until a landing survives; then another child finishes it and undoes it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from planck.records.events import AgentStarted, LandingFinished, LandingStarted, view
from planck.records.redact import Redactor
from planck.records.specs import AgentSpec, ModelSpec
from planck.session import undo
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.session.landing.finish import Worker, find_unfinished, recover_landings
from planck.session.landing.landings import Landings
from planck.session.undo import OldContents, Selection
from planck.store.sqlite.store import SqliteStore
from planck.toolkit.landing import Landed, Refused
from planck.workspace.paths.paths import Root
from planck.workspace.recording.local_images import LocalImages
from planck.workspace.views.layers import Layers
from planck.workspace.views.mounting import Opener
from planck.workspace.views.overlay import OverlayView
from planck.workspace.views.proposal import read_proposal
from tests.forks import die_at, fork, reap
from tests.ports import CountedIds, FixedClock
from tests.session.view_work import make_tree, read_tree, work

NOBODY = Redactor(())
MODEL = ModelSpec(provider="double", model="m", context_window=100_000)


class StoredViews:
    """One view, by its folders alone: what a process sees of it that does not mount it."""

    def __init__(self, folder: Path, layers: tuple[str, ...]) -> None:
        self.home = str(folder / "home")
        self._layers = layers
        upper = f"{self.home}/v/upper"
        (folder / "view").mkdir(exist_ok=True)
        root = os.open(folder / "view", os.O_RDONLY | os.O_DIRECTORY)
        self._view: Any = SimpleNamespace(
            id="v",
            base=str(folder / "work"),
            path=str(folder / "work"),
            root=root,
            fds=(),
            exact=True,
            backend="overlay",
            layers=layers,
            upper=upper,
            words=lambda: (),
        )

    def find(self, agent_id: str) -> Any:
        return self._view

    async def take_layers(self) -> tuple[str, ...]:
        return self._layers


async def prepare(folder: Path, seed: int) -> None:
    """Makes a workspace, a view with random work in it, and changes of others that came meanwhile."""
    base = folder / "work"
    make_tree(base, seed)
    layers = Layers(str(base), str(folder / "home"), dict(os.environ)).take()
    opener = Opener()
    opened = OverlayView("v", str(base), str(folder / "home"), layers, opener)
    inside = f"/proc/self/fd/{opened.root}"
    work(inside, seed, 12)
    before, after = read_tree(str(base)), read_tree(inside)
    differing = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    fds = [os.open(f"{folder}/home/{place}", os.O_RDONLY) for place in ("v/upper", *layers)]
    proposed = set(read_proposal(fds[0], fds[1:]).changes)
    assert proposed == differing, f"missed {differing - proposed}, too much: {proposed - differing}"
    await opened.aclose()
    opener.close()
    (folder / "layers").write_text(json.dumps(layers))
    with (base / "src/f6").open("a") as file:
        file.write("by another\n")
    (base / "other").write_text("new by another\n")
    store = SqliteStore.create(folder / "log.db", {})
    journal = SessionJournal(store, Bus(), FixedClock())
    spec = AgentSpec(id="o", name="ada", type="orchestrator", role="orchestrator", model=MODEL)
    await journal.record("o", 0, AgentStarted(agent=spec))
    await store.aclose()


async def land(folder: Path, at: int = 0) -> None:
    """Lands, or finishes what a killed process began; exits with 3 once it is whole, with 4 if refused."""
    store = SqliteStore.open(folder / "log.db")
    journal = SessionJournal(store, Bus(), FixedClock())
    root, images = Root(folder / "work"), LocalImages(folder / "images")
    old = OldContents(store, NOBODY, folder / "images")
    views = StoredViews(folder, tuple(json.loads((folder / "layers").read_text())))
    worker = Worker("o", "ada", 1, root)
    landings = Landings(views, journal, CountedIds(), lambda id: worker, images=images)
    if at:
        die_at(at, statements=True)
    await recover_landings(store, journal, root, old, images)
    started = any(isinstance(view(event), LandingStarted) for event in store.read())
    landed = None if started else await landings.propose("o", "")
    if isinstance(landed, Refused):
        print(landed.text, file=sys.stderr)
    whole = started or isinstance(landed, Landed) or landed is None
    os._exit(3 if whole else 4)


async def take_back(folder: Path) -> None:
    store = SqliteStore.open(folder / "log.db")
    journal = SessionJournal(store, Bus(), FixedClock())
    old = OldContents(store, NOBODY, folder / "images")
    root = Root(folder / "work").of_user(protected=False)
    facts = [view(event) for event in store.read()]
    assert not find_unfinished(store.read())
    ids = {fact.landing for fact in facts if isinstance(fact, LandingStarted)}
    assert len(ids) == sum(isinstance(fact, LandingFinished) for fact in facts) == 1, facts
    plan = undo.plan(store, root, Selection(call=ids.pop()), old)
    assert not [step for step in plan.steps if step.conflict], [s for s in plan.steps if s.conflict]
    await undo.apply(plan, root, CountedIds(), journal, old)
    await store.aclose()


def kills(every: int, seed: int, folder: Path, runs: int) -> Counter[str]:
    totals = Counter[str]()
    made, place = folder / "made", folder / "place"
    for run in range(seed, seed + runs):
        place.mkdir()
        reap(fork(prepare(place, run)))
        before = read_tree(str(place / "work"))
        os.rename(place, made)
        wanted = None
        for at in (0, *range(1 + run % every, 100_000, every)):
            subprocess.run(["cp", "-a", made, place], check=True)
            code = reap(fork(land(place, at)), 3, 4, -signal.SIGKILL)
            print(f"seed {run}, killed before call {at}: {code}", file=sys.stderr)
            if code == 4:
                assert read_tree(str(place / "work")) == before, "a refused landing changed the workspace"
                totals["refused"] += 1
                break
            if code != 3:
                reap(fork(land(place)), 3)
                totals["killed"] += 1
            found = read_tree(str(place / "work"))
            wanted = wanted or found
            assert found == wanted, {
                name: (found.get(name), wanted.get(name))
                for name in {*found, *wanted}
                if found.get(name) != wanted.get(name)
            }
            if found != before:
                reap(fork(take_back(place)))
                back = read_tree(str(place / "work"))
                assert back == before, {
                    name: (back.get(name), before.get(name))
                    for name in {*back, *before}
                    if back.get(name) != before.get(name)
                }
            shutil.rmtree(place)
            if at and code == 3:
                totals["landed"] += 1
                break
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(made)
    return totals


if __name__ == "__main__":
    _, runs, every, seed, folder = sys.argv
    print(json.dumps(kills(int(every), int(seed), Path(folder), int(runs))))
