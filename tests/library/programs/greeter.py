"""An MCP server on standard input and output with one tool."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("greeter")


@server.tool()
def greet(name: str) -> str:
    """Greet a person."""
    return f"Hello, {name}!"


server.run()
