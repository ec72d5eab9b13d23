"""Keeps what this process loads and runs apart from what agents may write.

An agent's command can leave a `difflib.py` or a `git` in the workspace, or change a file of ours there: the
next import or start would run it with the user's rights. So nothing is looked for in such folders, and the
part of the runtime that lies in one is read-only to agents.

This is the first module of ours that a command runs: it imports only what every interpreter has loaded.
"""

import _frozen_importlib_external as _external
import _thread
import os
import sys

TYPE_CHECKING = False  # `typing` itself could be an agent's
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec, PathFinder
    from types import FrameType, ModuleType
else:
    PathFinder = _external.PathFinder

REQUIRED = ("httptools", "jsonschema_rs", "msgspec", "prompt_toolkit", "regex", "rich", "segno", "uvicorn")
"""The modules that no installation is without: `dependencies` of pyproject.toml."""
_NEEDED_BY = {
    "rich": ("markdown_it", "mdurl", "pygments"),
    "prompt_toolkit": ("wcwidth",),
    "uvicorn": ("click", "h11"),
}
"""What they can't do without in turn, in some of their versions."""
_MAX_LINKS = 40
_HOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that `planck` is imported from."""
_SYSTEM = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")
"""Folders of the system's packages: nobody links projects there, and without them nothing runs."""
_IMPORTING = ("importlib", "_frozen_importlib", "_frozen_importlib_external")
_FOR_OTHERS = ("__main__", "planck.sidecar.child")
"""Modules whose imports are the user's own."""


class _Process:
    """What is known of the process that this runs in."""

    is_command = False
    """Whether the process is the command `planck`, and no program that embeds it."""
    script = ""
    path: str | None = None
    """The `PATH` that the user gave; None: the process still has it, as in a program that embeds us."""
    entries: tuple[str, ...] = ()
    """The `sys.path` that Python itself began with, made absolute."""
    loaded: tuple[str, ...] = ()
    """The modules that it took before our first line."""
    links: tuple[str, ...] | None = None
    """What is a link in our own packages; None: nobody has looked yet."""


_roots: set[str] = set()
"""Every folder that agents of this process may write in."""
_own: dict[tuple[object, ...], tuple[str, ...]] = {}
_closed: dict[str, bool] = {}
_looking: set[int] = set()
"""Threads that look for what is ours: a finder of somebody else may ask Python's own for it."""


def start_command(argv: "Sequence[str]") -> None:
    """Stops looking for modules and programs in the folders that the command line may be about.

    Called before anything else is imported. Too many folders do no harm: every word after an option counts.
    """
    _Process.is_command = True
    _Process.script = argv[0]
    _leave_given()
    folders = _find_here()
    home = os.path.realpath(os.path.expanduser("~"))
    for above in _list_above(folders[0]) if folders else ():
        if is_inside(home, (above,)):
            break  # no workspace by a `.git` in it
        if os.path.lexists(f"{above}/.git"):
            folders.append(above)
    for option, word in zip(argv, (*argv[1:], ""), strict=True):
        if option.startswith("-"):
            named = (word, option.partition("=")[2], option[2:])
            folders += (folder for folder in named if folder and os.path.isdir(folder))
    keep_out(folders)


def is_command() -> bool:
    """Whether this process is the command `planck`, and not a program that embeds it."""
    return _Process.is_command


def start_library() -> None:
    """Stops our own imports from where a program that embeds us runs: probably a workspace of its agents."""
    if not _Process.is_command:
        keep_out([*_find_here(), *([] if sys.flags.safe_path else sys.path[:1])])


def _leave_given() -> None:
    """Takes from `sys.path` what was given for this start: `PYTHONPATH`, and where `-m` or the script is.

    Agents may have written there in some other session. What only such a folder has, Planck itself or
    something that it needs, is still found there.
    """
    named = os.environ.get("PYTHONPATH", "")  # noqa: TID251 - `config` would load modules before this is done
    here = "".join(_find_here()) or "/"
    first = sys.path[:1] if not sys.flags.safe_path else []
    given = {os.path.normpath(os.path.join(here, entry)) for entry in (*first, *named.split(":"))}
    _Process.entries = tuple(os.path.join(here, entry) for entry in sys.path)
    _Process.loaded = (*sys.modules,)
    standard = {_HOLDER, *_list_standard()}
    leaving = [
        entry
        for entry in sys.path
        if (place := os.path.normpath(os.path.join(here, entry))) in given and place not in standard
    ]
    kept = [entry for entry in sys.path if entry not in leaving]
    needed = _find_only_there(leaving, kept)
    sys.path[:] = [entry for entry in sys.path if entry in kept or entry in needed]


