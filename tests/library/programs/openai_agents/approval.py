"""A question that one process stores, and another one answers."""

import asyncio
import sys
from pathlib import Path

from agents import Agent, Runner, RunState, function_tool

FILE = Path("state.json")


@function_tool(needs_approval=True)
def refund(order: int) -> str:
    """Refund an order."""
    return f"Order {order} is refunded."


agent = Agent(name="Clerk", model="gpt-5", tools=[refund])


async def main() -> None:
    if sys.argv[1] == "begin":
        result = await Runner.run(agent, "Refund order 7.")
        for question in result.interruptions:
            print(question.name)
        FILE.write_text(result.to_state().to_string())
    else:
        state = await RunState.from_string(agent, FILE.read_text())
        for question in state.get_interruptions():
            state.approve(question)
        result = await Runner.run(agent, state)
        print(result.final_output)


asyncio.run(main())
