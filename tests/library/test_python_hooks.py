"""Hooks and guardrails in Python: they refuse or change tools, model calls, prompts and answers."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import planck
from planck import Hooks, ModelUse, PlanckError, Refuse, ToolUse, tool
from planck.headless import OpenSession
from planck.records.events import AssistantSaid, view
from planck.records.messages import AssistantMessage
from planck.testing import Say, ScriptedProvider
from tests.library.program import make_planck, results, started


@tool(effect="none")
def echo(text: str) -> str:
    """Repeat."""
    return text


class Seen(Hooks):
    """Changes nothing; half of its methods are async."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def before_prompt(self, text: str) -> None:
        self.seen.append(f"prompt {text}")

    async def before_model(self, use: ModelUse) -> None:
        self.seen.append(f"model {use.agent} {use.model} {len(use.messages)}")

    async def after_model(self, use: ModelUse, answer: AssistantMessage) -> None:
        self.seen.append(f"answer {answer.text}")

    def before_tool(self, use: ToolUse) -> None:
        self.seen.append(f"tool {use.agent} {use.tool} {use.args}")

    async def after_tool(self, use: ToolUse, output: str) -> None:
        self.seen.append(f"result {use.tool} {output}")

    def after_run(self, text: str) -> None:
        self.seen.append(f"run {text}")


async def test_each_hook_is_called_in_its_place(tmp_path: Path) -> None:
    seen = Seen()
    script = [[("echo", {"text": "a"})], "done"]
    async with started(tmp_path, script, tools=[echo], hooks=[seen]) as session:
        assert (await session.run("go")).text == "done"
    assert seen.seen == [
        "prompt go",
        "model orchestrator double/m 1",
        "answer ",
        "tool orchestrator echo {'text': 'a'}",
        "result echo a",
        "model orchestrator double/m 3",
        "answer done",
        "run done",
    ]


class RefuseTool(Hooks):
    def before_tool(self, use: ToolUse) -> Any:
        return Refuse("not today") if use.args["text"] == "a" else {"text": "changed"}


async def test_a_hook_refuses_a_call_or_changes_its_arguments(tmp_path: Path) -> None:
    script = [[("echo", {"text": "a"}), ("echo", {"text": "b"})], "done"]
    async with started(tmp_path, script, tools=[echo], hooks=[RefuseTool()]) as session:
        result = await session.run("go")
        refused, changed = results(session)
        assert refused.startswith("permission_denied")
        assert "not today" in refused
        assert changed.startswith("changed")
        assert [one["by"] for one in result.denials] == ["hook"]


class WrongArguments(Hooks):
    def before_tool(self, use: ToolUse) -> Any:
        return {"text": 3}


async def test_changed_arguments_are_validated(tmp_path: Path) -> None:
    script = [[("echo", {"text": "a"})], "done"]
    async with started(tmp_path, script, tools=[echo], hooks=[WrongArguments()]) as session:
        await session.run("go")
        assert results(session)[0].startswith("invalid_args")


async def test_a_hook_gives_no_right_to_a_changed_call(tmp_path: Path) -> None:
    class Elsewhere(Hooks):
        def before_tool(self, use: ToolUse) -> Any:
            return {**use.args, "path": "../outside.txt"}

    script = [[("write", {"path": "inside.txt", "content": "x"})], "done"]
    async with started(tmp_path, script, hooks=[Elsewhere()], mode="workspace") as session:
        await session.run("go")
        assert not results(session)[0].startswith("wrote")
    assert not (tmp_path / "outside.txt").exists()


class Redact(Hooks):
    def after_tool(self, use: ToolUse, output: str) -> Any:
        return Refuse("it has a key in it") if "key" in output else output.upper()


async def test_a_hook_changes_or_withholds_a_result(tmp_path: Path) -> None:
    script = [[("echo", {"text": "a"}), ("echo", {"text": "a key"})], "done"]
    async with started(tmp_path, script, tools=[echo], hooks=[Redact()]) as session:
        await session.run("go")
        changed, withheld = results(session)
        assert changed == "A"
        assert withheld.startswith("permission_denied")
        assert "a key" not in withheld.removeprefix(
            "permission_denied: the result was withheld: it has a key"
        )


class Inject(Hooks):
    def before_model(self, use: ModelUse) -> Any:
        tools = tuple(name for name in use.tools if name != "bash")
        return replace(use, system="Be brief.", tools=tools, messages=use.messages[-1:])

    def after_model(self, use: ModelUse, answer: AssistantMessage) -> Any:
        return answer.text.replace("bad", "good")