def _find_only_there(inside: "Sequence[str]", others: "Sequence[str]") -> set[str]:
    """Returns those of some entries that alone have a module which no installation is without."""
    found: set[str] = set()
    names = [*REQUIRED]
    for name in names:
        having = {entry for entry in inside if PathFinder.find_spec(name, [entry]) is not None}
        if len(having) == 1 and _find_spec(name, others) is None:  # of several, one may be an agent's
            found.update(having)
            names += _NEEDED_BY.get(name, ())
    return found


def _find_spec(name: str, entries: "Sequence[str]") -> "ModuleSpec | None":
    """Looks for a module of ours as an import does, by every finder, but in these entries of `sys.path`."""
    for finder in sys.meta_path:
        if finder in (PathFinder, OutsideFinder):
            found = PathFinder.find_spec(name, entries)
        else:
            found = finder.find_spec(name, None)
        if found is not None:
            return found
    return None


def _list_standard() -> list[str]:
    """Returns where Python itself and its packages are: by place, whatever a folder's name is."""
    library = os.path.dirname(os.__file__)
    places = [library, f"{library}/lib-dynload"]
    if (site := sys.modules.get("site")) is not None:
        places += [*site.getsitepackages(), *([site.USER_SITE] if site.ENABLE_USER_SITE else ())]
    return places


def _find_here() -> list[str]:
    try:
        return [os.getcwd()]
    except OSError:
        return []  # gone


def keep_out(folders: "Iterable[str]") -> None:
    """Never again imports from folders that agents may write, nor starts a program found there by its name.

    In a program that embeds us this holds for our own imports only: it may keep its modules there.
    """
    new = {os.path.realpath(folder) for folder in folders if folder}.difference(_roots)
    if not new:
        return
    _roots.update(new)
    for entry in [entry for entry, closed in _closed.items() if not closed]:
        del _closed[entry]
    for place in (_HOLDER, *filter(os.path.isdir, _list_standard())):
        _closed.setdefault(place, False)  # `list_own` has it wherever it lies, but looks for more: 5 ms
    if not _Process.is_command:
        if OutsideFinder not in sys.meta_path:
            at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
            sys.meta_path[at : at + 1] = [OutsideFinder]
        return
    sys.path[:] = [entry for entry in sys.path if not _is_closed(entry)]
    found = os.environ.get("PATH")  # noqa: TID251 - `config` would load modules before this is done
    if _Process.path is None:
        _Process.path = found or ""
    if found is not None:
        # Only `open_path` looks for links in the other folders: 1 to 3 ms, and few commands need them.
        _set_path(":".join(place for place in _Process.path.split(":") if place in _SYSTEM))


def open_path() -> None:
    """Lets this process find programs in every folder of the user's `PATH` that no agent may write.

    Called right before a program is looked for by the `PATH` of the process. Until then, and again once an
    agent gets another folder, it has only folders of the system.
    """
    if _Process.path:
        _set_path(_Process.path)


def _set_path(path: str) -> None:
    os.environ["PATH"] = outside_path(path)  # noqa: TID251 - what the process itself starts


def user_path() -> dict[str, str]:
    """Returns the `PATH` that the user gave, as a variable for commands of the user and of agents."""
    return {"PATH": _Process.path} if _Process.path else {}


def safe_path(environment: "Mapping[str, str]") -> dict[str, str]:
    """Returns an environment for a program that runs with the user's permissions.

    It looks for other programs by its `PATH`: `#!/usr/bin/env python3` is enough.
    """
    # An empty `PATH` would mean the current folder.
    return {**environment, "PATH": outside_path(environment.get("PATH", os.defpath)) or os.devnull}


def outside_path(path: str, roots: "Sequence[str]" = ()) -> str:
    """Returns a `PATH` without folders that agents may write: in the roots, or in any that is known.

    Nor with a folder that holds a link to there: git and shells look for programs by their names.
    """
    known = {*_roots, *roots} - {"/"}
    kept = [place for place in path.split(":") if os.path.isabs(place) and _is_safe(place, known)]
    return ":".join(kept) or os.devnull  # an empty `PATH` would mean the current folder


