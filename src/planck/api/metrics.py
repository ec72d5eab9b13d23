"""Counts for Prometheus; every label is from a closed set."""

from collections import Counter


class Metrics:
    """What the server counts of itself."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.stream_clients = 0
        self.stream_drops = 0

    def count_request(self, status: int) -> None:
        self.requests[f"{status // 100}xx"] += 1
