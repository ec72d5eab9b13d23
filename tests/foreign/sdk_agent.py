"""An agent on the protocol's own Python SDK: what a program looks like that we did not write."""

# mypy: ignore-errors

import asyncio
import sys
from uuid import uuid4

from acp import (
    PROTOCOL_VERSION,
    Agent,
    run_agent,
    start_tool_call,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
)
from acp.helpers import plan_entry, update_plan
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)


class Reviewer(Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **more):
        self.offered = client_capabilities
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="reviewer", version="1.2"),
        )

    async def new_session(self, cwd, additional_directories=None, mcp_servers=None, **more):
        self.cwd, self.servers = cwd, mcp_servers
        return NewSessionResponse(session_id=uuid4().hex)

    async def cancel(self, session_id, **more):
        pass

    async def prompt(self, session_id, prompt, **more):
        async def tell(update):
            await self.client.session_update(session_id=session_id, update=update)

        await tell(update_agent_thought_text("let me see"))
        await tell(update_plan([plan_entry("write it", status="in_progress")]))
        path = f"{self.cwd}/review.txt"
        diff = tool_diff_content(path, "fine\n")
        await tell(start_tool_call("e1", "write review.txt", kind="edit", status="pending", content=[diff]))
        options = [
            PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        answer = await self.client.request_permission(
            session_id=session_id, tool_call=ToolCallUpdate(tool_call_id="e1"), options=options
        )
        chosen = getattr(answer.outcome, "option_id", "none")
        if chosen == "yes":
            with open(path, "w") as file:
                file.write("fine\n")
        await tell(update_tool_call("e1", status="completed" if chosen == "yes" else "failed"))
        terminal = bool(self.offered and self.offered.terminal)
        await tell(update_agent_message_text(f"{chosen}; terminal: {terminal}; {self.servers[0].name}"))
        return PromptResponse(stop_reason="end_turn")


asyncio.run(run_agent(Reviewer()))
sys.exit(0)
