"""The one door: all that a frontend may know of the runtime, each name loaded when it is first used."""

_NAMES = {
    "planck.acp.methods": (
        "AgentCapabilities AuthMethod AuthenticateRequest Implementation InitializeRequest "
        "InitializeResponse ListSessionsRequest ListSessionsResponse ListedSession "
        "McpCapabilities McpServer NewSessionRequest NewSessionResponse Nothing "
        "OpenSessionRequest PermissionOption PermissionRequest PermissionResponse "
        "PromptCapabilities PromptRequest PromptResponse Selected SessionCapabilities "
        "SessionMode SessionModes SessionRequest SessionSettings SetConfigOptionRequest "
        "SetConfigOptionResponse SetModeRequest TokenUsage"
    ),
    "planck.acp.rpc": "Peer UnknownMethod read_params",
    "planck.acp.schema": (
        "AgentMessageChunk AgentState AgentThoughtChunk AudioContent AvailableCommand "
        "AvailableCommandsUpdate CallDetails CommandInput CompactionUpdate ConfigOptionUpdate "
        "Content Cost CurrentModeUpdate Diff EmbeddedResource ImageContent Location "
        "NoticeUpdate PlanEntries PlanEntry Record ResourceLink SelectConfig SelectOption "
        "SessionInfoUpdate SessionMessage SessionNotification SubagentSession SubagentUpdate "
        "TextContent ToolCallStarted ToolCallUpdate UsageUpdate UserMessageChunk"
    ),
    "planck.client.client": "Client ClientError",
    "planck.config.keys.auth": "Auth",
    "planck.config.environment": "read_environment",
    "planck.config.load": "ConfigError set_user_value",
    "planck.config.models": "ModelError ModelRow",
    "planck.config.origins": "Origin explain_config show_config",
    "planck.config.project": "Project",
    "planck.config.rules": "rules_in_force",
    "planck.config.teams": "TeamFileError create_team find_team list_teams read_team read_team_text",
    "planck.context.commands": "CustomCommand",
    "planck.context.skills": "read_skill",
    "planck.headless.attachments": "attach",
    "planck.headless.services.demo": "find_failure open_demo",
    "planck.headless.services.doctor": "run_checks",
    "planck.headless.event": "SessionEvent encode_frame",
    "planck.headless.services.explain": "explain_call",
    "planck.headless.feed": "Behind FeedClient FeedFrame",
    "planck.headless.services.files": "WorkspaceFiles",
    "planck.headless.services.survey": "survey_files write_agents_md",
    "planck.headless.inbox": "Inbox",
    "planck.headless.open_session": "OpenSession",
    "planck.headless.session_setup": "Settings",
    "planck.headless.planck": "Planck",
    "planck.headless.pool.database": "connect_database",
    "planck.headless.pool.desk": "StoreDesk",
    "planck.headless.pool.joining": "Joining name_node open_pool read_terms",
    "planck.headless.pool.node": "Node Terms",
    "planck.headless.pool.outage": "Outage",
    "planck.headless.pool.pool": "Pool Submission",
    "planck.headless.pool.watchdog": "ThreadWatchdog",
    "planck.config.remote": "find_server",
    "planck.headless.services.reopening": "carry_over find_left",
    "planck.headless.requests": "make_key name_session",
    "planck.headless.services.setup": "Candidate Setup",
    "planck.headless.structured": "AnswerSchema",
    "planck.headless.services.toolbox": "Inventory ToolBox",
    "planck.headless.services.user_shell": "run_in_shell",
    "planck.headless.services.workbench": "Workbench make_token serve_http serve_stdio",
    "planck.http.lobby": "GuardedProtocol Lobby",
    "planck.mcp.standard": "claim_standard_streams",
    "planck.peers.peers": "PeerReport",
    "planck.peers.plan": "add_server find_missing_extra find_tokens list_servers read_servers remove_server",
    "planck.peers.prompts": "ServerPrompt",
    "planck.peers.sign_in": "sign_in",
    "planck.permissions.grants": "revise_rule",
    "planck.archive.archive": "Archive",
    "planck.archive.detail": "SessionDetail",
    "planck.session.bus": "LiveText",
    "planck.session.costs": "CostReport",
    "planck.store.store": "SessionError",
    "planck.session.evidence": "Evidence",
    "planck.archive.listing": "SessionInfo Summary",
    "planck.session.result": "Exit RunResult make_failure",
    "planck.archive.stats": "Figures Stats",
    "planck.archive.transcript": "Transcript",
    "planck.session.undo": "FileDiff UndoPlan Selection UndoError",
    "planck.store.roster": "Command NodeRow SessionRow TokenRow",
    "planck.sidecar.host": "pipe_secret prepare_sidecar",
    "planck.sidecar.scaffold": "create_sidecar",
    "planck.team.mail": "Accepted",
    "planck.toolkit.clock": "SystemClock",
    "planck.toolkit.images": "image_from_base64",
    "planck.tools.builtin.search_worker": "walk",
    "planck.tools.results": "is_spilled",
    "planck.workspace.process.duplex": "Duplex",
    "planck.workspace.paths.output_file": "OutputFile",
    "planck.workspace.process.process": "kill_children",
}
"""By module: classes and functions, none of them named like a module of this package.
Checkers are told the same by the stub beside this file; a test compares the two."""

_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = [*_HOMES]


def __getattr__(name):
    from planck.own_code import start_library

    start_library()
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'planck.headless' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__():
    return [*globals(), *__all__]
