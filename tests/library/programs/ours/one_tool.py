"""An agent that has a tool."""

import planck


@planck.tool(effect="none")
def weather(city: str) -> str:
    """Report the weather in a city."""
    return f"Rain in {city}."


result = planck.run("Do I need an umbrella in Bonn?", model="openai/gpt-5", tools=[weather])
print(result.text)
