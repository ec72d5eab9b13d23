"""A prompt that is refused before a model sees it."""

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks

hooks = Hooks()


class Refused(Exception): ...


@hooks.on.before_run
async def no_secrets(ctx: RunContext) -> None:
    if "password" in str(ctx.prompt):
        raise Refused


agent = Agent("openai:gpt-5", capabilities=[hooks])
for prompt in ["Say hello.", "My password is tiger."]:
    try:
        print(agent.run_sync(prompt).output)
    except Refused:
        print("refused")
