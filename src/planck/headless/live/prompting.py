"""Prompts of a user: past the hooks, with their images, and once for each key."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from planck.config.providers import Providers
from planck.headless.embedding.arguments import refuse
from planck.headless.live.parts import LiveParts
from planck.records import codec
from planck.records.events import Origin, RequestKey
from planck.records.messages import Image, Text, UserMessage, user_text
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.team.mail import Accepted
from planck.team.member import Member

if TYPE_CHECKING:
    from planck.headless.requests import Prompts


class PromptRefused(PlanckError):
    """The prompt is empty or too large, the orchestrator's inbox is full, or a hook refuses it."""


def check_prompt(said: object) -> None:
    if isinstance(said, str):
        empty = not said.strip()
    elif isinstance(said, UserMessage):
        empty = not said.text.strip() and not any(isinstance(part, Image) for part in said.parts)
    else:
        raise refuse(f"The prompt must be a string or a UserMessage, not {said!r}.")
    if empty:
        raise PromptRefused(ErrorKind.NO_PROMPT, "The prompt is empty. Say what to do.")


class PromptSender:
    """Sends prompts to the agents of one session."""

    def __init__(self, parts: LiveParts, providers: Providers) -> None:
        self.prompted: int = 0
        """The number of the newest event before the orchestrator's last prompt."""
        self._parts = parts
        self._providers = providers
        self._prompts: Prompts | None = None
        self._greeted = False
        self._greeting = ""
        """What the SessionStart hooks said, until a prompt has carried it."""

    async def send_once(
        self, member: Member, said: str | UserMessage, steer: bool, origin: Origin, id: str, agent: str
    ) -> Accepted:
        """Sends it unless a prompt with that id was sent before: that one's answer is returned then."""
        from planck.headless.requests import make_key  # few prompts have a key

        request = make_key(id, said if isinstance(said, str) else codec.encode_str(said), steer, agent)
        async with self._known_prompts().alone(request) as first:
            return first or await self.send(member, said, steer, origin, request)

    async def send(
        self,
        member: Member,
        said: str | UserMessage,
        steer: bool,
        origin: Origin,
        request: RequestKey | None = None,
        id: str = "",
    ) -> Accepted:
        message = user_text(said) if isinstance(said, str) else said
        if self._parts.wired.hooks.program and origin is Origin.USER:
            message = await self._past_program(message)
        if len(message.parts) > 1:
            await self._open_eyes(member)
        context = await self._past_hooks(message.text)
        # Taken without an await, so that of two prompts at once only one carries it.
        greeting, self._greeting = self._greeting, ""
        text = "\n\n".join([message.text, *(f"Hook: {said}" for said in (greeting, context) if said)])
        images = (part for part in message.parts if isinstance(part, Image))
        message = UserMessage((Text(text), *images), typed=message.typed)
        taken: Accepted | Err | None = None
        try:
            team = self._parts.team
            if not steer and member is team.orchestrator:
                self.prompted = self._parts.opened.store.head
                if team.settled:
                    self._parts.wired.checks.begin_run(self.prompted)
            taken = await team.mail.prompt(
                member, message, steer=steer, origin=origin, request=request, id=id
            )
        finally:
            if not isinstance(taken, Accepted):
                self._greeting = greeting  # for the next prompt
        if isinstance(taken, Err):
            raise PromptRefused(taken.kind, taken.message, taken.details)
        return taken

    async def _past_program(self, message: UserMessage) -> UserMessage:
        assert self._parts.wired.hooks.program is not None
        found = await self._parts.wired.hooks.program.before_prompt(message.text)
        if not isinstance(found, str):
            text = f"A hook of the program refused the prompt: {found.reason}"
            raise PromptRefused(ErrorKind.PERMISSION_DENIED, text)
        if found == message.text:
            return message
        images = [part for part in message.parts if isinstance(part, Image)]
        return msgspec.structs.replace(message, parts=(Text(found), *images))

    async def _open_eyes(self, member: Member) -> None:
        """Lets an agent see images that the user hands it, unless its model is known to see none."""
        agent = member.actor.agent
        model = agent.seat.model
        if model.images:
            return
        if self._providers.is_known(model):
            raise PromptRefused(
                ErrorKind.INVALID_ARGS,
                f"Model {model.label} does not accept images. Nothing was sent. Choose another model first.",
            )
        seeing = msgspec.structs.replace(model, images=True)
        await agent.use_model(self._parts.wired.seats.seat_for(seeing, agent.spec.compactor, agent.purse))

    def _known_prompts(self) -> "Prompts":
        """Read from the log when the first key is used: most sessions have none."""
        if self._prompts is None:
            from planck.headless.requests import Prompts

            self._prompts = Prompts()
            self._prompts.fold(self._parts.log.store.read())
            self._parts.log.journal.attach(self._prompts)
        return self._prompts

    async def _past_hooks(self, text: str) -> str:
        """Returns what the UserPromptSubmit hooks add to a prompt; one may refuse it.

        The SessionStart hooks run before the first prompt.
        """
        own = self._parts.wired.hooks
        first, self._greeted = not self._greeted, True
        if not own.has("SessionStart", "UserPromptSubmit"):
            return ""
        if first:
            try:
                started = await own.session_start("resume" if self._parts.opened.opened_at else "startup")
            except asyncio.CancelledError:
                self._greeted = False
                raise
            self._greeting = started.context
        verdict = await own.prompt(text)
        if verdict.blocked:
            raise PromptRefused(
                ErrorKind.PERMISSION_DENIED, f"A UserPromptSubmit hook rejected the prompt: {verdict.reason}"
            )
        return verdict.context