async def test_a_hook_changes_what_a_model_is_sent_and_what_it_says(tmp_path: Path) -> None:
    provider = ScriptedProvider(["a bad answer", "another"])
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start(hooks=[Inject()])
        assert (await session.run("one")).text == "a good answer"
        await session.run("two")
        asked = provider.asked[1]
        assert (asked.system, len(asked.messages)) == ("Be brief.", 1)
        assert "bash" not in asked.tools


class Hide(Hooks):
    """Offers no tool in the first step, and all in the next."""

    def __init__(self) -> None:
        self.steps = 0

    def before_model(self, use: ModelUse) -> Any:
        self.steps += 1
        return replace(use, tools=()) if self.steps == 1 else None


async def test_a_tool_that_a_hook_hides_cannot_be_called_in_that_step(tmp_path: Path) -> None:
    write: Any = [("write", {"path": "a.txt", "content": "a"}), ("list_team", {})]
    async with started(tmp_path, [write, write, "done"], hooks=[Hide()], mode="full") as session:
        await session.run("go")
        hidden = "permission_denied: {} was not run: a hook of the program refused it: it was not offered"
        for said, name in zip(results(session)[:2], ("write", "list_team"), strict=True):
            assert said.startswith(hidden.format(name))
        assert not any(said.startswith("permission_denied") for said in results(session)[2:])


@pytest.mark.parametrize("which", ["before_model", "after_model"])
async def test_a_hook_that_refuses_a_model_call_ends_the_turn(tmp_path: Path, which: str) -> None:
    hook = Hooks()
    setattr(hook, which, lambda *args: Refuse("enough"))
    async with started(tmp_path, ["done"], hooks=[hook]) as session:
        result = await session.run("go")
        assert result.status == "failed"
        assert result.errors[0]["kind"] == "permission_denied"
        assert "enough" in result.errors[0]["message"]


class Guard(Hooks):
    def before_prompt(self, text: str) -> Any:
        return Refuse("no poems") if "poem" in text else f"{text} please"


async def test_a_guardrail_refuses_or_changes_a_prompt_before_it_is_recorded(tmp_path: Path) -> None:
    provider = ScriptedProvider(["done"])
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start(hooks=[Guard()])
        before = session.head
        with pytest.raises(PlanckError, match="no poems"):
            await session.run("a poem")
        assert (session.head, provider.asked) == (before, [])
        await session.run("go")
        assert "go please" in str(provider.asked[0].messages[0])


class Check(Hooks):
    def __init__(self, *, final: bool) -> None:
        self._final = final

    def after_run(self, text: str) -> Any:
        return None if text == "right" else Refuse("say right", final=self._final)


async def test_an_answer_that_a_guardrail_refuses_is_written_again(tmp_path: Path) -> None:
    async with started(tmp_path, ["wrong", "right"], hooks=[Check(final=False)]) as session:
        result = await session.run("go")
        assert (result.status, result.text) == ("completed", "right")


@pytest.mark.parametrize("final", [True, False])
async def test_an_answer_that_a_guardrail_never_accepts_is_not_given_out(tmp_path: Path, final: bool) -> None:
    script = ["wrong", *["wrong again"] * 9]
    async with started(tmp_path, script, hooks=[Check(final=final)]) as session:
        result = await session.run("go")
        assert (result.status, result.text, result.ok) == ("failed", "", False)
        assert result.errors[-1]["kind"] == "permission_denied"


async def test_a_hook_that_raises_lets_nothing_through(tmp_path: Path) -> None:
    class Broken(Hooks):
        def before_tool(self, use: ToolUse) -> Any:
            raise ZeroDivisionError

    class Vague(Hooks):
        def before_tool(self, use: ToolUse) -> Any:
            return False

    for hook in (Broken(), Vague()):
        folder = tmp_path / type(hook).__name__
        folder.mkdir()
        ran: list[str] = []

        @tool
        def change(ran: list[str] = ran) -> str:
            ran.append("x")
            return ""

        async with started(folder, [[("change", {})], "done"], tools=[change], hooks=[hook]) as session:
            await session.run("go")
            assert results(session)[0].startswith("internal_error")
            assert ran == []


async def test_the_first_hook_that_refuses_counts_and_changes_add_up(tmp_path: Path) -> None:
    class Append(Hooks):
        def __init__(self, letter: str) -> None:
            self._letter = letter

        def before_tool(self, use: ToolUse) -> Any:
            return {"text": use.args["text"] + self._letter}

    script = [[("echo", {"text": "a"})], "done"]
    async with started(tmp_path, script, tools=[echo], hooks=[Append("b"), Append("c")]) as session:
        await session.run("go")
        assert results(session)[0].startswith("abc")


