"""An answer that is an object of a Python class."""

from agents import Agent, Runner
from pydantic import BaseModel


class Order(BaseModel):
    item: str
    count: int


agent = Agent(name="Waiter", model="gpt-5", output_type=Order)
order = Runner.run_sync(agent, "Three cups of tea, please.").final_output_as(Order)
print(order.count, order.item)
