"""The text of an answer, printed while the model writes it."""

import asyncio

import planck


async def main() -> None:
    async for event in planck.stream("Write a line about rain.", model="openai/gpt-5"):
        if event.type == "text_delta":
            print(event.data["text"], end="", flush=True)


asyncio.run(main())
