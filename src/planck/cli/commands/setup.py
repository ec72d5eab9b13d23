"""`planck setup`: asks for provider, key and model, tries them, and only then writes the user's files."""

from __future__ import annotations

import argparse
from getpass import getpass

from planck import headless
from planck.cli.commands.auth import name_source
from planck.cli.streams import format_error
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
        for left in reversed(range(_TRIES)):
            candidate = await _ask(setup)
            if candidate is None:
                break
            print(f"Testing {make_plain(candidate.label)}...", flush=True)
            tested = await setup.test(candidate)
            if tested.error is None:
                for place in setup.keep(candidate):
                    print(f"Saved: {place}")
                print(f'{make_plain(tested.model)} works. Try it: planck run "what is in this folder?"')
                return 0
            error = tested.error
            print(format_error(error["kind"], error["message"]))
            if left:
                print("Nothing was saved. Try again:\n")
    print('Nothing was saved. Run "planck demo" to see a team at work with an offline model.')
    return 1


async def _ask(setup: headless.Setup) -> headless.Candidate | None:
    """The user's choice; None where they left it empty, which ends the questions."""
    chosen = _choose("Where is your model?", list(_PROVIDERS.values()))
    if chosen is None:
        return None
    provider = list(_PROVIDERS)[chosen]
    if provider == _LOCAL:
        return await _choose_local(setup)
    if provider == _OTHER:
        address = _read("Address (for example http://host:port/v1): ")
        while address and not address.startswith(("http://", "https://")):
            address = _read("The address must start with http:// or https://. Address: ")
        model = _read("Model: ") if address else ""
        if not model:
            return None
        key = getpass("API key (empty if none is needed): ")
        return headless.Candidate(setup.choose_name(address), model, base_url=address, key=key)
    known = setup.find_key(provider)
    key = "" if known else getpass(f"API key for {provider} (hidden): ").strip()
    if not key and not known:
        return None
    if known:
        print(f"Using the key from {name_source(known)}.")
    default = setup.default_model(provider)
    return headless.Candidate(provider, _read(f"Model [{default}]: ") or default, key=key)


async def _choose_local(setup: headless.Setup) -> headless.Candidate | None:
    problems: list[str] = []
    found = await setup.find_local(problems)
    for problem in problems:
        print(make_plain(problem))
    if not found and problems:
        print()
        return await _ask(setup)
    if not found:
        places = " or ".join(setup.local_addresses)
        where = f" at {places}" if places else ""
        print(f"No local server answers{where}. Start one, or choose another option.\n")
        return await _ask(setup)
    chosen = _choose("Which model?", [model.label for model in found])
    return None if chosen is None else headless.Candidate(found[chosen].provider, found[chosen].model)


def _read(question: str) -> str:
    """What is typed; nothing where the input ends."""
    try:
        return input(question).strip()
    except EOFError:
        return ""


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
    return None
