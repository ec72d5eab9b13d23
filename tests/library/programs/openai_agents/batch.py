"""Several prompts at the same time."""

import asyncio

from agents import Agent, Runner

COUNTRIES = ["France", "Italy", "Japan"]
agent = Agent(name="Assistant", model="gpt-5")


async def main() -> None:
    prompts = [f"What is the capital of {country}?" for country in COUNTRIES]
    results = await asyncio.gather(*(Runner.run(agent, prompt) for prompt in prompts))
    print([result.final_output for result in results])


asyncio.run(main())
