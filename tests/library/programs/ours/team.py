"""An agent that asks a specialist."""

import planck
from planck import Member, Team


@planck.tool(effect="none")
def invoices(customer: str) -> str:
    """Return the open invoices of a customer."""
    return f"{customer}: 12 EUR"


billing = Member(type="billing", system_prompt="Answer questions about invoices.", tools=[invoices])
support = Member(type="orchestrator", system_prompt="Ask billing about invoices.")
result = planck.run("What does Ada owe?", model="openai/gpt-5", team=Team(members=[support, billing]))
print(result.text)
