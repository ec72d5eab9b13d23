"""`planck setup`: asks for provider, key and model, tries them, and only then writes the user's files."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.streams import fit_rows, format_error
from planck.cli.tell.settings import name_key_source
from planck.records.outcome import PlanckError
from planck.records.visible import make_plain

_LOCAL, _OTHER = "local", "other"
_PROVIDERS = {
    "anthropic": "Anthropic, with an API key",
    "openai": "OpenAI, with an API key",
    "google": "Google Gemini, with an API key",
    _LOCAL: "A server on this machine: Ollama or llama.cpp",
    _OTHER: "Another server with an OpenAI-compatible API",
}
_TRIES = 3
_LISTED = 30
"""Models that are shown by number; any other can be entered by name."""


EXAMPLE = "planck setup"


def add_options(parser: argparse.ArgumentParser) -> None:
    """It asks for all that it needs."""


async def run(options: argparse.Namespace) -> int:
    return await set_up()


async def set_up() -> int:
    """Leads to a model that answers; 1 where the user gave up, and then nothing was written."""
    from planck.cli.ask.typed_line import check_terminal

    check_terminal(
        "Setup asks questions and needs a terminal. Without one, set ANTHROPIC_API_KEY (or another "
        'vendor\'s key), or run "planck auth login PROVIDER" and "planck config set default_model NAME".'
    )
    async with headless.Setup() as setup:
        setup.check_home()
        typed: dict[str, str] = {}
        for left in reversed(range(_TRIES)):
            candidate = await _ask(setup, typed)
            if candidate is None:
                break
            print(f"Testing {make_plain(candidate.label)}...", flush=True)
            tested = await setup.test(candidate)
            if tested.error is None:
                for place in setup.keep(candidate):
                    print(f"Saved: {place}")
                print(f"{make_plain(tested.model)} works. Start a conversation: planck")
                return 0
            error = tested.error
            print(fit_rows(format_error(error["kind"], error["message"]), ""))
            if left:
                print("Nothing was saved. Try again:\n")
    print(fit_rows('Nothing was saved. Run "planck demo" to see a team at work with an offline model.', ""))
    return 1


async def _ask(setup: headless.Setup, typed: dict[str, str]) -> headless.Candidate | None:
    """The user's choice; None where they left it empty, which ends the questions.

    `typed` keeps the answers, so that nothing must be entered twice after a mistake; keys are not kept.
    """
    chosen = _choose("Where is your model?", list(_PROVIDERS.values()))
    if chosen is None:
        return None
    provider = list(_PROVIDERS)[chosen]
    if provider == _LOCAL:
        return await _choose_local(setup, typed)
    if provider == _OTHER:
        return await _ask_server(setup, typed)
    known = setup.find_key(provider)
    key = "" if known else _read(f"API key for {provider} (hidden): ", hidden=True)
    if not key and not known:
        print(f"Without a key, {provider} cannot be used.\n")
        return await _ask(setup, typed)
    if known:
        print(f"Using the key from {name_key_source(known)}.")
    default = typed.get(provider) or setup.default_model(provider)
    typed[provider] = _read(f"Model [{default}]: ") or default
    return headless.Candidate(provider, typed[provider], key=key)


async def _ask_server(setup: headless.Setup, typed: dict[str, str]) -> headless.Candidate | None:
    before = typed.get("address", "")
    example = f"[{before}]" if before else "(for example localhost:8000/v1)"
    address = _read(f"Address {example}: ") or before
    if not address:
        return await _ask(setup, typed)
    typed["address"] = address = _complete(address)
    key = _read("API key (hidden, empty if none is needed): ", hidden=True)
    try:
        names = await setup.list_names(address, key)
    except PlanckError as problem:
        print(f"{fit_rows(format_error(problem.err.kind, problem.err.message), '')}\n")
        return await _ask(setup, typed)
    if names:
        print(f"{make_plain(address)} has these models:")
        for number, name in enumerate(names[:_LISTED], 1):
            print(f"  {number}  {make_plain(name)}")
        if len(names) > _LISTED:
            print(f"  … and {len(names) - _LISTED} more")
    else:
        print(f"{make_plain(address)} does not list its models.")
    default = typed.get("model") or (names[0] if len(names) == 1 else "")
    which = "Model, by number or name" if names else "Model"
    answer = _read(f"{which} [{make_plain(default)}]: " if default else f"{which}: ") or default
    if not answer:
        print("No model was entered.\n")
        return await _ask(setup, typed)
    listed = answer.isdigit() and 1 <= int(answer) <= min(len(names), _LISTED)
    typed["model"] = names[int(answer) - 1] if listed else answer
    return headless.Candidate(setup.choose_name(address), typed["model"], base_url=address, key=key)


def _complete(address: str) -> str:
    """Adds the scheme: a server on this machine or network rarely has TLS, one with a domain name does."""
    if address.startswith(("http://", "https://")):
        return address
    host = address.split("/")[0].rpartition(":")[0] or address.split("/")[0]
    near = "." not in host or host.endswith(".local") or host.strip("[]").replace(".", "").isdigit()
    whole = f"{'http' if near else 'https'}://{address}"
    print(f"Using {make_plain(whole)}")
    return whole


async def _choose_local(setup: headless.Setup, typed: dict[str, str]) -> headless.Candidate | None:
    problems: list[str] = []
    found = await setup.find_local(problems)
    for problem in problems:
        print(fit_rows(make_plain(problem), ""))
    if not found and problems:
        print()
        return await _ask(setup, typed)
    if not found:
        places = " or ".join(setup.local_addresses)
        where = f" at {places}" if places else ""
        print(fit_rows(f"No local server answers{where}. Start one, or choose another option.\n", ""))
        return await _ask(setup, typed)
    chosen = _choose("Which model?", [model.label for model in found])
    return None if chosen is None else headless.Candidate(found[chosen].provider, found[chosen].model)


def _read(prompt: str, *, hidden: bool = False) -> str:
    from planck.cli.ask.typed_line import read_line  # not for the help

    return read_line(prompt, hidden=hidden)


def _choose(question: str, choices: list[str]) -> int | None:
    print(question)
    for number, choice in enumerate(choices, 1):
        print(f"  {number}  {make_plain(choice)}")
    for _ in range(_TRIES):
        answer = _read(f"Choose 1-{len(choices)} (empty to quit): ")
        if not answer:
            return None
        if answer.isdigit() and 1 <= int(answer) <= len(choices):
            return int(answer) - 1
        print(f"Enter a number from 1 to {len(choices)}.")
    return None
