"""A conversation that goes on in another process, with what was said before."""

import sys
from pathlib import Path

from pydantic_ai import Agent, ModelMessagesTypeAdapter

agent = Agent("openai:gpt-5")
file = Path("ada.json")
if sys.argv[1] == "begin":
    result = agent.run_sync("My name is Ada.")
else:
    history = ModelMessagesTypeAdapter.validate_json(file.read_bytes())
    result = agent.run_sync("What is my name?", message_history=history)
file.write_bytes(result.all_messages_json())
print(result.output)
