"""The one door: all that a frontend may know of the runtime, each name loaded when it is first used."""

TYPE_CHECKING = False  # as in the package above: `typing` itself costs start-up
if TYPE_CHECKING:  # the same as the table below, for checkers; a test compares the two
    from planck.config.auth import Auth
    from planck.config.load import ConfigError, read_environment
    from planck.config.models import ModelError, ModelRow
    from planck.config.origins import Origin, explain_config, show_config
    from planck.config.project import Project
    from planck.config.schema import config_schema
    from planck.config.teams import (
        TeamFileError,
        create_team,
        find_team,
        list_teams,
        read_team,
        read_team_text,
    )
    from planck.context.skills import Skill, read_skill
    from planck.headless.demo import open_demo
    from planck.headless.doctor import run_checks
    from planck.headless.event import SessionEvent, encode_frame
    from planck.headless.explain import explain_call
    from planck.headless.open_session import OpenSession
    from planck.headless.planck import Planck
    from planck.headless.toolbox import Inventory, ToolBox, ToolRow
    from planck.headless.workbench import Workbench, make_token, serve_http, serve_stdio
    from planck.peers.peers import PeerReport
    from planck.peers.plan import add_server, list_servers, remove_server
    from planck.session.archive import Archive, SessionDetail, SessionInfo
    from planck.session.directory import SessionError
    from planck.session.result import Exit, RunResult, make_failure
    from planck.session.undo import Plan, Selection, UndoError
    from planck.sidecar.exec import pipe_secret, prepare_sidecar
    from planck.sidecar.scaffold import create_sidecar

_NAMES = {
    "planck.config.auth": "Auth",
    "planck.config.load": "ConfigError read_environment",
    "planck.config.models": "ModelError ModelRow",
    "planck.config.origins": "Origin explain_config show_config",
    "planck.config.project": "Project",
    "planck.config.schema": "config_schema",
    "planck.config.teams": "TeamFileError create_team find_team list_teams read_team read_team_text",
    "planck.context.skills": "Skill read_skill",
    "planck.headless.demo": "open_demo",
    "planck.headless.doctor": "run_checks",
    "planck.headless.event": "SessionEvent encode_frame",
    "planck.headless.explain": "explain_call",
    "planck.headless.open_session": "OpenSession",
    "planck.headless.planck": "Planck",
    "planck.headless.toolbox": "Inventory ToolBox ToolRow",
    "planck.headless.workbench": "Workbench make_token serve_http serve_stdio",
    "planck.peers.peers": "PeerReport",
    "planck.peers.plan": "add_server list_servers remove_server",
    "planck.session.archive": "Archive SessionDetail SessionInfo",
    "planck.session.directory": "SessionError",
    "planck.session.result": "Exit RunResult make_failure",
    "planck.session.undo": "Plan Selection UndoError",
    "planck.sidecar.exec": "pipe_secret prepare_sidecar",
    "planck.sidecar.scaffold": "create_sidecar",
}
"""By module: classes and functions, none of them named like a module of this package."""

if not TYPE_CHECKING:  # a name that is not listed is an error for checkers too
    _HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
    __all__ = [*_HOMES]

    def __getattr__(name):
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module 'planck.headless' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__():
        return [*globals(), *__all__]
