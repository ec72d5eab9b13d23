"""Completions: commands, files and agents, and the list that is shown of them."""

import asyncio
from pathlib import Path

from planck.cli.screen.completion import Choice, Files, Menu, Words
from planck.headless import attach, walk


async def texts(completer: Files | Words, before: str) -> list[str]:
    return [choice.text for choice in await completer.complete(before)]


async def test_words_stand_behind_their_mark_only() -> None:
    words = Words("/", lambda: [("compact", "shorter"), ("cost", ""), ("Exit", "")])
    assert await texts(words, "/co") == ["compact ", "cost "]
    assert await texts(words, "/e") == ["Exit "]
    assert await texts(words, "a /co") == []
    assert await texts(words, "/cost x") == []
    assert await texts(words, "/") == ["compact ", "cost ", "Exit "]


async def test_files_honour_gitignore_and_come_by_their_names_first(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    for name in (
        "src/parser.py",
        "src/deep/parse.md",
        "build/parser.o",
        "parser.log",
        "docs/how to parse.md",
        "other",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = Files(tmp_path, walk, lambda: [("builder", "worker")])
    assert await texts(files, "see @pars") == [
        "src/deep/parse.md ",
        "src/parser.py ",
        '"docs/how to parse.md" ',
    ]
    assert await texts(files, "@b") == ["builder "]
    assert await texts(files, "mail a@pars") == []
    assert await texts(files, "@parser and") == []
    assert await files.complete("x @src/d") == [Choice(3, "src/deep/parse.md ")]


async def test_a_path_with_blanks_is_completed_in_the_quotes_that_a_message_needs(tmp_path: Path) -> None:
    names = ("my notes.txt", 'a "b" c.txt', "it's.txt", "'quoted.txt")
    for name in names:
        (tmp_path / name).write_text(name)
    files = Files(tmp_path, walk)
    for typed, name in (("my", names[0]), ('"my no', names[0]), ("'my no", names[0]), ("a", names[1])):
        (choice,) = await files.complete(f"see @{typed}")
        assert choice.start == 5
        assert attach(f"see @{choice.text}", tmp_path).text.count(name) == 3, choice
    assert await texts(files, "@it") == ["it's.txt "]
    assert await texts(files, "@'quo") == ['"\'quoted.txt" ']
    assert await texts(files, '@"my notes.txt" and') == []


async def test_a_walk_that_takes_long_holds_nobody_up_and_happens_once(tmp_path: Path) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    walks = 0

    def slow(root: str) -> list[str]:
        nonlocal walks
        walks += 1
        loop.call_soon_threadsafe(began.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()
        return [f"{root}/file{n}" for n in range(300_000)]

    files = Files(tmp_path, slow)
    first = asyncio.ensure_future(files.complete("@f"))
    await began.wait()  # and this test goes on
    first.cancel()
    second = asyncio.ensure_future(files.complete("@file29"))
    await asyncio.sleep(0)
    go_on.set()
    assert len(await second) == 50
    assert len(await files.complete("@file")) == 50
    assert walks == 1


def test_a_list_shows_a_window_of_many() -> None:
    menu = Menu()
    menu.offer([Choice(0, f"choice{n} ", "about") for n in range(20)])
    assert menu.first.text == "choice0 "
    assert len(menu.lines(40)) == 6
    for _ in range(11):
        menu.move(1)
    assert menu.chosen is not None
    assert menu.chosen.text == "choice10 "
    assert any("→ " in part for line in menu.lines(40) for part, _ in line)


def test_a_list_that_was_cut_says_so_and_not_how_many_there_are() -> None:
    menu = Menu()
    for count, words in ((49, "49 matches"), (50, "first 50 matches")):
        menu.offer([Choice(0, f"choice{n} ", "") for n in range(count)])
        assert menu.lines(60)[-1][-1][0].strip() == words
