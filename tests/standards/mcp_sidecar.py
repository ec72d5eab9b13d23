"""A sidecar with the tools that the MCP conformance suite calls, as far as a tool of ours can be one."""

import asyncio
from typing import Any

from planck import Err, ErrorKind, Ok, Tool, ToolContext, tool
from planck.records.messages import Image
from planck.sidecar import Sidecar

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADERS = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "priority": {"type": "integer", "x-mcp-header": "Priority"},
        "verbose": {"type": "boolean", "x-mcp-header": "Verbose"},
    },
}


@tool
def test_simple_text() -> str:
    """Returns a text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> Ok[dict[str, Any]]:
    """Returns a picture."""
    return Ok({"output": "A pixel.", "images": [Image("image/png", PIXEL)]})


@tool
def test_error_handling() -> Err:
    """Fails."""
    return Err(ErrorKind.COMMAND_FAILED, "This tool intentionally returns an error for testing")


@tool
async def test_tool_with_progress(ctx: ToolContext) -> str:
    """Says how far it is."""
    for part in (0, 50, 100):
        ctx.progress(f"{part}/100\n")
        await asyncio.sleep(0.4)  # what is told sooner may be joined into one notification
    return "done"


class Fixtures(Sidecar):
    def tools(self) -> list[Tool]:
        plain = [test_simple_text, test_image_content, test_error_handling, test_tool_with_progress]
        described = Tool(
            "json_schema_2020_12_tool", "Takes a rich schema.", SCHEMA, lambda agent, call, args: "ok"
        )
        headers = Tool(
            "test_headers", "Takes what is also in headers.", HEADERS, lambda agent, call, args: "ok"
        )
        return [*plain, described, headers]
