"""A question of an agent as a box: who, what, what a yes adds, why it asks, and what would last."""

from collections.abc import Iterator
from itertools import islice

import msgspec

from planck.cli.tell.diffs import count_changes, draw_diff, find_diff
from planck.cli.tell.styled import Line, cut, make_line, make_lines, wrap, wrap_all
from planck.records.approval import Question
from planck.records.tools import COMMAND_TOOLS
from planck.records.visible import fit_line

LINES = 12
_BAR = "│ "
_LABEL = 8
_MAX_PREVIEW = 100
"""Characters of a call's subject in the first line."""


class Box(msgspec.Struct, frozen=True):
    lines: tuple[Line, ...]
    whole: bool
    """Whether all of the call is in it: what was never seen is not approved."""
    uncut: bool
    """Whether nothing was left out, not even of a diff that can be undone."""


def draw_box(question: Question, width: int, at: int = 1, count: int = 1) -> Box:
    """At most `LINES` lines; where the call is longer, its beginning, and `whole` is false."""
    room = max(width - len(_BAR), 18)
    head = cut(_draw_head(question, at, count), width)
    facts = _list_facts(question)
    body = list(islice(_draw_body(question, room), LINES))
    left = LINES - 2 - len(facts)
    whole = len(body) <= left
    if not whole:
        hidden = f" ({count_hidden(question.hidden_lines)})" if question.hidden_lines else ""
        more = make_line(f"… more below{hidden}: press o to show all", "bold")
        body = [*body[: left - 1], cut(more, room)]
    told = _fit_facts(facts, room, LINES - 2 - len(body))
    # A diff can be taken back, a command can't: only of the second must nothing be hidden. One with lines
    # left out can't be looked through by anybody, so the whole call is shown before a yes counts.
    seen = whole or (bool(find_diff(question.preview)) and not question.hidden_lines)
    return Box((head, *_put_bar(body), *_put_bar(told), draw_keys(question, width)), seen, whole)


def _fit_facts(facts: list[Line], width: int, rows: int) -> list[Line]:
    """Each on a line at least; those that need more get it while there is room, the reason last.

    What a key allows is never hidden for the sake of why it is asked.
    """
    shown: dict[int, list[Line]] = {}
    for place in sorted(range(len(facts)), key=lambda at: facts[at][0][0].startswith("reason")):
        used = sum(map(len, shown.values()))
        most = rows - used - (len(facts) - len(shown) - 1)
        wrapped = list(islice(wrap(facts[place], width, " " * _LABEL), most + 1))
        if len(wrapped) > most:  # the last that is shown says that it goes on
            goes_on = tuple(span for span in wrapped[most] if span[0].strip())
            wrapped[most - 1 :] = [cut((*wrapped[most - 1], (" ", ""), *goes_on, (" …", "")), width)]
        shown[place] = wrapped
    return [line for place in sorted(shown) for line in shown[place]]


def draw_whole(question: Question, width: int, at: int = 1, count: int = 1) -> list[Line]:
    """Everything of the question, however long."""
    room = max(width - len(_BAR), 18)
    facts = wrap_all(_list_facts(question), room, " " * _LABEL)
    lines = [*_draw_body(question, room), *facts]
    return [*wrap(_draw_head(question, at, count), width), *_put_bar(lines), draw_keys(question, width)]


def draw_keys(question: Question, width: int) -> Line:
    if question.asks != "permission":
        yes = "y I open it" if question.url else "y fill in" if question.fields else "y yes"
        return cut(((f"╰ {yes} · n decline · o show all", "bold"),), width)
    lasting = "s session · a always · " if question.rule else ""
    wide = question.rule == question.wider
    wider = f"w {'narrow' if wide else 'widen'} the rule · " if question.wider else ""
    once = "y add the folder" if question.folder else "y once"
    text = f"╰ {once} · {lasting}{wider}n deny · e say what to change · o show all"
    if len(text) > width:
        text = f"╰ {once} · {lasting}{wider.replace(' the rule', '')}n deny · e change · o show all"
    if len(text) > width:
        text = f"╰ {' '.join(list_keys(question)[:-3])} yes · n no · e change · o all"
    return cut(((text, "bold"),), width)


def list_keys(question: Question) -> str:
    """The keys that answer it; where nothing could last, `s` and `a` are none, nor is `w` always one."""
    if question.asks != "permission":
        return "yno"
    return f"y{'sa' * bool(question.rule)}{'w' * bool(question.wider)}neo"


def count_hidden(lines: int) -> str:
    """Says how much a diff leaves out."""
    return f"{lines:,} {'line' if lines == 1 else 'lines'} not shown in this diff"


def describe_subject(question: Question) -> str:
    """`edit prices.py +1 -1`, or the tool's name: what it is about, in a few words."""
    if question.asks != "permission":
        return "open a page" if question.url else "fill in a form" if question.fields else "yes or no"
    diff = find_diff(question.preview)
    if not diff:
        return f"{question.tool} in {question.folder}" if question.folder else question.tool
    names = [row[4:] for row in diff.split("\n", 2)[:2]]
    path = names[1].removeprefix("b/") if names[1] != "/dev/null" else names[0].removeprefix("a/")
    return f"{question.tool} {path} {count_changes(diff)}"


def name_call(question: Question) -> str:
    """The same with the command, for where the box is not seen."""
    if question.tool not in COMMAND_TOOLS:
        return describe_subject(question)
    first, more, _ = question.text.partition("\n")
    return f"{question.tool} {first}{' …' if more else ''}"


def _draw_head(question: Question, at: int, count: int) -> Line:
    number = f"[{at}/{count}] " if count > 1 else ""
    what = fit_line(describe_subject(question), _MAX_PREVIEW)
    return (("▲ ", "yellow"), (f"{number}{fit_line(question.agent)} asks: {what}", "yellow bold"))


def _draw_body(question: Question, width: int) -> Iterator[Line]:
    if diff := find_diff(question.preview):
        lines = draw_diff(diff, most=len(diff), indent="")
        if question.hidden_lines:
            lines.append(make_line(f"{count_hidden(question.hidden_lines)}; the whole call:", "bold"))
            lines += make_lines(question.text)
    elif question.asks != "permission":
        from planck.cli.ask.form import list_rows  # few servers ask

        lines = [*make_lines(question.text, "bold"), *(make_line(row) for row in list_rows(question))]
    else:
        lines = make_lines(question.text, "bold")
        if question.preview_failed:
            lines += make_lines(question.preview, "yellow")
    return wrap_all(lines, width, "  ")


def _list_facts(question: Question) -> list[Line]:
    facts: list[Line] = [_fact("effect", question.adds), _fact("reason", question.reason)]
    if question.rule:
        facts.append(_fact("s", f"Allow {question.rule} for this session (this agent only)"))
        facts.append(_fact("a", f"Always allow {question.rule} in this project (saved in {question.place})"))
    return facts


def _fact(label: str, text: str) -> Line:
    return ((f"{label:<{_LABEL}}", "dim"), (fit_line(text), ""))


def _put_bar(lines: list[Line]) -> list[Line]:
    return [((_BAR, "yellow"), *line) for line in lines]
