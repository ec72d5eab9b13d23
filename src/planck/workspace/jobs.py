"""Commands that run in the background until somebody ends them."""

from planck.workspace.process import Job


class Jobs:
    """Owns its commands: `aclose` leaves none alive."""

    def __init__(self, limit: int = 16) -> None:
        self.limit = limit
        self._jobs: dict[str, Job] = {}

    @property
    def running(self) -> dict[str, Job]:
        return {handle: job for handle, job in self._jobs.items() if job.running}

    def add(self, handle: str, job: Job) -> None:
        self._jobs[handle] = job

    def get(self, handle: str) -> Job | None:
        return self._jobs.get(handle)

    async def kill(self, handle: str) -> Job | None:
        """The job, ended; None for a handle nobody gave out."""
        job = self._jobs.get(handle)
        if job is not None:
            await job.kill()
        return job

    async def aclose(self) -> None:
        for handle in list(self._jobs):
            await self.kill(handle)
        self._jobs.clear()
