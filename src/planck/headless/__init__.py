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
    from planck.config.schema import schema as schema
    from planck.config.teams import TeamFileError as TeamFileError
    from planck.context.skills import Skill as Skill
    from planck.headless import servers as servers
    from planck.headless.archive import Archive as Archive
    from planck.headless.archive import SessionDetail as SessionDetail
    from planck.headless.archive import SessionInfo as SessionInfo
    from planck.headless.demo import PROMPT as PROMPT
    from planck.headless.demo import open_demo as open_demo
    from planck.headless.doctor import examine as examine
    from planck.headless.explain import explain_call as explain_call
    from planck.headless.handle import SessionEvent as SessionEvent
    from planck.headless.handle import SessionHandle as SessionHandle
    from planck.headless.handle import frame_of as frame_of
    from planck.headless.headless import Planck as Planck
    from planck.headless.inspection import skill_text as skill_text
    from planck.headless.peers import Report as Report
    from planck.headless.result import Exit as Exit
    from planck.headless.result import RunResult as RunResult
    from planck.headless.result import failed as failed
    from planck.headless.serving import Workbench as Workbench
    from planck.headless.serving import handed as handed
    from planck.headless.serving import new_token as new_token
    from planck.headless.serving import serve_http as serve_http
    from planck.headless.serving import serve_stdio as serve_stdio
    from planck.headless.serving import sidecar_command as sidecar_command
    from planck.headless.sessions import SessionError as SessionError
    from planck.headless.sessions import newest as newest
    from planck.headless.sidecar_files import new_sidecar as new_sidecar
    from planck.headless.tools import Entry as Entry
    from planck.headless.tools import Inventory as Inventory
    from planck.headless.tools import ToolBox as ToolBox
    from planck.headless.undo import Plan as Plan
    from planck.headless.undo import Selection as Selection
    from planck.headless.undo import UndoError as UndoError

_HOMES = {
    "explain_config": "planck.config.origins",
    "Archive": "planck.headless.archive",
    "Auth": "planck.config.auth",
    "ConfigError": "planck.config.load",
    "Entry": "planck.headless.tools",
    "environment": "planck.config.load",
    "examine": "planck.headless.doctor",
    "Exit": "planck.headless.result",
    "explain_call": "planck.headless.explain",
    "failed": "planck.headless.result",
    "frame_of": "planck.headless.handle",
    "handed": "planck.headless.serving",
    "home_dir": "planck.config.load",
    "Inventory": "planck.headless.tools",
    "Listed": "planck.config.models",
    "ModelError": "planck.config.models",
    "new_sidecar": "planck.headless.sidecar_files",
    "new_token": "planck.headless.serving",
    "newest": "planck.headless.sessions",
    "open_demo": "planck.headless.demo",
    "Origin": "planck.config.origins",
    "Plan": "planck.headless.undo",
    "Planck": "planck.headless.headless",
    "PROMPT": "planck.headless.demo",
    "Report": "planck.headless.peers",
    "RunResult": "planck.headless.result",
    "schema": "planck.config.schema",
    "Selection": "planck.headless.undo",
    "serve_http": "planck.headless.serving",
    "serve_stdio": "planck.headless.serving",
    "SessionDetail": "planck.headless.archive",
    "SessionError": "planck.headless.sessions",
    "SessionEvent": "planck.headless.handle",
    "SessionHandle": "planck.headless.handle",
    "SessionInfo": "planck.headless.archive",
    "shown": "planck.config.origins",
    "sidecar_command": "planck.headless.serving",
    "Skill": "planck.context.skills",
    "skill_text": "planck.headless.inspection",
    "TeamFileError": "planck.config.teams",
    "ToolBox": "planck.headless.tools",
    "UndoError": "planck.headless.undo",
    "Workbench": "planck.headless.serving",
}

_MODULES = {"servers": "planck.headless.servers", "teams": "planck.config.teams"}

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
    "Report",
    "RunResult",
    "Selection",
    "SessionDetail",
    "SessionError",
    "SessionEvent",
    "SessionHandle",
    "SessionInfo",
    "Skill",
    "TeamFileError",
    "ToolBox",
    "UndoError",
    "Workbench",
    "environment",
    "examine",
    "explain_call",
    "explain_config",
    "failed",
    "frame_of",
    "handed",
    "home_dir",
    "new_sidecar",
    "new_token",
    "newest",
    "open_demo",
    "schema",
    "serve_http",
    "serve_stdio",
    "servers",
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
