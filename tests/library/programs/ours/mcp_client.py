"""An agent that uses a tool of an MCP server."""

import sys

import planck

greeter = {"command": sys.executable, "args": [sys.argv[1]]}
result = planck.run(
    "Greet Ada.", model="openai/gpt-5", mode="full", flags={"mcpServers": {"greeter": greeter}}
)
print(result.text)
