"""The shape of the configuration: every key, its type, its default and one sentence about it."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from planck.records import codec
from planck.records.amounts import Allowance
from planck.records.authority import Mode
from planck.records.specs import Limits


class OAuthEntry(msgspec.Struct, frozen=True):
    client_id: Annotated[str, Meta(description="Client ID that the provider issued for this program")]
    device_url: Annotated[str, Meta(description="Address where a device code sign-in starts (RFC 8628)")]
    token_url: Annotated[str, Meta(description="Address that issues and renews tokens")]
    scope: Annotated[str, Meta(description="Requested scopes, separated by spaces")] = ""
    account_header: Annotated[
        str, Meta(description="Header that names the account, if the provider needs one")
    ] = ""


KEYLESS = frozenset({"ollama", "llama_cpp"})


class ProviderEntry(msgspec.Struct, frozen=True):
    type: Annotated[str, Meta(description="Provider type: anthropic, openai, google, ollama or llama_cpp")]
    api: Annotated[
        str,
        Meta(description="For type openai, the API to use: chat (the default with a base_url) or responses"),
    ] = ""
    base_url: Annotated[str, Meta(description="Address to use instead of the vendor's own")] = ""
    identifier: Annotated[
        str, Meta(description="Prefix of the variable that holds the key, <IDENTIFIER>_API_KEY")
    ] = ""
    headers: Annotated[dict[str, str], Meta(description="Headers sent with every request")] = {}
    oauth: Annotated[
        OAuthEntry | None,
        Meta(description="OAuth endpoints that `planck auth login PROVIDER` uses"),
    ] = None
    has_api_key: Annotated[
        bool,
        Meta(description="Set to false for a server that needs no key, such as ollama or llama_cpp"),
    ] = True
    withhold_key: bool = False
    """Set by the loader alone: this address came from a project's file, which must not see a key."""

    def __post_init__(self) -> None:
        if self.type in KEYLESS and not (self.identifier or self.oauth):
            msgspec.structs.force_setattr(self, "has_api_key", False)


_Usd = Annotated[float, Meta(ge=0, le=1_000_000)]
_Tokens = Annotated[int, Meta(ge=0, le=1_000_000_000)]


class PriceEntry(msgspec.Struct, frozen=True):
    """Prices in USD per million tokens."""

    input: _Usd
    output: _Usd
    cache_read: Annotated[_Usd | None, Meta(description="Default: the input price")] = None
    cache_write: Annotated[_Usd | None, Meta(description="Default: the input price")] = None


class ModelEntry(msgspec.Struct, frozen=True):
    id: Annotated[str, Meta(description="Your alias for the model, used with -m and in teams")]
    model: Annotated[str, Meta(description="The provider's own name for the model")]
    provider: Annotated[str, Meta(description="A name in `providers`, or a provider type")]
    name: str = ""
    params: Annotated[
        dict[str, Any], Meta(description="Parameters sent with every request, such as temperature")
    ] = {}
    context_window: Annotated[
        _Tokens, Meta(description="Size of the context window in tokens; 0: use the catalog's value")
    ] = 0
    max_output: Annotated[
        _Tokens,
        Meta(description="Maximum tokens in one answer (a budget reserves them); 0: use the default"),
    ] = 0
    price: Annotated[
        PriceEntry | None,
        Meta(description="Price in USD per million tokens; a budget in USD needs a known price"),
    ] = None


class QuotaEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits for all sessions of a user per day. A day ends at midnight UTC."""

    usd_per_day: Annotated[
        _Usd | None, Meta(description="Maximum cost per day in USD; 0: only free requests")
    ] = None
    tokens_per_day: Annotated[
        _Tokens | None, Meta(description="Maximum input and output tokens per day, including cached ones")
    ] = None


_Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_Sessions = Annotated[int, Meta(ge=0, le=10_000)]


class NodeEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """This machine as a node of a pool, whose nodes share the sessions of one database."""

    name: Annotated[
        str,
        Meta(pattern=r"^[A-Za-z0-9_.-]{0,64}$", description="Name of the node; default: the host name"),
    ] = ""
    labels: Annotated[list[str], Meta(description="Node labels that `submit --need` can require")] = []
    work: Annotated[
        _Sessions | None, Meta(description="Maximum number of sessions at a time; 0: no sessions")
    ] = None
    mode: Annotated[
        Mode | None, Meta(description="Most permissive mode that a submitted session may use on this node")
    ] = None
    accept: Annotated[
        list[str],
        Meta(
            description="Repositories and folders that the node works on (`*` matches any part); empty: none"
        ),
    ] = []
    trust: Annotated[
        list[str],
        Meta(
            description="Trusted repositories: their tools, hooks and servers may run on this node. Only "
            "the newest commit of the default branch is trusted; use REPO#BRANCH or REPO#refs/tags/TAG for "
            "another ref. `*` matches any part."
        ),
    ] = []
    drain_s: Annotated[_Seconds, Meta(description="Seconds that work may continue after `nodes drain`")] = (
        900.0
    )


class ClusterEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lease_s: Annotated[
        _Seconds, Meta(description="Seconds of silence after which other nodes take over a node's work")
    ] = 30.0
    beat_s: Annotated[_Seconds, Meta(description="Seconds between a node's heartbeats")] = 5.0


class ViewsEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Agents' own workspaces (`"workspace": "own"`)."""

    folder: Annotated[
        str,
        Meta(description="Folder for them, not on an overlay; default: `views` in Planck's home folder"),
    ] = ""


class Permissions(msgspec.Struct, frozen=True):
    mode: Annotated[Mode, Meta(description="Permission mode: read-only, plan, ask, workspace or full")] = (
        Mode.ASK
    )
    rules: Annotated[
        list[dict[str, Any]], Meta(description="Rules that allow, deny or ask, by tool and argument")
    ] = []
    readable: Annotated[
        list[str],
        Meta(
            description="Files and folders in your home folder that commands in the sandbox can read; "
            "user configuration only"
        ),
    ] = []
    environment: Annotated[
        list[str],
        Meta(
            description="Names of your environment variables that commands get, besides the usual ones; "
            "user configuration only"
        ),
    ] = []


class UndoEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    commands: Annotated[
        bool, Meta(description="Record what commands change, so that an undo covers them")
    ] = True


