"""An agent that has a tool."""

from agents import Agent, Runner, function_tool


@function_tool
def weather(city: str) -> str:
    """Report the weather in a city."""
    return f"Rain in {city}."


agent = Agent(name="Assistant", model="gpt-5", tools=[weather])
result = Runner.run_sync(agent, "Do I need an umbrella in Bonn?")
print(result.final_output)
