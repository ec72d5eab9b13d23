"""The text of an answer, printed while the model writes it."""

import asyncio

from planck import Planck


async def main() -> None:
    async with Planck() as p:
        session = await p.start(model="openai/gpt-5")
        async for event in session.stream("Write a line about rain."):
            if event.type == "text_delta":
                print(event.data["text"], end="", flush=True)


asyncio.run(main())
