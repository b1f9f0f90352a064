"""Invented conversations, and faults that are put into them one at a time.

Domains, languages, error words and cut marks differ from every set that the detectors were
looked at with.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.analyzers.scripts import Script
from tests.analyzers.wire import Ask, Call, Got, Said, Say, User, grown, lines

Json = Any
SMALL = json.dumps({"type": "object", "properties": {"q": {"type": "string"}}})
SCHEMA = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "mode": {"type": "string", "enum": ["short", "full"]},
    },
    "required": ["q"],
}


@dataclass(frozen=True)
class Faulty:
    """A log with one fault."""

    log: list[Json]
    turn: int
    codes: frozenset[str]
    """Any of these names the fault."""
    window: int | None = None


Fault = Callable[[str, Script], "Faulty | None"]
FAULTS: dict[str, Fault] = {}


def clean(surface: str, script: Script) -> list[Json]:
    """The log of the conversation as it is."""
    return spelled(surface, script.calls())


def spelled(surface: str, calls: Sequence[Call]) -> list[Json]:
    return json.loads(json.dumps(lines(surface, calls)).replace(SMALL, json.dumps(SCHEMA)))


def fault(make: Fault) -> Fault:
    FAULTS[make.__name__] = make
    return make


def at(calls: Sequence[Call], turn: int, **changed: Any) -> list[Call]:
    """The calls with one of them changed."""
    return [replace(c, **changed) if n == turn else c for n, c in enumerate(calls, 1)]


def since(calls: Sequence[Call], turn: int, change: Callable[[Call], Call]) -> list[Call]:
    """The calls, changed from `turn` on."""
    return [change(c) if n >= turn else c for n, c in enumerate(calls, 1)]


def results(calls: Sequence[Call]) -> list[tuple[int, int]]:
    """(turn that shows it first, index in what was said) of every tool result."""
    last = calls[-1].said
    return [
        (next(n for n, call in enumerate(calls, 1) if len(call.said) > index), index)
        for index, said in enumerate(last)
        if isinstance(said, Got)
    ]


def with_said(call: Call, index: int, said: Sequence[Said]) -> Call:
    """The call with the entry at `index` replaced by others, where it has one."""
    if len(call.said) <= index:
        return call
    return replace(call, said=(*call.said[:index], *said, *call.said[index + 1 :]))


ERRORS = (
    "EHOSTUNREACH: ledger-3",
    "Error [ERR_CLOSED]: the scanner was switched off",
    '{"ok": false, "reason": "shard is rebalancing"}',
    '{"error": {"type": "capacity", "message": "no worker is free"}}',
    "Die Anfrage ist fehlgeschlagen (Zeitüberschreitung).",
    "Acceso denegado",
    "HTTP 504 Gateway Timeout",
    "read: connection reset",
    "The registry is temporarily unavailable, try again later.",
    "Traceback (most recent call last):\n  File \"/srv/t.py\", line 8, in run\n    go()\nKeyError: 'id'",
    '<error code="E17">lock not acquired</error>',
    '{"exit_code": 3, "stdout": "", "stderr": "cannot allocate a channel"}',
    "サービスを利用できません",
    "Le service est indisponible",
    "{'success': False, 'message': 'stale session'}",
    "permission denied: archive/1911",
)


@fault
def failed_result(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    turn, index = results(calls)[len(surface) % 3]
    got = calls[-1].said[index]
    assert isinstance(got, Got)
    text = ERRORS[(len(surface) * 7 + len(script.name) * 3) % len(ERRORS)]
    bad = since(calls, turn, lambda c: with_said(c, index, [replace(got, text=text)]))
    return Faulty(spelled(surface, bad), turn, frozenset(("tool_error",)))


@fault
def looping(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    turn, index = results(calls)[1]
    ask, got = calls[-1].said[index - 1 : index + 1]
    assert isinstance(ask, Ask)
    assert isinstance(got, Got)
    extra: list[Said] = []
    for n in range(2):
        extra += [replace(ask, id=f"again{n}"), replace(got, id=f"again{n}")]
    said = (*script.said[: index + 1], *extra, *script.said[index + 1 :])
    looped = grown(said, system=script.system, tools=script.tools)
    return Faulty(spelled(surface, looped), turn + 1, frozenset(("tool_loop",)))


BAD_ARGUMENTS: tuple[dict[str, Json], ...] = (
    {"q": 17},
    {"q": ["a", "b"]},
    {"limit": 3},
    {"q": "x", "limit": "many"},
    {"q": "x", "limit": 0},
    {"q": "x", "mode": "brief"},
    {"q": {"text": "x"}},
)


@fault
def wrong_arguments(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    turn = 3
    args = BAD_ARGUMENTS[(len(surface) + len(script.name)) % len(BAD_ARGUMENTS)]
    ask = Ask("bad", script.tools[0], tuple(args.items()))
    bad = at(calls, turn, answer=(ask,))[:turn]
    return Faulty(spelled(surface, bad), turn, frozenset(("tool_arguments_invalid",)))


@fault
def unknown_tool(surface: str, script: Script) -> Faulty:
    ask = Ask("new", "archive_everything", (("q", "x"),))
    bad = at(script.calls(), 4, answer=(ask,))[:4]
    return Faulty(spelled(surface, bad), 4, frozenset(("tool_unknown",)))


@fault
def missing_tool(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    used = [said.name for said in calls[4].said if isinstance(said, Ask)]
    left = tuple(name for name in script.tools if name != used[0])
    bad = since(calls, 5, lambda c: replace(c, tools=left))
    if len(surface) % 2:
        bad = at(bad, 5, answer=(Ask("need", used[0], (("q", "x"),)),))[:5]
    return Faulty(spelled(surface, bad), 5, frozenset(("tool_missing",)))


@fault
def added_tool(surface: str, script: Script) -> Faulty:
    bad = since(script.calls(), 4, lambda c: replace(c, tools=(*c.tools, "moon_phase")))
    return Faulty(spelled(surface, bad), 4, frozenset(("tools_changed", "cache_break")))


@fault
def reworded_tool(surface: str, script: Script) -> Faulty:
    log = clean(surface, script)
    old = f"Uses {script.tools[1]}."
    for line in log[3:]:
        line["request"] = json.loads(
            json.dumps(line["request"]).replace(old, f"{old} Ask the lead before you do.")
        )
    return Faulty(log, 4, frozenset(("tools_changed",)))


@fault
def reordered_tools(surface: str, script: Script) -> Faulty:
    bad = since(script.calls(), 5, lambda c: replace(c, tools=tuple(reversed(c.tools))))
    return Faulty(spelled(surface, bad), 5, frozenset(("tools_reordered", "tools_changed")))


@fault
def other_rule(surface: str, script: Script) -> Faulty:
    words = {"clinic": ("18:00", "16:00"), "depot": ("480.000", "430.000")}
    old, new = words.get(script.name, (". ", ", unless it is urgent. "))
    other = script.system.replace(old, new, 1)
    bad = since(script.calls(), 5, lambda c: replace(c, system=other))
    return Faulty(spelled(surface, bad), 5, frozenset(("system_changed",)))


@fault
def clock_in_system(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    bad = [
        replace(c, system=f"{c.system} It is {'07:42' if n >= 4 else '07:15'}.")
        for n, c in enumerate(calls, 1)
    ]
    return Faulty(spelled(surface, bad), 4, frozenset(("system_changed",)))


@fault
def lost_pair(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    _turn, index = results(calls)[0]
    bad = since(calls, 5, lambda c: replace(c, said=(*c.said[: index - 1], *c.said[index + 1 :])))
    return Faulty(spelled(surface, bad), 5, frozenset(("context_evicted",)))


@fault
def lost_message(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    index = next(n for n, said in enumerate(script.said) if n and isinstance(said, User))
    bad = since(calls, 6, lambda c: replace(c, said=(*c.said[:index], *c.said[index + 1 :])))
    return Faulty(spelled(surface, bad), 6, frozenset(("context_evicted",)))


@fault
def trimmed_front(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    users = [n for n, said in enumerate(script.said) if isinstance(said, User)]
    bad = since(calls, 7, lambda c: replace(c, said=c.said[users[2] :]))
    return Faulty(spelled(surface, bad), 7, frozenset(("context_evicted",)))


@fault
def altered_fact(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    _turn, index = results(calls)[0]
    got = calls[-1].said[index]
    assert isinstance(got, Got)
    facts = {
        "clinic": ("15:40", "18:40"),
        "depot": ("466.120", "366.120"),
        "compiler": ("0.0312", "0.0299"),
        "archivo": ("1926", "1962"),
        "support": ("88120", "88102"),
    }
    text = got.text.replace(*facts[script.name])
    bad = since(calls, 5, lambda c: with_said(c, index, [replace(got, text=text)]))
    return Faulty(spelled(surface, bad), 5, frozenset(("context_edited",)))


@fault
def blacked_out(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    users = [n for n, said in enumerate(script.said) if isinstance(said, User)]
    said = script.said[users[1]]
    assert isinstance(said, User)
    first = said.text.split()[0]
    text = said.text.replace(first, "█████", 1)
    bad = since(calls, 6, lambda c: with_said(c, users[1], [User(text)]))
    return Faulty(spelled(surface, bad), 6, frozenset(("context_edited",)))


SUMMARIES = (
    "[Earlier conversation, condensed] {0}",
    "Zusammenfassung des bisherigen Gesprächs: {0}",
    "<context_summary>{0}</context_summary>",
    "Here is what happened so far. {0}",
    "Resumen de lo anterior: {0}",
)


@fault
def compacted(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    users = [n for n, said in enumerate(script.said) if isinstance(said, User)]
    gist = " ".join(s.text for s in script.said[: users[3]] if isinstance(s, User | Say))
    words = gist.split()
    gist = " ".join(words[: len(words) // 2])
    text = SUMMARIES[(len(surface) + len(script.name)) % len(SUMMARIES)].format(gist)
    bad = since(calls, 7, lambda c: replace(c, said=(User(text), *c.said[users[3] :])))
    return Faulty(spelled(surface, bad), 7, frozenset(("context_compacted",)))


MARKS = (" …[cut, 212 more]", "\n--- output omitted ---", " [...]", "", "\n(gekürzt)", " <snip>")


@fault
def cut_later(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    seen = [found for found in results(calls) if found[0] < 6]
    _, index = max(seen, key=lambda found: len(_text(calls, found[1])))
    got = calls[-1].said[index]
    assert isinstance(got, Got)
    mark = MARKS[(len(surface) + len(script.name)) % len(MARKS)]
    short = replace(got, text=got.text[: len(got.text) * 2 // 5] + mark)
    bad = since(calls, 6, lambda c: with_said(c, index, [short]))
    return Faulty(spelled(surface, bad), 6, frozenset(("tool_result_truncated",)))


@fault
def cut_when_new(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    turn, index = max(results(calls)[:3], key=lambda found: len(_text(calls, found[1])))
    got = calls[-1].said[index]
    assert isinstance(got, Got)
    marks = (
        " …[truncated, 212 more chars]",
        "\n[output truncated]",
        "... (319 characters omitted)",
    )
    mark = marks[(len(surface) + len(script.name)) % len(marks)]
    short = replace(got, text=got.text[: len(got.text) * 2 // 5] + mark)
    bad = since(calls, turn, lambda c: with_said(c, index, [short]))
    return Faulty(spelled(surface, bad), turn, frozenset(("tool_result_truncated",)))


@fault
def lost_result(surface: str, script: Script) -> Faulty | None:
    if surface == "gemini.generate_content":
        return None  # calls and results without ids
    calls = script.calls()
    _, index = results(calls)[0]
    bad = since(calls, 5, lambda c: replace(c, said=(*c.said[:index], *c.said[index + 1 :])))
    return Faulty(spelled(surface, bad), 5, frozenset(("orphan_tool_call", "context_evicted")))


@fault
def lost_call(surface: str, script: Script) -> Faulty | None:
    if surface == "gemini.generate_content":
        return None
    calls = script.calls()
    _, index = results(calls)[0]
    bad = since(calls, 5, lambda c: replace(c, said=(*c.said[: index - 1], *c.said[index:])))
    words = "tool results must follow the message that asked for them"
    refused = {"type": "invalid_request_error", "status": 400, "message": words}
    bad = at(bad, 5, answer=None, error=refused)[:5]
    return Faulty(spelled(surface, bad), 5, frozenset(("orphan_tool_result",)))


@fault
def said_twice(surface: str, script: Script) -> Faulty:
    calls = script.calls()
    users = [n for n, said in enumerate(script.said) if isinstance(said, User)][1:5]
    index = max(users, key=lambda n: len(script.said[n].text))  # type: ignore[union-attr]
    turn = next(n for n, call in enumerate(calls, 1) if len(call.said) > index)
    bad = since(calls, turn, lambda c: replace(c, said=(*c.said[: index + 1], *c.said[index:])))
    return Faulty(spelled(surface, bad), turn, frozenset(("duplicate_context",)))


def _text(calls: Sequence[Call], index: int) -> str:
    got = calls[-1].said[index]
    assert isinstance(got, Got)
    return got.text
