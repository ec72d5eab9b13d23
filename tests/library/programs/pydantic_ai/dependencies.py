"""A tool that uses an object of the program."""

from dataclasses import dataclass

from pydantic_ai import Agent, RunContext


@dataclass
class Shop:
    stock: dict[str, int]


agent = Agent("openai:gpt-5", deps_type=Shop)


@agent.tool
def count(ctx: RunContext[Shop], item: str) -> int:
    """Return how many of an item there are."""
    return ctx.deps.stock[item]


shop = Shop({"tea": 3})
result = agent.run_sync("Is there tea?", deps=shop)
print(result.output)
