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
from typing import Any, Literal, TypeAlias

from ctxdiff_analyzers import failure_words as words

Rule: TypeAlias = Literal["field", "status", "exit", "http", "head", "traceback", "phrase", "shell"]
SHORT_CHARS, SHORT_LINES, SHORT_WORDS = 400, 5, 30
"""Up to here a text may be an error message as a whole."""
EDGE = 4_000
"""Code points read at each end of a longer text."""
DEEPEST = 3
"""Wrappers (`{"result": {"output": ...}}`) that are opened."""
LONGEST_JSON = 2_000_000
"""Code points of JSON that are parsed; a longer text is content."""

_ERROR_KEYS = frozenset(
    ("error", "err", "exception", "fault", "traceback", "stacktrace", "errormessage", "errorcode")
)
_STATE_KEYS = ("status", "state", "outcome", "result", "type")
_FAILED_STATES = frozenset(
    (
        *("error", "errored", "failed", "failure", "fail", "exception", "timeout", "timedout"),
        *("denied", "forbidden", "unauthorized", "unavailable", "aborted", "notfound", "invalid"),
        *("nok", "ko", "fehler", "fehlgeschlagen", "erreur", "échec", "fallo", "erro", "fel"),
    )
)
_NOT_OK_KEYS = frozenset(("ok", "success", "succeeded", "successful", "issuccess", "issuccessful"))
_FAILED_KEYS = frozenset(("iserror", "haserror", "failed", "isfailed", "failure"))
_EXIT_KEYS = frozenset(("exitcode", "returncode", "exitstatus", "rc", "exit", "retcode"))
_HTTP_KEYS = frozenset(("statuscode", "httpstatus", "httpcode", "httpstatuscode", "responsecode"))
_STREAMS = frozenset(("stdout", "stderr", "output", "stdin", "out"))
_SAYING = frozenset(
    (
        *(
            "message",
            "msg",
            "error",
            "errors",
            "err",
            "errormessage",
            "detail",
            "details",
            "reason",
        ),
        *("description", "errorcode", "code", "exception", "title", "errortype", "cause", "hint"),
    )
)
_ENVELOPE = _ERROR_KEYS | _NOT_OK_KEYS | _FAILED_KEYS | _EXIT_KEYS | _HTTP_KEYS | _SAYING
_ENVELOPE = _ENVELOPE.union(
    _STATE_KEYS,
    (
        *("stack", "tool", "toolname", "function", "method", "requestid", "traceid", "spanid"),
        *(
            "correlationid",
            "timestamp",
            "time",
            "ts",
            "date",
            "path",
            "instance",
            "help",
            "attempt",
        ),
        *("attempts", "retryable", "retryafter", "retryafterms", "retry", "duration", "durationms"),
        *("elapsed", "elapsedms", "took", "latencyms", "service", "source", "jsonrpc", "id", "url"),
        *("documentationurl", "severity", "category", "param", "domain", "version", "meta", "uri"),
        *("provider", "host", "query", "command", "cmd", "cwd", "signal", "killed", "suggestion"),
        *("suggestions", "metadata", "endpoint", "data", "content", "results", "output", "body"),
        *("timedout", "warnings", "action", "operation"),
    ),
)
"""Keys of an answer about the call itself; any other tells of a thing that was asked for."""
_PAYLOAD = frozenset(("data", "content", "results", "output", "body", "result"))
"""Keys under which the thing asked for is, where they are not empty."""
_UNSAID = frozenset(("", "none", "null", "nil", "no", "false", "ok", "0", "success", "n/a", "-"))
_LINE_KEYS = frozenset(("line", "row", "column", "col", "file", "filename", "loc", "lineno"))
_PAIR = re.compile(r"\s{0,8}([\w .-]{1,30}?)\s{0,3}[:=]\s{0,3}(\S.{0,300})")
MOST_PAIRS = 8
_PROGRAM = re.compile(r"^[\w./-]{1,40}: (?:\(\d+\) )?")
"""The name of the program that speaks: `curl: (7) `."""
_SENTENCE_END = re.compile(r"(?<=[^\s.][.!?])\s+(?=\S{2})|[。！？]")  # noqa: RUF001
_QUOTED = re.compile(r"»[^«]*«|«[^»]*»|„[^“”]*[“”]|“[^”]*”|'[^']*'|\"[^\"]*\"|`[^`]*`|\S*[/\\]\S*")
"""Names and paths, whose words say nothing of how it went."""
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
    return _of_value(content, frozenset(map(_plain, echoed)), 0)


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
    held = {_plain(key): inner for key, inner in value.items()}
    said = {key for key, inner in held.items() if _is_there(inner)}
    foreign = said - _ENVELOPE - echoed
    foreign |= {key for key in said & _PAYLOAD if isinstance(held[key], (list, Mapping))}
    found = _field(held, said, foreign)
    if found is not None:
        return Failure(found, _told(held, value))
    if len(said) == 1:
        (key,) = said
        if key in _PAYLOAD or key in _SAYING or key in ("response", "text", "value"):
            return _of_value(held[key], echoed, depth + 1)
    return None


