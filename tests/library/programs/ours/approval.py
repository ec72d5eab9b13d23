"""A question that one process stores, and another one answers."""

import asyncio
import json
import sys
from pathlib import Path

from planck import Inbox, Planck, tool

FILE = Path("question.json")
RULES = [{"tool": "refund", "decision": "ask"}]


@tool
def refund(order: int) -> str:
    """Refund an order."""
    return f"Order {order} is refunded."


async def main() -> None:
    inbox = Inbox()
    async with Planck(approver=inbox, flags={"permissions": {"rules": RULES}}) as p:
        if sys.argv[1] == "begin":
            session = await p.start(model="openai/gpt-5", tools=[refund])
            await session.prompt("Refund order 7.")
            question = await inbox.next()
            FILE.write_text(json.dumps([session.id, question.id, question.digest]))
            print(question.tool)
            await session.suspend()
        else:
            session_id, question_id, digest = json.loads(FILE.read_text())
            session = await p.resume(session_id, tools=[refund])
            await inbox.next()
            inbox.answer(question_id, digest, True)
            print((await session.go_on()).text)


asyncio.run(main())
