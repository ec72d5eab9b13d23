"""An agent that uses a tool of an MCP server."""

import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

greeter = MCPToolset(StdioTransport(sys.executable, [sys.argv[1]]))
agent = Agent("openai:gpt-5", toolsets=[greeter])
result = agent.run_sync("Greet Ada.")
print(result.output)