@pytest.mark.parametrize("hooks", [Hooks(), [Hooks], ["x"], 3])
async def test_what_is_not_a_list_of_hooks_is_an_error(tmp_path: Path, hooks: Any) -> None:
    async with make_planck(tmp_path, []) as p:
        with pytest.raises(PlanckError) as refused:
            await p.start(hooks=hooks)
        assert refused.value.err.kind == "invalid_args"


async def test_hooks_hold_after_a_resume_and_for_workers(tmp_path: Path) -> None:
    worker = {"type": "w", "name": "w", "description": "", "system_prompt": "Work.", "tools": ["echo"]}
    ask = {"identifier": "w", "identifier_type": "name", "question": "?"}
    lead: Any = iter([[("spawn_agent", worker)], [("ask_agent", ask)], "done"])
    work: Any = iter([[("echo", {"text": "a"})], "worked"])

    def script(request: Any) -> Any:
        return next(lead) if "spawn_agent" in {one.name for one in request.tools} else next(work)

    async with make_planck(tmp_path, script) as p:
        await (await p.start(name="mine")).aclose()
        seen = Seen()
        session = await p.resume("mine", tools=[echo], hooks=[seen])
        await session.run("go")
        assert "tool w echo {'text': 'a'}" in seen.seen
        assert any(line.startswith("model w ") for line in seen.seen)


def test_run_takes_hooks(tmp_path: Path) -> None:
    with pytest.raises(PlanckError, match="no poems"):
        planck.run(
            "a poem",
            hooks=[Guard()],
            home=tmp_path / "home",
            workspace=tmp_path,
            environ={},
            model="double/m",
            providers={"double": ScriptedProvider([])},
        )


async def test_a_result_that_no_hook_could_look_at_is_withheld(tmp_path: Path) -> None:
    class Broken(Hooks):
        def after_tool(self, use: ToolUse, output: str) -> Any:
            raise ZeroDivisionError

    script = [[("echo", {"text": "a secret"})], "done"]
    async with started(tmp_path, script, tools=[echo], hooks=[Broken()]) as session:
        assert not (await session.run("go")).ok
        [output] = results(session)
        assert output.startswith("interrupted: the call ended")
        assert "a secret" not in output


async def test_a_changed_answer_keeps_its_thoughts_before_its_text(tmp_path: Path) -> None:
    class Shout(Hooks):
        def after_model(self, use: ModelUse, answer: AssistantMessage) -> str:
            return answer.text.upper()

    said = Say(thinking="hm", text="a", calls=[("echo", {"text": "b"})])
    async with started(tmp_path, [said, "done"], tools=[echo], hooks=[Shout()]) as session:
        await session.run("go")
        facts = [view(event) for event in session.recorded()]
        first = next(fact for fact in facts if isinstance(fact, AssistantSaid))
        assert [type(part).__name__ for part in first.message.parts] == ["Thinking", "Text", "ToolCall"]
        assert first.message.text == "A"


async def test_a_tool_or_hook_cannot_wait_for_a_run_of_its_own_session(tmp_path: Path) -> None:
    sessions: list[OpenSession] = []

    @tool(effect="none")
    async def again() -> str:
        return (await sessions[0].run("again")).text

    async with started(tmp_path, [[("again", {})], "done", "later"], tools=[again]) as session:
        sessions.append(session)
        assert (await session.run("go")).text == "done"
        assert results(session)[0].startswith("deadlock")
        assert (await session.run("later")).text == "later"


async def test_a_list_that_a_hook_changes_in_place_is_validated_too(tmp_path: Path) -> None:
    @tool(effect="none")
    def add(numbers: list[int]) -> str:
        return str(numbers)

    class InPlace(Hooks):
        def before_tool(self, use: ToolUse) -> Any:
            use.args["numbers"].append("three")
            return use.args if len(use.args["numbers"]) == 3 else None

    script: Any = [[("add", {"numbers": [1, 2]}), ("add", {"numbers": [1]})], "done"]
    async with started(tmp_path, script, tools=[add], hooks=[InPlace()]) as session:
        await session.run("go")
        refused, unchanged = results(session)
        assert refused.startswith("invalid_args")
        assert unchanged == "[1]"


async def test_an_answer_of_a_type_that_is_given_again_passes_the_guardrails_too(tmp_path: Path) -> None:
    class NoSecrets(Hooks):
        def after_run(self, text: str) -> Any:
            return Refuse("no secrets", final=True) if "secret" in text else None

    script = ["no JSON", '["a secret"]']
    async with started(tmp_path, script, hooks=[NoSecrets()]) as session:
        result = await session.run("go", output_type=list[str])
        assert (result.status, result.text, result.data) == ("failed", "", None)
        assert [error["kind"] for error in result.errors] == ["permission_denied"]
