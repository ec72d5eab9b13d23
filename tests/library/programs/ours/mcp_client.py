"""An agent that uses a tool of an MCP server."""

import sys

import planck

greeter = {"command": sys.executable, "args": [sys.argv[1]]}
flags = {"mcpServers": {"greeter": greeter}, "peers_wait_ms": 60_000}
result = planck.run("Greet Ada.", model="openai/gpt-5", mode="full", flags=flags)
print(result.text)
