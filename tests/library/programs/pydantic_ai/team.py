"""An agent that asks a specialist."""

from pydantic_ai import Agent, RunContext

billing = Agent("openai:gpt-5", instructions="Answer questions about invoices.")
support = Agent("openai:gpt-5", instructions="Ask billing about invoices.")


@billing.tool_plain
def invoices(customer: str) -> str:
    """Return the open invoices of a customer."""
    return f"{customer}: 12 EUR"


@support.tool
async def ask_billing(ctx: RunContext, question: str) -> str:
    """Ask about invoices."""
    result = await billing.run(question, usage=ctx.usage)
    return result.output


result = support.run_sync("What does Ada owe?")
print(result.output)
