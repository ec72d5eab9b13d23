"""A tool that uses an object of the program."""

from dataclasses import dataclass

from agents import Agent, RunContextWrapper, Runner, function_tool


@dataclass
class Shop:
    stock: dict[str, int]


@function_tool
def count(ctx: RunContextWrapper[Shop], item: str) -> int:
    """Return how many of an item there are."""
    return ctx.context.stock[item]


shop = Shop({"tea": 3})
agent = Agent[Shop](name="Clerk", model="gpt-5", tools=[count])
result = Runner.run_sync(agent, "Is there tea?", context=shop)
print(result.final_output)
