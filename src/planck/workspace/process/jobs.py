"""Commands that run in the background until somebody ends them."""

from planck.workspace.process.process import Job

REMEMBERED = 64
"""Commands that ended and can still be named: each has the ends of its output in memory."""


class Jobs:
    """Owns its commands: `aclose` leaves none alive."""

    limit = 16

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    @property
    def running(self) -> dict[str, Job]:
        return {handle: job for handle, job in self._jobs.items() if job.running}

    async def add(self, handle: str, job: Job) -> None:
        """The oldest that ended are forgotten; their outputs stay in their files."""
        self._jobs[handle] = job
        ended = [handle for handle, job in self._jobs.items() if not job.running]
        for forgotten in ended[:-REMEMBERED]:
            await self.kill(forgotten)  # what left its containment may still hold the pipe
            self._jobs.pop(forgotten, None)

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