class Config(msgspec.Struct, frozen=True):
    default_model: Annotated[str, Meta(description="Model to use if none is given")] = ""
    default_team: Annotated[str, Meta(description="Team to use if none is given")] = ""
    sessions_dir: Annotated[
        str, Meta(description="Folder for sessions; default: `sessions` in Planck's home folder")
    ] = ""
    durability: Annotated[
        Literal["process", "power"],
        Meta(description="What every saved event survives: a process crash, or a power failure (slower)"),
    ] = "process"
    store: Annotated[
        str, Meta(description="Database for sessions instead of files: a postgresql:// URL, or dev")
    ] = ""
    skills_dirs: Annotated[
        list[str], Meta(description="Folders to search for skills instead of the default ones")
    ] = []
    teams_dirs: Annotated[
        list[str], Meta(description="Folders to search for teams instead of the default ones")
    ] = []
    tools_dirs: Annotated[
        list[str], Meta(description="Folders to search for tools instead of the default ones")
    ] = []
    sidecar: Annotated[
        str | dict[str, str], Meta(description="Path to a sidecar, or a map of names to paths")
    ] = ""
    mcpServers: Annotated[
        dict[str, Any], Meta(description="MCP servers by name, each with a command or a url")
    ] = {}
    hooks: Annotated[
        dict[str, Any], Meta(description="Commands to run when something happens in a session, by event")
    ] = {}
    agents_md: Annotated[
        Literal["nearest", "chain", "off"],
        Meta(
            description="AGENTS.md files in the system prompt: all from the git root down (chain), "
            "the nearest one (nearest), or none (off)"
        ),
    ] = "chain"
    permissions: Annotated[Permissions, Meta(description="What agents may do without asking")] = Permissions()
    limits: Annotated[Limits, Meta(description="Limits for a team; a model cannot raise them")] = Limits()
    locale: Annotated[str, Meta(description="Language of the interface")] = ""
    providers: Annotated[dict[str, ProviderEntry], Meta(description="Model providers by name")] = {}
    models: Annotated[list[ModelEntry], Meta(description="Models with your own alias and settings")] = []
    peers_wait_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=60_000,
            description="Milliseconds that the first request waits for MCP servers and sidecars that have "
            "never listed their tools",
        ),
    ] = 2_000
    keys: Annotated[
        dict[str, str | list[str]],
        Meta(
            description="Key bindings by action (press `?` in a conversation to list them), plus `editing` "
            "(emacs or vi) and `bell` (on or off); user configuration only"
        ),
    ] = {}
    budget: Annotated[
        Allowance | None,
        Meta(description="Budget for one session across all its runs; user configuration only"),
    ] = None
    quotas: Annotated[
        dict[str, QuotaEntry],
        Meta(
            description="Daily limits for all your sessions together, by provider name; "
            "user configuration only"
        ),
    ] = {}
    server: Annotated[
        str,
        Meta(
            description="Address of the server for `submit`, `watch`, `answer`, `interrupt` and `nodes`; "
            "user configuration only"
        ),
    ] = ""
    node: Annotated[
        NodeEntry, Meta(description="Settings for this machine as a node in a pool; user configuration only")
    ] = NodeEntry()
    cluster: Annotated[
        ClusterEntry,
        Meta(
            description="When a node counts as lost (use the same values on all nodes in a pool); "
            "user configuration only"
        ),
    ] = ClusterEntry()
    undo: Annotated[UndoEntry, Meta(description="What an undo covers; user configuration only")] = UndoEntry()
    views: Annotated[
        ViewsEntry, Meta(description="Where agents' own workspaces are kept; user configuration only")
    ] = ViewsEntry()
    addresses: dict[str, str] = {}
    """Set by the loader alone: where the environment says that a type's server is (`config/environment`)."""


KEYS = tuple(key for key in Config.__struct_fields__ if key != "addresses")


def describe_key(key: str) -> str:
    """Returns the sentence about a key: `limits.steps` has one of its own."""
    found = config_schema()["properties"]
    text = ""
    for part in key.split("."):
        text = found.get(part, {}).get("description", text)
        found = _find_properties(found.get(part, {}))
    return text


def list_choices(key: str) -> list[str]:
    """Returns the words that a key takes, where it takes only some: `permissions.mode` is such a key."""
    found = config_schema()["properties"]
    choices: list[str] = []
    for part in key.split("."):
        entry = found.get(part, {})
        choices = entry.get("enum") or _find_part(entry).get("enum", [])
        found = _find_properties(entry)
    return choices


def config_schema() -> dict[str, Any]:
    """Returns the published JSON Schema; editors take it from `$schema` in a config file."""
    (found,), components = msgspec.json.schema_components([Config], ref_template="#/$defs/{name}")
    body = components.pop(found["$ref"].rsplit("/", 1)[1])
    components["ProviderEntry"]["properties"].pop("withhold_key")
    body["properties"].pop("addresses")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Planck configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": {"$schema": {"type": "string"}, **body["properties"]},
        "$defs": {name: _close(part) for name, part in codec.drop_examples(components).items()},
    }


def _close(part: dict[str, Any]) -> dict[str, Any]:
    return {**part, "additionalProperties": False} if "properties" in part else part


def _find_properties(entry: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _find_part(entry).get("properties", {})
    return found


def _find_part(entry: dict[str, Any]) -> dict[str, Any]:
    reference = entry.get("$ref") or next((e["$ref"] for e in entry.get("allOf", ()) if "$ref" in e), "")
    found: dict[str, Any] = config_schema()["$defs"].get(reference.rsplit("/", 1)[1], {}) if reference else {}
    return found
