"""Several prompts at the same time."""

import asyncio

import planck

COUNTRIES = ["France", "Italy", "Japan"]


async def main() -> None:
    prompts = [f"What is the capital of {country}?" for country in COUNTRIES]
    results = await asyncio.gather(*(planck.run_async(one, model="openai/gpt-5") for one in prompts))
    print([result.text for result in results])


asyncio.run(main())
