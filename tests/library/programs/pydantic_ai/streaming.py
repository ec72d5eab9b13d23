"""The text of an answer, printed while the model writes it."""

import asyncio

from pydantic_ai import Agent

agent = Agent("openai:gpt-5")


async def main() -> None:
    async with agent.run_stream("Write a line about rain.") as result:
        async for text in result.stream_text(delta=True):
            print(text, end="", flush=True)


asyncio.run(main())
