"""The one door: all that a frontend may know of the runtime, each name loaded when it is first used."""

TYPE_CHECKING = False  # as in the package above: `typing` itself costs start-up
if TYPE_CHECKING:
    from typing import Any

    from planck.config import teams as teams
    from planck.config.auth import Auth as Auth
    from planck.config.load import ConfigError as ConfigError
    from planck.config.load import environment as environment
    from planck.config.load import home_dir as home_dir
    from planck.config.models import Listed as Listed
    from planck.config.models import ModelError as ModelError
    from planck.config.origins import Origin as Origin
    from planck.config.origins import explain_config as explain_config
    from planck.config.origins import shown as shown
    from planck.config.project import Project as Project
    from planck.config.schema import schema as schema
    from planck.config.teams import TeamFileError as TeamFileError
    from planck.context.skills import Skill as Skill
    from planck.headless.demo import PROMPT as PROMPT
    from planck.headless.demo import open_demo as open_demo
    from planck.headless.doctor import examine as examine
    from planck.headless.event import SessionEvent as SessionEvent
    from planck.headless.event import frame_of as frame_of
    from planck.headless.explain import explain_call as explain_call
    from planck.headless.inspection import skill_text as skill_text
    from planck.headless.open_session import OpenSession as OpenSession
    from planck.headless.planck import Planck as Planck
    from planck.headless.toolbox import Entry as Entry
    from planck.headless.toolbox import Inventory as Inventory
    from planck.headless.toolbox import ToolBox as ToolBox
    from planck.headless.workbench import Workbench as Workbench
    from planck.headless.workbench import handed as handed
    from planck.headless.workbench import new_token as new_token
    from planck.headless.workbench import serve_http as serve_http
    from planck.headless.workbench import serve_stdio as serve_stdio
    from planck.headless.workbench import sidecar_command as sidecar_command
    from planck.peers.peers import PeerReport as PeerReport
    from planck.peers.plan import add_server as add_server
    from planck.peers.plan import list_servers as list_servers
    from planck.peers.plan import remove_server as remove_server
    from planck.session.archive import Archive as Archive
    from planck.session.archive import SessionDetail as SessionDetail
    from planck.session.archive import SessionInfo as SessionInfo
    from planck.session.directory import SessionError as SessionError
    from planck.session.result import Exit as Exit
    from planck.session.result import RunResult as RunResult
    from planck.session.result import make_failure as make_failure
    from planck.session.undo import Plan as Plan
    from planck.session.undo import Selection as Selection
    from planck.session.undo import UndoError as UndoError
    from planck.sidecar.scaffold import new_sidecar as new_sidecar

_HOMES = {
    "add_server": "planck.peers.plan",
    "explain_config": "planck.config.origins",
    "Archive": "planck.session.archive",
    "Auth": "planck.config.auth",
    "ConfigError": "planck.config.load",
    "Entry": "planck.headless.toolbox",
    "environment": "planck.config.load",
    "examine": "planck.headless.doctor",
    "Exit": "planck.session.result",
    "explain_call": "planck.headless.explain",
    "frame_of": "planck.headless.event",
    "handed": "planck.headless.workbench",
    "home_dir": "planck.config.load",
    "Inventory": "planck.headless.toolbox",
    "list_servers": "planck.peers.plan",
    "Listed": "planck.config.models",
    "make_failure": "planck.session.result",
    "ModelError": "planck.config.models",
    "new_sidecar": "planck.sidecar.scaffold",
    "new_token": "planck.headless.workbench",
    "open_demo": "planck.headless.demo",
    "Origin": "planck.config.origins",
    "Plan": "planck.session.undo",
    "Planck": "planck.headless.planck",
    "Project": "planck.config.project",
    "PROMPT": "planck.headless.demo",
    "PeerReport": "planck.peers.peers",
    "remove_server": "planck.peers.plan",
    "RunResult": "planck.session.result",
    "schema": "planck.config.schema",
    "Selection": "planck.session.undo",
    "serve_http": "planck.headless.workbench",
    "serve_stdio": "planck.headless.workbench",
    "SessionDetail": "planck.session.archive",
    "SessionError": "planck.session.directory",
    "SessionEvent": "planck.headless.event",
    "OpenSession": "planck.headless.open_session",
    "SessionInfo": "planck.session.archive",
    "shown": "planck.config.origins",
    "sidecar_command": "planck.headless.workbench",
    "Skill": "planck.context.skills",
    "skill_text": "planck.headless.inspection",
    "TeamFileError": "planck.config.teams",
    "ToolBox": "planck.headless.toolbox",
    "UndoError": "planck.session.undo",
    "Workbench": "planck.headless.workbench",
}

_MODULES = {"teams": "planck.config.teams"}

__all__ = [
    "Archive",
    "Auth",
    "ConfigError",
    "Entry",
    "Exit",
    "Inventory",
    "Listed",
    "ModelError",
    "Origin",
    "PROMPT",
    "Plan",
    "Planck",
    "Project",
    "PeerReport",
    "RunResult",
    "Selection",
    "SessionDetail",
    "SessionError",
    "SessionEvent",
    "OpenSession",
    "SessionInfo",
    "Skill",
    "TeamFileError",
    "ToolBox",
    "UndoError",
    "Workbench",
    "add_server",
    "environment",
    "examine",
    "explain_call",
    "explain_config",
    "frame_of",
    "handed",
    "home_dir",
    "list_servers",
    "make_failure",
    "new_sidecar",
    "new_token",
    "open_demo",
    "remove_server",
    "schema",
    "serve_http",
    "serve_stdio",
    "shown",
    "sidecar_command",
    "skill_text",
    "teams",
]


if not TYPE_CHECKING:  # a name that is not listed above is an error for checkers too

    def __getattr__(name: str) -> "Any":
        from importlib import import_module

        if name in _MODULES:
            return import_module(_MODULES[name])
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'planck.headless' has no attribute {name!r}")
        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