def _is_safe(folder: str, roots: set[str]) -> bool:
    steps = [*follow(folder)]
    if any(_is_in_reach(step, roots) for step in steps):
        return False
    if steps[-1] in _SYSTEM:
        return True
    try:
        with os.scandir(folder) as found:
            return not any(entry.is_symlink() and is_open(entry.path, roots) for entry in found)
    except OSError:
        return True  # nothing can be found in it


def import_paths() -> list[str]:
    """Returns where modules are looked for, without folders that agents may write."""
    return [entry for entry in sys.path if not _is_closed(entry)]


def is_inside(path: str, roots: "Iterable[str]") -> bool:
    """Whether a canonical path is one of the roots or below one, by text."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def is_open(path: str, roots: "Collection[str]") -> bool:
    """Whether an agent that may write in the roots could change what is at a path, or where it leads."""
    known = {*roots}
    return any(_is_in_reach(step, known) for step in follow(path))


def _is_in_reach(step: str, roots: set[str]) -> bool:
    met = roots.intersection(_list_above(step))  # not one root after the other: a node has thousands
    return bool(met) and not is_inside(step, list_own(sorted(met)))


def _list_above(place: str) -> "Iterator[str]":
    yield place
    while (above := os.path.dirname(place)) != place:
        yield (place := above)


def follow(path: str) -> "Iterator[str]":
    """Yields each link on the way to what a path leads to, by its real folder, and then the end."""
    real, links = "/", 0
    here = "/" if path.startswith("/") else "".join(_find_here())
    steps = os.path.join(here, path).split("/")[::-1]
    while steps:
        step = steps.pop()
        if step == "..":
            real = os.path.dirname(real)
        if step in ("", ".", ".."):
            continue
        here = f"{real.rstrip('/')}/{step}"
        try:
            target = os.readlink(here)
        except OSError:
            real = here
            continue
        yield here
        links += 1
        if links > _MAX_LINKS:
            return
        real = "/" if target.startswith("/") else real
        steps += target.split("/")[::-1]
    yield real


def list_own(roots: "Sequence[str]") -> tuple[str, ...]:
    """Returns what of this runtime lies in the roots: the interpreter, its environment, our code and needs.

    A root itself is among them where it can't be told apart from the runtime: nothing in it may be written.
    """
    key = (*roots, "", *sys.path, sys.prefix, sys.pycache_prefix, _Process.script)
    if key not in _own:
        if len(_own) > 1000:
            _own.clear()
        found = _find_own(roots)
        _own[key] = tuple(sorted(place for place in found if not is_inside(place, found - {place})))
    return _own[key]


def list_early(roots: "Sequence[str]") -> dict[str, set[str]]:
    """Returns the folders in the roots that Python looks in before our first line, with the modules it takes.

    We can't stop that at the next start: agents may not leave such a module there.
    """
    early: dict[str, set[str]] = {}
    names = {"sitecustomize", "usercustomize"}
    for entry in reversed(_Process.entries):
        if entry == _HOLDER:
            names = names | {"planck"}
        if entry == os.path.dirname(os.__file__):
            names = names | {name.partition(".")[0] for name in _Process.loaded}
        for step in follow(entry):
            if is_inside(step, roots):
                early[step] = early.get(step, set()) | names
    return early


def list_sites(roots: "Sequence[str]") -> set[str]:
    """Returns the site folders in the roots, absent or not: a `.pth` file in one runs at the next start."""
    return {place for site in _list_standard() for place in _find_in(site, roots)}


def is_early(name: str, modules: "Collection[str]") -> bool:
    """Whether a file or folder of this name is one of the modules, in any form that Python takes."""
    module, _, form = name.partition(".")
    return module in modules and form.rpartition(".")[2] in ("", "py", "pyc", "so")


def tell_own(root: str) -> str:
    """Says that agents can't be let write in a root which the runtime itself is part of."""
    return (
        f"agents could change Planck itself, because it runs from {root!r} or a folder above. Install Planck "
        "outside the workspace (in its checkout: uv tool install .), or use --permission-mode full"
    )


def _find_own(roots: "Sequence[str]") -> set[str]:
    _looking.add(_thread.get_ident())
    try:
        return _find_standard(roots) | _find_packages(roots)
    finally:
        _looking.discard(_thread.get_ident())


