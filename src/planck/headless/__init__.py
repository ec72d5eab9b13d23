"""The one door: all that a frontend may know of the runtime, each name loaded when it is first used."""

TYPE_CHECKING = False  # as in `planck`: `typing` itself takes time
if TYPE_CHECKING:
    from planck.archive.archive import Archive as Archive
    from planck.archive.blame.blame import Blame as Blame
    from planck.archive.blame.recorded import Call as Call
    from planck.archive.detail import SessionDetail as SessionDetail
    from planck.archive.listing import SessionInfo as SessionInfo
    from planck.archive.listing import Summary as Summary
    from planck.archive.stats import Stats as Stats
    from planck.archive.transcript import Transcript as Transcript
    from planck.client.client import Client as Client
    from planck.client.client import ClientError as ClientError
    from planck.config.environment import read_environment as read_environment
    from planck.config.keys.auth import Auth as Auth
    from planck.config.load import ConfigError as ConfigError
    from planck.config.load import set_user_value as set_user_value
    from planck.config.models import ModelError as ModelError
    from planck.config.models import ModelRow as ModelRow
    from planck.config.origins import Origin as Origin
    from planck.config.origins import explain_config as explain_config
    from planck.config.origins import show_config as show_config
    from planck.config.project import Project as Project
    from planck.config.remote import find_server as find_server
    from planck.config.rules import rules_in_force as rules_in_force
    from planck.config.teams import TeamFileError as TeamFileError
    from planck.config.teams import create_team as create_team
    from planck.config.teams import find_team as find_team
    from planck.config.teams import list_teams as list_teams
    from planck.config.teams import read_team as read_team
    from planck.config.teams import read_team_text as read_team_text
    from planck.config.trust import Trust as Trust
    from planck.config.trust import TrustState as TrustState
    from planck.context.commands import CustomCommand as CustomCommand
    from planck.context.skills import read_skill as read_skill
    from planck.headless.attachments import attach as attach
    from planck.headless.event import SessionEvent as SessionEvent
    from planck.headless.event import encode_frame as encode_frame
    from planck.headless.feed import Behind as Behind
    from planck.headless.feed import FeedFrame as FeedFrame
    from planck.headless.hooks.reading import read_hooks as read_hooks
    from planck.headless.inbox import Inbox as Inbox
    from planck.headless.open_session import OpenSession as OpenSession
    from planck.headless.planck import Planck as Planck
    from planck.headless.pool.database import connect_database as connect_database
    from planck.headless.pool.desk import StoreDesk as StoreDesk
    from planck.headless.pool.joining import Joining as Joining
    from planck.headless.pool.joining import name_node as name_node
    from planck.headless.pool.joining import open_pool as open_pool
    from planck.headless.pool.joining import read_terms as read_terms
    from planck.headless.pool.node import Node as Node
    from planck.headless.pool.node import Terms as Terms
    from planck.headless.pool.outage import Outage as Outage
    from planck.headless.pool.pool import Pool as Pool
    from planck.headless.pool.watchdog import ThreadWatchdog as ThreadWatchdog
    from planck.headless.requests import make_key as make_key
    from planck.headless.requests import name_session as name_session
    from planck.headless.services.demo import find_failure as find_failure
    from planck.headless.services.demo import open_demo as open_demo
    from planck.headless.services.doctor import run_checks as run_checks
    from planck.headless.services.explain import explain_call as explain_call
    from planck.headless.services.files import WorkspaceFiles as WorkspaceFiles
    from planck.headless.services.reopening import carry_over as carry_over
    from planck.headless.services.setup import Candidate as Candidate
    from planck.headless.services.setup import Setup as Setup
    from planck.headless.services.stored_views import StoredViews as StoredViews
    from planck.headless.services.stored_views import Waiting as Waiting
    from planck.headless.services.survey import survey_files as survey_files
    from planck.headless.services.survey import write_agents_md as write_agents_md
    from planck.headless.services.toolbox import Inventory as Inventory
    from planck.headless.services.toolbox import ToolBox as ToolBox
    from planck.headless.services.user_shell import ShellRun as ShellRun
    from planck.headless.services.user_shell import run_in_shell as run_in_shell
    from planck.headless.services.workbench import Workbench as Workbench
    from planck.headless.services.workbench import make_token as make_token
    from planck.headless.services.workbench import serve_http as serve_http
    from planck.headless.services.workbench import serve_stdio as serve_stdio
    from planck.headless.structured import AnswerSchema as AnswerSchema
    from planck.http.lobby import GuardedProtocol as GuardedProtocol
    from planck.http.lobby import Lobby as Lobby
    from planck.mcp.standard import claim_standard_streams as claim_standard_streams
    from planck.peers.peers import PeerReport as PeerReport
    from planck.peers.plan import add_server as add_server
    from planck.peers.plan import find_missing_extra as find_missing_extra
    from planck.peers.plan import find_tokens as find_tokens
    from planck.peers.plan import list_servers as list_servers
    from planck.peers.plan import read_servers as read_servers
    from planck.peers.plan import remove_server as remove_server
    from planck.peers.prompts import ServerPrompt as ServerPrompt
    from planck.peers.sign_in import sign_in as sign_in
    from planck.permissions.grants import revise_rule as revise_rule
    from planck.session.bus import LiveText as LiveText
    from planck.session.costs import CostReport as CostReport
    from planck.session.evidence import Evidence as Evidence
    from planck.session.result import Exit as Exit
    from planck.session.result import RunResult as RunResult
    from planck.session.result import fail_result as fail_result
    from planck.session.result import make_failure as make_failure
    from planck.session.undo import FileDiff as FileDiff
    from planck.session.undo import Selection as Selection
    from planck.session.undo import UndoableTurn as UndoableTurn
    from planck.session.undo import UndoError as UndoError
    from planck.session.undo import UndoPlan as UndoPlan
    from planck.sidecar.host import pipe_secret as pipe_secret
    from planck.sidecar.host import prepare_sidecar as prepare_sidecar
    from planck.sidecar.scaffold import create_sidecar as create_sidecar
    from planck.store.roster import Command as Command
    from planck.store.roster import NodeRow as NodeRow
    from planck.store.roster import SessionRow as SessionRow
    from planck.store.roster import TokenRow as TokenRow
    from planck.store.store import SessionError as SessionError
    from planck.toolkit.clock import BootClock as BootClock
    from planck.toolkit.clock import SystemClock as SystemClock
    from planck.toolkit.images import image_from_base64 as image_from_base64
    from planck.toolkit.landing import Landed as Landed
    from planck.tools.builtin.search_worker import walk as walk
    from planck.tools.results import is_spilled as is_spilled
    from planck.workspace.paths.output_file import OutputFile as OutputFile
    from planck.workspace.process.duplex import Duplex as Duplex
    from planck.workspace.process.jobs import ShellCommand as ShellCommand
    from planck.workspace.process.jobs import read_end as read_end
    from planck.workspace.process.process import kill_children as kill_children
else:  # the same lines at run time: each name is listed once, and a checker knows that there are no others
    _SOURCE = __spec__.loader.get_data(__file__).decode().splitlines()  # also from a zip file
    _HOMES = {line.split()[3]: line.split()[1] for line in _SOURCE if line.startswith("    from planck.")}
    """By name: its module. None is named like a module of this package."""
    __all__ = [*_HOMES]
    _EARLIER = {
        "Accepted": ("planck.team.mail", "Accepted"),
        "FeedClient": ("planck.headless.feed", "FeedClient"),
        "Pending": ("planck.records.approval", "Question"),
    }
    """What programs may still import that were written when the guide had these names."""

    def __getattr__(name):
        from planck.own_code import start_library

        start_library()
        from importlib import import_module

        home, name = _EARLIER[name] if name in _EARLIER else (_HOMES.get(name), name)
        if home is None:
            raise AttributeError(f"module 'planck.headless' has no attribute {name!r}")
        return getattr(import_module(home), name)

    def __dir__():
        return [*globals(), *__all__]
