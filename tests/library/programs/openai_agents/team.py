"""An agent that asks a specialist."""

from agents import Agent, Runner, function_tool


@function_tool
def invoices(customer: str) -> str:
    """Return the open invoices of a customer."""
    return f"{customer}: 12 EUR"


billing = Agent(
    name="billing", model="gpt-5", instructions="Answer questions about invoices.", tools=[invoices]
)
ask_billing = billing.as_tool("ask_billing", "Ask about invoices.")
support = Agent(
    name="support", model="gpt-5", instructions="Ask billing about invoices.", tools=[ask_billing]
)
result = Runner.run_sync(support, "What does Ada owe?")
print(result.final_output)
