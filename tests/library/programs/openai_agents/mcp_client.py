"""An agent that uses a tool of an MCP server."""

import asyncio
import sys

from agents import Agent, Runner
from agents.mcp import MCPServerStdio


async def main() -> None:
    async with MCPServerStdio(params={"command": sys.executable, "args": [sys.argv[1]]}) as greeter:
        agent = Agent(name="Assistant", model="gpt-5", mcp_servers=[greeter])
        result = await Runner.run(agent, "Greet Ada.")
        print(result.final_output)


asyncio.run(main())
