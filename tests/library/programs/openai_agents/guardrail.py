"""A prompt that is refused before a model sees it."""

from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    RunContextWrapper,
    Runner,
    TResponseInputItem,
    input_guardrail,
)


@input_guardrail(run_in_parallel=False)
def no_secrets(
    ctx: RunContextWrapper[None], agent: Agent, prompt: str | list[TResponseInputItem]
) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered="password" in str(prompt))


agent = Agent(name="Assistant", model="gpt-5", input_guardrails=[no_secrets])
for prompt in ["Say hello.", "My password is tiger."]:
    try:
        print(Runner.run_sync(agent, prompt).final_output)
    except InputGuardrailTripwireTriggered:
        print("refused")