def _find_standard(roots: "Sequence[str]") -> set[str]:
    own: set[str] = set()
    folder = os.path.dirname(sys.executable)
    for place in (_HOLDER, *(place for place in _list_standard() if os.path.isdir(place))):
        own |= _find_loaded(place, roots)
    around = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, sys.executable]
    # Python takes its standard library from where one of these says.
    around += [f"{place}/pyvenv.cfg" for place in (folder, os.path.dirname(folder)) if sys.executable]
    around += [_Process.script] if "/" in _Process.script else []
    around += [sys.pycache_prefix or ""]
    for place in around:
        own |= _find_in(place, roots)
    entries = [entry or "." for entry in sys.path]
    inside = [entry for entry in entries if (met := _find_in(entry, roots)) and not met <= own]
    for entry in _find_only_there(inside, [entry for entry in entries if entry not in inside]):
        own |= _find_in(entry, roots)
    return own


def _find_packages(roots: "Sequence[str]") -> set[str]:
    """Returns where our packages really are: a link, or a finder of an editable install, leads anywhere."""
    outside = [entry for entry in sys.path if not _find_in(entry or ".", roots)]
    folders, files = [os.path.dirname(os.path.abspath(__file__))], list[str]()
    for name in (*REQUIRED, *(need for needs in _NEEDED_BY.values() for need in needs)):
        spec = _find_spec(name, outside)
        if spec is not None:
            folders += spec.submodule_search_locations or ()
            files += [spec.origin] if spec.origin and os.path.isabs(spec.origin) else []
    if _Process.links is None:
        _Process.links = (*_list_links(folders), *_list_links(_list_standard(), deep=False))
    own: set[str] = set()
    for place in folders:
        own |= _find_loaded(place, roots)
    for place in (*files, *_Process.links):
        own |= _find_in(place, roots)
    return own


def _list_links(folders: "Iterable[str]", deep: bool = True) -> "Iterator[str]":
    left = [*folders]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        yield entry.path
                    elif deep and entry.is_dir():
                        left.append(entry.path)
        except OSError:
            continue  # absent, or a zip file


def _find_loaded(place: str, roots: "Sequence[str]") -> set[str]:
    """Returns a folder that modules are loaded from, where it lies in the roots, and the roots in it."""
    end = os.path.realpath(place)
    return _find_in(place, roots) | {root for root in roots if is_inside(root, (end,))}


def _find_in(place: str, roots: "Sequence[str]") -> set[str]:
    """Returns the place and the links to it, where they lie in the roots."""
    if not place:
        return set()
    *links, end = follow(place)
    found = {step for step in (*links, end) if is_inside(step, roots)}
    # A link can't be made read-only, except with its folder: that is a root itself here.
    return found | {os.path.dirname(link) for link in links if os.path.dirname(link) in roots}


def _is_closed(entry: str) -> bool:
    """Whether nothing is imported from there."""
    if not os.path.isabs(entry):
        return is_open(entry, _roots)  # the current folder may be another the next time
    if entry not in _closed:
        _closed[entry] = is_open(entry, _roots)
    return _closed[entry]


class OutsideFinder(PathFinder):
    """Takes Python's own place in a program that embeds us, and finds for us only what no agent could write.

    What the program's own modules import is found as ever.
    """

    @classmethod
    def find_spec(
        cls, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if _thread.get_ident() in _looking:
            return super().find_spec(fullname, path, target)
        search = sys.path if path is None else path
        outside = [entry for entry in search if isinstance(entry, str) and not _is_closed(entry)]
        if len(outside) == len(search):
            return super().find_spec(fullname, path, target)
        asks = _find_importer(sys._getframe(1))
        if asks == "user":
            return super().find_spec(fullname, path, target)
        found = super().find_spec(fullname, outside, target)
        if found is not None or asks == "us" or fullname in sys.stdlib_module_names:
            return found
        return super().find_spec(fullname, path, target)


def _find_importer(frame: "FrameType | None") -> str:
    """Returns `user` for a module of the program, `us` for what we do, also through another library.

    Else `library`: it may be asked to import the program's modules, as pickle or a web server is.
    """
    between = False
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        top = name.partition(".")[0]
        place = frame.f_code.co_filename
        if name in _FOR_OTHERS or (top != "planck" and os.path.isabs(place) and _is_closed(place)):
            return "library" if between else "user"
        if top == "planck":
            return "us"
        between |= top not in _IMPORTING
        frame = frame.f_back
    return "library"
