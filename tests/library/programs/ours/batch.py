"""Several prompts at the same time."""

import asyncio

from planck import Planck

COUNTRIES = ["France", "Italy", "Japan"]


async def main() -> None:
    async with Planck() as p:
        sessions = [await p.start(model="openai/gpt-5") for _ in COUNTRIES]
        prompts = [f"What is the capital of {country}?" for country in COUNTRIES]
        results = await asyncio.gather(*(one.run(prompt) for one, prompt in zip(sessions, prompts)))
        print([result.text for result in results])


asyncio.run(main())
