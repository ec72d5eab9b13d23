"""An answer that is an object of a Python class."""

from dataclasses import dataclass

import planck


@dataclass
class Order:
    item: str
    count: int


order = planck.run("Three cups of tea, please.", model="openai/gpt-5", output_type=Order).require_data()
print(order.count, order.item)
