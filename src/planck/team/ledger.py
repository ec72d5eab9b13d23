"""Keeps the tasks and asks that somebody still waits for: a fold over envelopes and deliveries."""

from planck.records.events import Delivery, Envelope, Kind, View


class Ledger:
    def __init__(self) -> None:
        self.open: dict[str, Envelope] = {}

    def apply(self, fact: View) -> None:
        match fact:
            case Envelope(kind=Kind.ASK | Kind.TASK):
                self.open[fact.id] = fact
            case Envelope(kind=Kind.RESPONSE, correlation_id=str() as answered):
                self.open.pop(answered, None)
            case Delivery(state="answered" | "expired" | "dead"):
                for id in fact.ids:
                    self.open.pop(id, None)
            case _:
                pass
