"""Several prompts at the same time."""

import asyncio

from pydantic_ai import Agent

COUNTRIES = ["France", "Italy", "Japan"]
agent = Agent("openai:gpt-5")


async def main() -> None:
    prompts = [f"What is the capital of {country}?" for country in COUNTRIES]
    results = await asyncio.gather(*(agent.run(prompt) for prompt in prompts))
    print([result.output for result in results])


asyncio.run(main())
