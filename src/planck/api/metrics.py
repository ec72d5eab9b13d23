"""What the server counts of itself."""

from collections import Counter


class Metrics:
    """Numbers that others add to."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.stream_clients = 0
        self.stream_drops = 0
        self.commits: int = 0
        """Prompts that were made durable, and the seconds that it took."""
        self.commit_seconds: float = 0.0

    def count_commit(self, seconds: float) -> None:
        self.commits += 1
        self.commit_seconds += seconds

    def count_request(self, status: int) -> None:
        self.requests[f"{status // 100}xx"] += 1
