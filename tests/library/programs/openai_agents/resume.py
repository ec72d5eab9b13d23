"""A conversation that goes on in another process, with what was said before."""

import sys

from agents import Agent, Runner, SQLiteSession

agent = Agent(name="Assistant", model="gpt-5")
session = SQLiteSession("ada", "conversations.db")
prompt = "My name is Ada." if sys.argv[1] == "begin" else "What is my name?"
result = Runner.run_sync(agent, prompt, session=session)
print(result.final_output)
