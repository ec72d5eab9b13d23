"""A tool that uses an object of the program."""

from dataclasses import dataclass

import planck
from planck import ToolContext


@dataclass
class Shop:
    stock: dict[str, int]


@planck.tool(effect="none")
def count(item: str, ctx: ToolContext[Shop]) -> int:
    """Return how many of an item there are."""
    return ctx.deps.stock[item]


shop = Shop({"tea": 3})
result = planck.run("Is there tea?", model="openai/gpt-5", tools=[count], deps=shop)
print(result.text)
