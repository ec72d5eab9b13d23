"""The text of an answer, printed while the model writes it."""

import asyncio

from agents import Agent, Runner
from openai.types.responses import ResponseTextDeltaEvent

agent = Agent(name="Poet", model="gpt-5")


async def main() -> None:
    result = Runner.run_streamed(agent, "Write a line about rain.")
    async for event in result.stream_events():
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
            print(event.data.delta, end="", flush=True)


asyncio.run(main())
