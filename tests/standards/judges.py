"""The programs that judge Planck from outside, pinned, and what of each does not apply to us."""

NPM = (
    "node@24.21.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "acpx@0.19.1",
    "@redocly/cli@2.77.0",
    "openapi-typescript@7.13.0",
    "typescript@5.9.3",
)
PYPI = (
    "openapi-python-client==0.29.1",
    "openapi-spec-validator==0.9.0",
    "schemathesis==4.32.5",
    "skills-ref==0.1.1",
)
MCP_VERSION = "2026-07-28"

_CONTENT = "our tools return text and pictures, and nothing else"
_ASKS = "no tool or prompt that we serve asks its client: permissions are decided on our side"
_SERVER = {
    "completion-complete": "nothing that we serve has values to complete",
    "tools-call-audio": _CONTENT,
    "tools-call-embedded-resource": _CONTENT,
    "tools-call-mixed-content": _CONTENT,
    "sep-2322-elicitation-incomplete": _ASKS,
    "sep-2322-error-on-protocol-error": _ASKS,
    "sep-2322-list-roots-incomplete": _ASKS,
    "sep-2322-missing-response-rerequests": _ASKS,
    "sep-2322-multi-round-r1": _ASKS,
    "sep-2322-multiple-inputs-incomplete": _ASKS,
    "sep-2322-non-tool-incomplete": _ASKS,
    "sep-2322-reject-tampered-state": _ASKS,
    "sep-2322-request-state-incomplete": _ASKS,
    "sep-2322-respect-client-capabilities": _ASKS,
    "sep-2322-result-type-included": _ASKS,
    "sep-2322-sampling-incomplete": _ASKS,
    "sep-2575-missing-capability-http-400": _ASKS,
    "sep-2575-server-rejects-undeclared-capability": _ASKS,
}
_TOOLS_ALONE = "a sidecar has tools, and neither resources nor prompts"
_OWN_PROMPTS = "our prompts are commands and skills: one text goes in, and one comes out"
_RESULTS = "our resources are the results of sessions, and not those of the fixture"

NOT_APPLICABLE: dict[str, dict[str, str]] = {
    "conformance client": {},
    "conformance server: planck sidecar run": {
        **_SERVER,
        "prompts-get-embedded-resource": _TOOLS_ALONE,
        "prompts-get-simple": _TOOLS_ALONE,
        "prompts-get-with-args": _TOOLS_ALONE,
        "prompts-get-with-image": _TOOLS_ALONE,
        "prompts-list": _TOOLS_ALONE,
        "resources-list": _TOOLS_ALONE,
        "resources-read-binary": _TOOLS_ALONE,
        "resources-read-text": _TOOLS_ALONE,
        "resources-templates-read": _TOOLS_ALONE,
        "sep-2164-data-uri": _TOOLS_ALONE,
        "sep-2164-error-code": _TOOLS_ALONE,
        "sep-2549-prompts-list-caching-hints": _TOOLS_ALONE,
        "sep-2549-resources-list-caching-hints": _TOOLS_ALONE,
        "sep-2549-resources-templates-list-caching-hints": _TOOLS_ALONE,
    },
    "conformance server: planck mcp serve": {
        **_SERVER,
        "prompts-get-embedded-resource": _OWN_PROMPTS,
        "prompts-get-with-args": _OWN_PROMPTS,
        "prompts-get-with-image": _OWN_PROMPTS,
        "resources-read-binary": _RESULTS,
        "resources-read-text": _RESULTS,
        "resources-templates-read": _RESULTS,
    },
    "acpx": {},
    "skills-ref": {},
    "openapi-spec-validator": {},
    "redocly": {},
    "openapi-python-client": {},
    "openapi-typescript and tsc": {},
    "schemathesis checks": {
        "positive_data_acceptance": "what fits the schema may still name no session, file, node or model",
    },
    "schemathesis paths": {
        "inbox/events$": "a stream without an end",
        "/auth$": "the end of the fuzzer's own sign-in",
    },
    "schemathesis statuses of wrong data": {
        "413": "the fuzzer's largest body exceeds our limit of 8 MiB, whatever else is wrong with it",
    },
}
"""By judge: what of it is not asked of us, and why. Of the MCP servers, each named check must fail."""
