"""An answer that is an object of a Python class."""

from pydantic import BaseModel
from pydantic_ai import Agent


class Order(BaseModel):
    item: str
    count: int


agent = Agent("openai:gpt-5", output_type=Order)
order = agent.run_sync("Three cups of tea, please.").output
print(order.count, order.item)
