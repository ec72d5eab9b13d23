"""The person behind a call to a server: asked in the call's own session, by whatever asks for permissions."""

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from planck.mcp.elicitation import DECLINED, DISMISSED, Reply
from planck.mcp.instances import EXECUTOR_GRACE
from planck.permissions.approver import PATIENCE, Approvals
from planck.records.approval import Asked, check_content
from planck.records.outcome import Err, PlanckError
from planck.toolkit.clock import RandomIds
from planck.toolkit.tool import ToolContext

if TYPE_CHECKING:
    from planck.peers.open_peer import OpenPeer


class SessionPerson:
    def __init__(self, server: "OpenPeer", ctx: ToolContext, approvals: Approvals) -> None:
        self.session_id: str = ctx.session_id
        self._server = server
        self._ctx = ctx
        self._approvals = approvals

    async def ask(self, asked: Asked) -> Reply:
        """A yes is checked once more, whoever gave it: what does not fit the form is not sent."""
        from planck.permissions.question import ask_for_input, hide_keys  # few servers ask

        left = PATIENCE
        if self._ctx.deadline is not None:
            left = max(self._ctx.deadline - EXECUTOR_GRACE - asyncio.get_running_loop().time(), 0)
        question = replace(
            ask_for_input(RandomIds().new(), self._server.name, asked, self._ctx.agent_id, self._ctx.call_id),
            session_id=self.session_id,
            deadline=self._approvals.find_deadline(left),
        )
        try:
            answer = await self._approvals.ask(hide_keys(question, self._ctx.keys))
        except PlanckError as broken:
            self.note(broken.err.message)
            return DISMISSED
        if not answer.allow:
            return DISMISSED if answer.unanswered else DECLINED
        content = check_content(question.fields, answer.content)
        return DECLINED if isinstance(content, Err) else Reply(content)

    def note(self, why: str) -> None:
        self._server.changed_state("connected", f"its question was declined: {why}")
