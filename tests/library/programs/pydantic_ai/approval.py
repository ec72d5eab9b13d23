"""A question that one process stores, and another one answers."""

import json
import sys
from pathlib import Path

from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
)

FILE = Path("messages.json")
agent = Agent("openai:gpt-5", output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def refund(order: int) -> str:
    """Refund an order."""
    return f"Order {order} is refunded."


if sys.argv[1] == "begin":
    result = agent.run_sync("Refund order 7.")
    assert isinstance(result.output, DeferredToolRequests)
    for question in result.output.approvals:
        print(question.tool_name)
    calls = [question.tool_call_id for question in result.output.approvals]
    FILE.write_text(json.dumps([calls, result.all_messages_json().decode()]))
else:
    calls, stored = json.loads(FILE.read_text())
    history = ModelMessagesTypeAdapter.validate_json(stored)
    answers = DeferredToolResults(approvals=dict.fromkeys(calls, True))
    result = agent.run_sync(message_history=history, deferred_tool_results=answers)
    print(result.output)
