"""Commands about what this place allows: trust, folders, configuration, hooks, keys, and what works here."""

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from planck.cli.chat.intent import suggest
from planck.cli.tell.blocks import Told, say, say_rows
from planck.cli.tell.settings import MARKS, name_key_source, name_value_source, tell_variable
from planck.cli.tell.styled import make_lines
from planck.records.visible import make_plain, spell_out

if TYPE_CHECKING:
    from planck.cli.chat.talk import Talk


async def run_trust(talk: "Talk", rest: str) -> None:
    """Trusts exactly what was listed: a file that changes while the question is open ends the trust."""
    from planck.cli.ask.trust import KEYS, describe_trust, offer_trust

    trust = talk.planck.trust
    state = await asyncio.to_thread(trust.examine)
    if state.trusted:
        say(talk.frontend, "This folder is already trusted.")
        return
    if not state.content.runs:
        say(talk.frontend, "This folder has no files that need to be trusted.")
        return
    if rest not in ("", "yes"):
        say(talk.frontend, "Usage: /trust", "yellow")
        return
    say(talk.frontend, "\n".join(describe_trust(state)))
    if talk.frontend.live:
        key = await talk.frontend.confirm(offer_trust(state, once=False), KEYS)
        if key != "y":
            say(talk.frontend, "Not trusted. Nothing of this folder runs.")
            return
    elif rest != "yes":
        say(talk.frontend, "Send /trust yes to trust exactly these files, until one of them changes.")
        return
    trust.give(state.content)
    talk.planck.resources.refresh()
    if not talk.planck.resources.loaded.trusted:
        say(talk.frontend, "Not trusted: the files changed meanwhile. Use /trust to look at them.", "yellow")
        return
    say(talk.frontend, "Trusted, until one of these files changes.")
    say(
        talk.frontend,
        "Tools, hooks and teams count from your next message on; MCP servers and sidecars start with the "
        "next planck.",
        "dim",
    )


async def run_add_dir(talk: "Talk", rest: str) -> None:
    if not rest:
        workspace, *added = talk.session.folders
        say_rows(talk.frontend, [f"{workspace}  (workspace)", *added])
        say(talk.frontend, "/add-dir FOLDER lets agents also work in another folder.", "dim")
        return
    added_folder = await talk.session.add_folder(rest)
    if not added_folder:
        say(talk.frontend, f"Agents already work in {make_plain(rest)}.")
        return
    say(talk.frontend, f"Added for this session: {make_plain(added_folder)}")


async def run_config(talk: "Talk", rest: str) -> None:
    from planck.headless import explain_config

    talk.planck.resources.refresh()
    origins = explain_config(talk.planck.resources.loaded, rest, defaults=False)
    if not rest:  # what nobody has set is in the reference
        origins = [origin for origin in origins if origin.source != "built-in"]
    for origin in origins:
        value = json.dumps(origin.value, ensure_ascii=False)
        say(talk.frontend, make_plain(f"{origin.key} = {value}  (from {name_value_source(origin.source)})"))
        if rest:
            say(talk.frontend, f"  {origin.description}", "dim")
    if not origins:
        say(talk.frontend, "Every value is the built-in default.")
    if not rest:
        say(
            talk.frontend,
            '/config KEY explains one value. To change one, run "planck config set KEY VALUE".',
            "dim",
        )


async def run_hooks(talk: "Talk", rest: str) -> None:
    from planck.headless import read_hooks

    talk.planck.resources.refresh()
    hooks, problems = read_hooks(talk.planck.config.hooks)
    for event, found in hooks.items():
        for hook in found:
            matcher = f" {hook.matcher}" if hook.matcher else ""
            say(talk.frontend, spell_out(f"{event}{matcher}: {hook.command}"))
    for problem in problems:
        say(talk.frontend, make_plain(problem), "yellow")
    for line in talk.planck.list_ignored_hooks():
        say(talk.frontend, make_plain(line), "yellow")
    if not hooks:
        say(talk.frontend, "No hooks. Add them under `hooks` in your configuration.")
    if not talk.planck.resources.loaded.trusted and talk.planck.trust.state.content.runs:
        say(talk.frontend, "Hooks of this folder do not run until you trust it: /trust", "dim")


async def run_doctor(talk: "Talk", rest: str) -> None:
    from planck.headless import run_checks

    say(talk.frontend, "Checking, and asking the model for one word...", "dim")
    for check in await run_checks(talk.planck.project):
        mark, style = MARKS[check.state]
        first, *more = make_lines(f"{check.name}: {make_plain(check.detail)}")
        advice = make_lines(make_plain(check.advice), "", "    ") if check.advice else []
        talk.frontend.show(Told((((f"{mark} ", style), *first), *more, *advice), wraps=True))


async def run_login(talk: "Talk", rest: str) -> None:
    from planck.headless import ModelError

    auth, frontend = talk.planck.auth, talk.frontend
    rows = {row["provider"]: row for row in auth.status() if row["has_api_key"]}
    if not rest:
        for name, row in rows.items():
            state = f"key from {name_key_source(row['source'])}" if row["authenticated"] else "no key"
            say(frontend, make_plain(f"{name}  {state}"))
        say(frontend, "/login PROVIDER stores a key, or signs you in.", "dim")
        return
    if rest not in rows:
        with suppress(ModelError):  # nobody knows such a provider
            auth.check_takes_key(rest)
        say(
            frontend,
            f"Unknown provider {rest!r}.{suggest(rest, rows)} Providers: {', '.join(rows)}.",
            "yellow",
        )
        return
    if auth.uses_device_code(rest):

        def show(address: str, code: str) -> None:
            say(frontend, make_plain(f"Open {address} and enter the code {code}"), "bold")

        await auth.sign_in(rest, show)
    else:
        key = await frontend.read_hidden(f"API key for {rest} (hidden, empty to cancel): ")
        if key is None:
            say(frontend, f'A key needs a terminal. Run "planck auth login {rest}".', "yellow")
            return
        if not key:
            say(frontend, "Nothing was stored.")
            return
        auth.store_key(rest, key)
    told = tell_variable(auth.status(), rest)
    say(frontend, f"Signed in to {rest}.{'' if told else ' The next request uses it.'}")
    if told:
        say(frontend, told, "yellow")
