"""Our keys in MCP's `_meta`: a peer that does not know them ignores them; without them there are defaults."""

SESSION_ID = "planck/session_id"
AGENT_ID = "planck/agent_id"
CALL_ID = "planck/call_id"
DRY_RUN = "planck/dry_run"
TIMEOUT_MS = "planck/timeout_ms"
OUTCOME = "planck/outcome"
"""In a result: the outcome itself, beside the text that any client reads."""
HTTP_FAILED = {"planck/http": "failed"}
"""In an error: HTTP gave no answer of the protocol."""
