"""An agent that has a tool."""

from pydantic_ai import Agent

agent = Agent("openai:gpt-5")


@agent.tool_plain
def weather(city: str) -> str:
    """Report the weather in a city."""
    return f"Rain in {city}."


result = agent.run_sync("Do I need an umbrella in Bonn?")
print(result.output)