def _field(held: Mapping[str, Any], said: set[str], foreign: set[str]) -> Rule | None:
    """Which kind of member of an object says that the call failed."""
    if any(_is_error(held[key]) for key in said & _ERROR_KEYS) and len(foreign) <= 1:
        return "field"
    if "errors" in said and not foreign and _are_errors(held):
        return "field"
    refused = any(held[key] is False or held[key] == "false" for key in held.keys() & _NOT_OK_KEYS)
    refused = refused or any(held[key] is True for key in said & _FAILED_KEYS)
    if refused and len(foreign) <= 1:
        return "field"
    states = [_plain(held[k]) for k in _STATE_KEYS if isinstance(held.get(k), str)]
    tells = bool(said & _SAYING - {"reason", "title", "code"}) or len(said) == 1
    if tells and not foreign and any(state in _FAILED_STATES for state in states):
        return "status"
    if _exited(held, said) and len(foreign - _STREAMS) <= 2:
        return "exit"
    if any(_is_http(held[key]) for key in said & _HTTP_KEYS) and len(foreign) <= 2:
        return "http"
    bare = any(_is_http(held.get(key)) for key in ("status", "code"))
    return "http" if bare and tells and not foreign else None


def _exited(held: Mapping[str, Any], said: set[str]) -> bool:
    """Whether a command's exit status tells of a failure, rather than of an empty search."""
    codes = [held[key] for key in said & _EXIT_KEYS]
    codes = [code for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    if not any(codes):
        return False
    streams = [held[key] for key in said & _STREAMS if isinstance(held[key], str)]
    if "stderr" not in said and any(words.TEST_REPORT.search(text[-EDGE:]) for text in streams):
        return False
    # A search or a comparison ends with 1 when it finds nothing, or a difference.
    return any(code not in (0, 1) for code in codes) or bool(streams) or bool(said & _SAYING)


def _is_error(value: Any) -> bool:
    if isinstance(value, str):
        return _plain(value) not in _UNSAID
    return value is True or isinstance(value, (Mapping, list)) or _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value != 0


def _are_errors(held: Mapping[str, Any]) -> bool:
    """Whether `errors` are those of the call and no checker's findings."""
    errors = held["errors"]
    if not isinstance(errors, list) or {"warnings", "valid", "isvalid", "file"} & held.keys():
        return False
    return not any(
        isinstance(one, Mapping) and _LINE_KEYS & set(map(_plain, one)) for one in errors
    )


def _is_http(value: Any) -> bool:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) == 3:
        value = int(value)
    return _is_number(value) and 400 <= value <= 599


def _is_there(value: Any) -> bool:
    return value not in (None, "", [], {}, False) or value is True


def _told(held: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    for key in ("error", "errormessage", "message", "msg", "detail", "stderr", "reason", "errors"):
        told = held.get(key)
        if isinstance(told, Mapping):
            told = told.get("message") or told.get("msg") or told
        if isinstance(told, str) and told.strip() and _plain(told) not in _UNSAID:
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
    if _is_listing(lines):
        return None
    tag = words.TAG.match(bare)
    title = words.ERROR_PAGE.search(bare[:EDGE])
    plain = _LEADING.sub("", bare[: EDGE + 50])[:EDGE]
    if tag or title or words.HEAD.match(plain):
        return "head"
    last = bare[-EDGE:].splitlines()[-1]
    if _has_traceback(bare, lines, last):
        return "traceback"
    if _exit_told(bare, lines, last):
        return "exit"
    if words.SHELL_LINE.search(lines[0][:300]) or words.SHELL_LINE.search(last[:300]):
        return "shell"
    short = whole and len(bare) <= SHORT_CHARS and len(lines) <= SHORT_LINES
    return "phrase" if short and _is_message(plain) else None


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
    return told[1] != "1" or len(bare) > len(told[0]) + 20 or "exit" not in told[0].lower()


def _is_message(plain: str) -> bool:
    """Whether a short text is an error message as a whole."""
    flat = " ".join(plain.split())
    size = len(flat.split()) if flat.isascii() or " " in flat else len(flat) // 3
    if size > SHORT_WORDS or words.NOTHING_FOUND.search(flat):
        return False
    if words.ABOUT_FAILURES.search(_QUOTED.sub(" ", flat)) or words.TEST_REPORT.search(flat):
        return False
    if words.OPENING.match(flat) or words.OPENING.match(_PROGRAM.sub("", flat)):
        return True
    # The message comes to its point early and at once; a longer way is a text about something.
    found = words.TELLING.search(_SENTENCE_END.split(flat, maxsplit=1)[0])
    if found is not None and len(flat[: found.start()].split()) <= 8:
        return True
    return size <= 10 and bool(words.NOT_FOUND.search(flat))


def _message(bare: str, rule: Rule) -> str:
    if rule in ("traceback", "exit", "shell") and len(bare) > SHORT_CHARS:
        return bare[-SHORT_CHARS:].strip()
    return bare[:SHORT_CHARS]


def _plain(word: Any) -> str:
    return re.sub(r"[\s_\-]+", "", str(word)[:60]).lower()
