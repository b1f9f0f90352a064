"""Whether a tool's result reports a failure, by general signs of its form.

What talks about failures is none: a document, a log, source code, a search hit, a record of
something that failed, a test report. In doubt the answer is no.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxdiff_analyzers.failures import heads, prose, tongues, words
from ctxdiff_analyzers.failures.fields import (
    EDGE,
    ENVELOPE,
    FINE_KEYS,
    PAYLOAD,
    SAYING,
    UNSAID,
    Rule,
    field_rule,
    is_fine,
    plain,
)

SHORT_CHARS, SHORT_LINES, SHORT_WORDS = 400, 5, 30
"""Up to here a text may be an error message as a whole."""
DEEPEST = 3
"""Wrappers (`{"result": {"output": ...}}`) that are opened."""
LONGEST_JSON = 2_000_000
"""Code points of JSON that are parsed; a longer text is content."""

_PAIR = re.compile(r"\s{0,8}([\w .-]{1,30}?)\s{0,3}[:=]\s{0,3}(\S.{0,300})")
MOST_PAIRS = 8
_PROGRAM = re.compile(r"^[\w./-]{1,40}: (?:\(\d+\) )?")
"""The name of the program that speaks: `curl: (7) `."""
_SENTENCE_END = re.compile(r"(?<=[^\s.][.!?])\s+(?=\S{2})|[。！？]")  # noqa: RUF001
_QUOTED = re.compile(r"»[^«]*«|«[^»]*»|„[^“”]*[“”]|“[^”]*”|'[^']*'|\"[^\"]*\"|`[^`]*`|\S*[/\\]\S*")
"""Names and paths, whose words say nothing of how it went."""
MOST_BEFORE = 8
"""Words in front of what went wrong, at most."""
MOST_TOLD = 18
"""Words of a message in another tongue, at most."""
MOST_TAIL = 300
"""Code points of a last line that is an error message."""
_DOCUMENT = ("# ", "## ", "### ", "#### ", "<", "- ", "* ", "• ", "$ ", ">>> ", "@", "|", "=")
_HEADING = re.compile(r"^#{1,6} |^<h\d", re.MULTILINE)
_SIGNS = re.compile(r"^[^\w\[<]{1,4}(?<!#)(?<!/)(?<!-)(?<!\*)\s")
_NUMBERED = re.compile(r"[a-z][\w.-]{1,20}: \(\d{1,4}\) ")
_TO_COLON = re.compile(r"^[^\n:：\]]{1,80}[:：\]]\s*(?:\(\d+\)\s*)?")  # noqa: RUF001
_LEADING = re.compile(r"^[^\w<({\[*$/¿¡]+")


@dataclass(frozen=True, slots=True)
class Failure:
    """A result that reports a failure."""

    rule: Rule
    said: str
    """The words in which it does. Captured text."""


def failure(content: Any, echoed: frozenset[str] = frozenset()) -> Failure | None:
    """The failure that a result's content reports, or None.

    Args:
        content: a text, or what JSON can spell.
        echoed: names of the call's arguments, which a failure may repeat.
    """
    return _of_value(content, frozenset(map(plain, echoed)), 0)


def words_of(content: Any) -> str:
    """A short account of a result that said by itself that it failed. Captured text."""
    found = failure(content)
    if found is not None:
        return found.said
    if isinstance(content, str):
        return content[:SHORT_CHARS]
    return json.dumps(content, ensure_ascii=False)[:SHORT_CHARS] if content is not None else ""


def _of_value(value: Any, echoed: frozenset[str], depth: int) -> Failure | None:
    if isinstance(value, str):
        return _of_text(value, echoed, depth)
    if depth > DEEPEST:
        return None
    if isinstance(value, Mapping):
        return _of_object(value, echoed, depth)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
        only = value[0]
        inner = only.get("text") if only.get("type") == "text" else only
        return _of_value(inner, echoed, depth + 1)
    return None


def _of_object(value: Mapping[str, Any], echoed: frozenset[str], depth: int) -> Failure | None:
    held = {plain(key): inner for key, inner in value.items()}
    said = {key for key, inner in held.items() if _is_there(inner)}
    foreign = said - ENVELOPE - echoed
    foreign |= {key for key in said & PAYLOAD if isinstance(held[key], (list, Mapping))}
    found = field_rule(held, said, foreign)
    if found is not None:
        return Failure(found, _told(held, value))
    told = said - FINE_KEYS if _went_well(held) else said
    if not foreign and "message" in told and not _went_well(held):
        inner = _of_value(held["message"], echoed, depth + 1)
        if inner is not None:
            return inner
    if len(told) == 1:
        (key,) = told
        if key in PAYLOAD or key in SAYING or key in ("response", "text", "value"):
            return _of_value(held[key], echoed, depth + 1)
    return None


def _went_well(held: Mapping[str, Any]) -> bool:
    return any(is_fine(key, inner) for key, inner in held.items())


def _is_there(value: Any) -> bool:
    return value not in (None, "", [], {}, False) or value is True


def _told(held: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    for key in ("error", "errormessage", "message", "msg", "detail", "stderr", "reason", "errors"):
        told = held.get(key)
        if isinstance(told, Mapping):
            told = told.get("message") or told.get("msg") or told
        if isinstance(told, str) and told.strip() and plain(told) not in UNSAID:
            return told.strip()[:SHORT_CHARS]
    return json.dumps(value, ensure_ascii=False)[:SHORT_CHARS]


def _of_text(text: str, echoed: frozenset[str], depth: int) -> Failure | None:
    bare = text.strip()
    if not bare:
        return None
    if bare[0] in '{["' and depth <= DEEPEST and len(bare) <= LONGEST_JSON:
        try:
            value = json.loads(bare)
        except (ValueError, RecursionError):
            value = None
        if value is None and bare.startswith("{'") and len(bare) <= EDGE:
            value = _literal(bare)
        if value is not None and value != text:
            return _of_value(value, echoed, depth + 1)
    if depth <= DEEPEST and (pairs := _pairs(bare)):
        found = _of_object(pairs, echoed, depth + 1)
        if found is not None:
            return Failure(found.rule, bare[:SHORT_CHARS])
    rule = _rule_of(bare)
    return None if rule is None else Failure(rule, _message(bare, rule))


def _pairs(bare: str) -> dict[str, Any]:
    """A few lines of `key: value` as an object; empty for any other text."""
    if len(bare) > SHORT_CHARS or not 1 <= bare.count("\n") <= MOST_PAIRS:
        return {}
    found = [_PAIR.fullmatch(line) for line in bare.splitlines() if line.strip()]
    pairs = {one[1]: one[2] for one in found if one is not None}
    if len(pairs) != len(found):
        return {}
    return {k: int(v) if v.isascii() and v.isdecimal() else v for k, v in pairs.items()}


def _literal(bare: str) -> Any:
    """A dictionary as Python prints it, which is how many tools give one back."""
    try:
        return ast.literal_eval(bare)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _rule_of(bare: str) -> Rule | None:
    lines = bare[:EDGE].splitlines()
    # What has been read to the end of a first part is not known to be whole.
    whole = len(bare) <= EDGE
    if heads.PROGRAM_CODE.match(bare):
        return "head"
    if _is_listing(lines):
        return None
    tag = heads.TAG.match(bare)
    title = heads.ERROR_PAGE.search(bare[:EDGE])
    plain = _LEADING.sub("", bare[: EDGE + 50])[:EDGE]
    is_page = title is not None and bare.startswith("<")
    if tag or is_page or _is_head(plain):
        return "head"
    last = bare[-EDGE:].splitlines()[-1]
    if _has_traceback(bare, lines, last):
        return "traceback"
    if _exit_told(bare, lines, last):
        return "exit"
    if words.SHELL_LINE.search(lines[0][:300]) or words.SHELL_LINE.search(last[:300]):
        return "shell"
    if _is_broken_off_by(bare, last):
        return "tail"
    short = whole and len(bare) <= SHORT_CHARS and len(lines) <= SHORT_LINES
    # A heading, an item of a list, a prompt and a page of markup are of a document.
    is_document = bare.startswith(_DOCUMENT)
    return "phrase" if short and not is_document and _is_message(plain) else None


def _is_head(plain: str) -> bool:
    """Whether a text begins as an error message does."""
    line = plain.split("\n", 1)[0]
    if heads.NO_ERROR.match(line):
        return False
    if heads.HEAD.match(plain) or heads.CLASS_NAME.match(line) or heads.PROGRAM_CODE.match(line):
        return True
    weak = heads.WEAK_HEAD.match(line)
    return weak is not None and _is_message(line[weak.end() :])


def _is_broken_off_by(bare: str, last: str) -> bool:
    """True for content whose last line is an error that stopped the rest of it."""
    before = bare[-EDGE:].rstrip()[: -len(last)].rstrip()
    if not before or len(last) > MOST_TAIL or last[:1].isspace() or before.endswith((":", "：")):  # noqa: RUF001
        return False
    # A page that speaks about errors may end with one.
    if _HEADING.search(before) or "```" in before or prose.ABOUT_FAILURES.search(before[-EDGE:]):
        return False
    plain = _SIGNS.sub("", last)
    named = heads.CLASS_NAME.match(plain) or heads.PROGRAM_CODE.match(plain)
    if _NUMBERED.match(plain):
        return _is_message(_NUMBERED.sub("", plain))
    return _is_head(plain) and (named is not None or _is_message(_TO_COLON.sub("", plain)))


def _is_listing(lines: Sequence[str]) -> bool:
    """True for a log, the hits of a search, a file with its line numbers."""
    shown = [line for line in lines[:40] if line.strip()]
    logged = sum(bool(words.LOG_LINE.search(line[:200])) for line in shown)
    hits = sum(bool(words.HIT_LINE.match(line)) for line in shown)
    return logged >= 2 or 2 * hits > len(shown)


def _has_traceback(bare: str, lines: Sequence[str], last: str) -> bool:
    """True for a traceback that stands at the start, or at the end of what a program printed."""
    head = "\n".join(lines[:4])
    if (found := words.TRACEBACK.search(bare[:EDGE])) and found.start() <= len(head):
        return True
    return bool(words.LAST_LINE.search(last[:300])) and bool(words.TRACEBACK.search(bare[-EDGE:]))


def _exit_told(bare: str, lines: Sequence[str], last: str) -> bool:
    told = words.EXIT_LINE.search(lines[0][:200]) or words.EXIT_LINE.search(last[:200])
    if told is None or words.TEST_REPORT.search(bare[-EDGE:]):
        return False
    # A search that found nothing ends with 1 too, and says nothing beside.
    rest = words.NO_OUTPUT.sub("", bare.replace(told[0], "", 1))
    return told[1] != "1" or len(rest.strip()) > 3


def _is_message(plain: str) -> bool:
    """Whether a short text is an error message as a whole."""
    flat = " ".join(plain.split())
    size = len(flat.split()) if flat.isascii() or " " in flat else len(flat) // 3
    if size > SHORT_WORDS or prose.NOTHING_FOUND.search(flat) or prose.COUNTS.search(flat):
        return False
    if prose.ABOUT_FAILURES.search(_QUOTED.sub(" ", flat)) or words.TEST_REPORT.search(flat):
        return False
    # A date makes a record of what else is said of people and houses too.
    dated = tongues.DATED.search(flat) is not None
    if not dated and (words.OPENING.match(flat) or words.OPENING.match(_PROGRAM.sub("", flat))):
        return True
    # The message comes to its point early and at once; a longer way is a text about something.
    first = _SENTENCE_END.split(flat, maxsplit=1)[0]
    found = words.TELLING.search(first)
    early = MOST_BEFORE if found is None else len(flat[: found.start()].split())
    if found is not None and early <= MOST_BEFORE and _is_of_a_program(flat, found[0], early):
        return True
    if dated or size > MOST_TOLD:
        return False
    if tongues.BEFALLEN.search(first) or tongues.PHRASE.search(flat):
        return True
    return size <= 10 and bool(words.NOT_FOUND.search(flat))


def _is_of_a_program(flat: str, said: str, before: int) -> bool:
    """Whether what befell something, befell a program's thing."""
    if not prose.EVERYDAY.search(said):
        return True
    rest = flat.replace(said, "", 1).lstrip()
    if before == 0 and (not rest or rest.startswith((":", "(", "-"))):
        return True
    is_end = flat.rstrip(" .!").endswith(said)
    if before <= 1 and is_end and len(flat.split()) <= prose.FEW_WORDS:
        return True
    return prose.THING.search(rest) is not None or prose.THING.search(said) is not None


def _message(bare: str, rule: Rule) -> str:
    if rule in ("traceback", "exit", "shell", "tail") and len(bare) > SHORT_CHARS:
        return bare[-SHORT_CHARS:].strip()
    return bare[:SHORT_CHARS]
