"""The shape of the configuration: every key, its type, its default and one sentence about it."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from planck.records.amounts import Allowance
from planck.records.authority import Mode
from planck.records.specs import Limits


class OAuthEntry(msgspec.Struct, frozen=True):
    client_id: Annotated[str, Meta(description="what the provider calls this program")]
    device_url: Annotated[str, Meta(description="where a sign-in by device code begins (RFC 8628)")]
    token_url: Annotated[str, Meta(description="where tokens are given and renewed")]
    scope: Annotated[str, Meta(description="what is asked for, words with spaces between")] = ""
    account_header: Annotated[str, Meta(description="the header that names the account, if it needs one")] = (
        ""
    )


KEYLESS = frozenset({"ollama", "llama_cpp"})


class ProviderEntry(msgspec.Struct, frozen=True):
    type: Annotated[str, Meta(description="anthropic, openai, google, ollama or llama_cpp")]
    api: Annotated[str, Meta(description="openai only: chat (default with a base_url) or responses")] = ""
    base_url: Annotated[str, Meta(description="another address than the vendor's own")] = ""
    identifier: Annotated[str, Meta(description="the key is read from <IDENTIFIER>_API_KEY")] = ""
    headers: Annotated[dict[str, str], Meta(description="sent with every request")] = {}
    oauth: Annotated[OAuthEntry | None, Meta(description="for `planck auth login PROVIDER` in a browser")] = (
        None
    )
    has_api_key: Annotated[
        bool, Meta(description="false: a server that needs no key, and gets none, as ollama and llama_cpp")
    ] = True
    withhold_key: bool = False
    """Set by the loader alone: this address came from a project's file, which must not see a key."""

    def __post_init__(self) -> None:
        if self.type in KEYLESS and not (self.identifier or self.oauth):
            msgspec.structs.force_setattr(self, "has_api_key", False)


_Usd = Annotated[float, Meta(ge=0, le=1_000_000)]
_Tokens = Annotated[int, Meta(ge=0, le=1_000_000_000)]


class PriceEntry(msgspec.Struct, frozen=True):
    """USD for a million tokens."""

    input: _Usd
    output: _Usd
    cache_read: Annotated[_Usd | None, Meta(description="default: as input")] = None
    cache_write: Annotated[_Usd | None, Meta(description="default: as input")] = None


class ModelEntry(msgspec.Struct, frozen=True):
    id: Annotated[str, Meta(description="your name for it, used with -m and in teams")]
    model: Annotated[str, Meta(description="the provider's own name for it")]
    provider: Annotated[str, Meta(description="a key of providers, or a provider type")]
    name: str = ""
    params: Annotated[dict[str, Any], Meta(description="sent with every request, e.g. temperature")] = {}
    context_window: Annotated[_Tokens, Meta(description="in tokens; 0: as the catalog has it")] = 0
    max_output: Annotated[
        _Tokens, Meta(description="tokens that an answer may have; a budget holds so many; 0: as usual")
    ] = 0
    price: Annotated[
        PriceEntry | None, Meta(description="in USD for a million tokens; a budget needs it to be known")
    ] = None


class QuotaEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For all sessions of a user and one day, which ends at midnight UTC."""

    usd_per_day: Annotated[_Usd | None, Meta(description="US dollars; 0: nothing that costs")] = None
    tokens_per_day: Annotated[_Tokens | None, Meta(description="read and written, cached ones too")] = None


_Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_Sessions = Annotated[int, Meta(ge=0, le=10_000)]


class NodeEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """This machine, as one of several that work on the sessions of one database."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{0,64}$", description="default: the host's name")] = ""
    labels: Annotated[list[str], Meta(description="what it has: `submit --need` asks for some")] = []
    work: Annotated[_Sessions | None, Meta(description="sessions at a time; 0: none")] = None
    mode: Annotated[Mode | None, Meta(description="the most that a submitted session may do here")] = None
    accept: Annotated[
        list[str],
        Meta(description="repositories and folders that it works on, `*` for any part; empty: none"),
    ] = []
    trust: Annotated[
        list[str],
        Meta(
            description="repositories whose own files may run things here, at the newest commit of their "
            "default branch; REPO#BRANCH or REPO#refs/tags/TAG names another ref, `*` any part"
        ),
    ] = []
    drain_s: Annotated[_Seconds, Meta(description="how long work may go on after `nodes drain`")] = 900.0


class ClusterEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lease_s: Annotated[_Seconds, Meta(description="a node that is silent for so long has lost its work")] = (
        30.0
    )
    beat_s: Annotated[_Seconds, Meta(description="how often a node says that it lives")] = 5.0


class Permissions(msgspec.Struct, frozen=True):
    mode: Annotated[Mode, Meta(description="read-only, plan, ask, workspace or full")] = Mode.ASK
    rules: Annotated[list[dict[str, Any]], Meta(description="allow, deny or ask, by tool and argument")] = []


class Config(msgspec.Struct, frozen=True):
    default_model: Annotated[str, Meta(description="used where no model is named")] = ""
    default_team: Annotated[str, Meta(description="used where no team is named")] = ""
    sessions_dir: Annotated[
        str, Meta(description="where sessions are kept; default: sessions in the home")
    ] = ""
    durability: Annotated[
        Literal["process", "power"],
        Meta(description="what each event survives at once: the process's death, or a power cut (slower)"),
    ] = "process"
    store: Annotated[str, Meta(description="a postgresql:// URL instead of files")] = ""
    skills_dirs: Annotated[list[str], Meta(description="where skills are; replaces the usual places")] = []
    teams_dirs: Annotated[list[str], Meta(description="where teams are; replaces the usual places")] = []
    tools_dirs: Annotated[list[str], Meta(description="where tools are; replaces the usual places")] = []
    sidecar: Annotated[str | dict[str, str], Meta(description="a path, or a map of names to paths")] = ""
    mcpServers: Annotated[dict[str, Any], Meta(description="MCP servers by name: command or url")] = {}
    hooks: Annotated[dict[str, Any], Meta(description="commands that run at events of a session")] = {}
    agents_md: Annotated[
        Literal["nearest", "chain", "off"],
        Meta(
            description="which AGENTS.md a prompt carries: all from the git root down, the nearest, or none"
        ),
    ] = "chain"
    permissions: Annotated[Permissions, Meta(description="what may be done without a question")] = (
        Permissions()
    )
    limits: Annotated[Limits, Meta(description="what a team may use; a model can't raise them")] = Limits()
    locale: Annotated[str, Meta(description="the language of the interface")] = ""
    providers: Annotated[dict[str, ProviderEntry], Meta(description="where models are, by name")] = {}
    models: Annotated[list[ModelEntry], Meta(description="models with a name and settings of yours")] = []
    peers_wait_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=60_000,
            description="how long a first request waits for peers that never listed their tools",
        ),
    ] = 2_000
    keys: Annotated[
        dict[str, str | list[str]],
        Meta(
            description="keys of the terminal by action, as `?` lists them there; also editing (emacs, vi), "
            "bell (on, off); your own file only"
        ),
    ] = {}
    budget: Annotated[
        Allowance | None, Meta(description="what one session may take, over all its runs; your own file only")
    ] = None
    quotas: Annotated[
        dict[str, QuotaEntry],
        Meta(
            description="what all sessions may take of a provider in a day, by its name; your own file only"
        ),
    ] = {}
    server: Annotated[
        str,
        Meta(description="where `submit`, `watch`, `answer` and `nodes` find a server; your own file only"),
    ] = ""
    node: Annotated[NodeEntry, Meta(description="this machine in a pool; your own file only")] = NodeEntry()
    cluster: Annotated[
        ClusterEntry,
        Meta(description="when a node counts as lost, for all of them alike; your own file only"),
    ] = ClusterEntry()
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
        "$defs": {name: _close(part) for name, part in components.items()},
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
