# ruff: noqa: RUF001  # signs of several scripts
"""Whether a plain text ends within a word, a line or a sentence."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

End: TypeAlias = Literal["length", "line", "sentence", "word"]
OPENERS, CLOSERS = "([{", ")]}"
LEAST_TEXT = 160
"""Code points from which the end of a plain text says something."""
LEAST_LINES, LEAST_LINE = 3, 20
"""Lines that end alike, and their length, from which another end is telling."""
_ENDS = frozenset(".!?…:;。！？」』）)]}>\"'`»”’|*_-=\n")
_LINK = re.compile(
    r"""
    the | an? | of | and | or | to | in | with | for | by | from | on | at | is | was | are | were
    | that | which | as | but | not
    | der | die | das | den | dem | eine? | und | mit | von | zu | im | auf | für | ist
    | les? | la | des | du | et | à | dans | pour | une? | el | l[ao]s | y | en | con | por | que
    | o | e | di | il | della | och | att | som | på | av | er | ikke | til | het | een | van
    | voor | и | в | на | с | по | не | для | от
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words after which a sentence goes on."""
_WORD = re.compile(r"\w+")
_SEPARATORS = tuple(re.compile(sign) for sign in (r"\t", r";(?! )", r",(?! )", r"\|"))
"""Of the cells of a row; in prose a space follows."""
_STATEMENT = re.compile(
    r"\s*(?:[^\s:]+:\d+:\s*)?(?:(?:async|await|export|public|private|static|pub) )?"
    r"(?:def|fn|func|function|class|import|from|return|if|for|while|const|let|var|struct|use"
    r"|package|assert|raise|throw|with|try|else|elif|case|type|interface|enum|\#include)\b"
    r"|.*[;{}:(\[]\s*\Z"
)
"""A line of a program, by its first word or its last sign."""
_UNNAMED = re.compile(r"^\s*(?:[^\s:]+:\d+:\s*)?(?:async )?(?:def|fn|func|function) \w*\Z")
"""The start of a function, without its parameters."""
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？]")


def open_end(text: str) -> End | None:
    """Whether a plain text ends within a word or a sentence."""
    trailing = re.search(r"(?<=\w)(?:\.{3}|…)\Z", text)
    if trailing is not None and _is_started(_last_word(text[: trailing.start()]), text):
        # An author's dots stand behind a whole word.
        return "word"
    if trailing is not None and _is_row(text[: trailing.start()]):
        return "word"
    if len(text) < LEAST_TEXT:
        return None
    if _is_left_open(text) or _is_quote_open(text):
        return "line"
    if text[-1].isspace() or text[-1] in _ENDS:
        return None
    if _is_unlike_its_lines(text):
        return "sentence"
    if _is_round(len(text)) or _is_round(len(text.encode("utf-8", "surrogatepass"))):
        return "length"
    tail = text[-2_000:]
    is_prose = len(_SENTENCE_END.findall(tail)) >= 2 and "\n" not in tail[-LEAST_TEXT:]
    last_line = tail.rsplit("\n", 1)[-1]
    words = _WORD.findall(last_line)
    if not words:
        return None
    if is_prose and (text[-1] == "," or _LINK.fullmatch(words[-1])):
        return "sentence"
    is_open = any(
        last_line.count(a) > last_line.count(b) for a, b in zip("([{", ")]}", strict=True)
    )
    is_likely = is_prose or is_open or last_line.count('"') % 2 == 1 or _is_indented(text)
    if is_likely and _is_started(words[-1], text):
        return "word"
    # A statement that goes on in the next line ends with a bracket, a comma or a sign.
    goes_on = (is_open and text[-1] not in ",=+-*/|&<>([{") or _UNNAMED.search(
        last_line
    ) is not None
    return "line" if goes_on and _is_code(text) else None


def _last_word(text: str) -> str:
    found: list[str] = _WORD.findall(text[-80:])
    return found[-1] if found else ""


def _is_row(text: str) -> bool:
    """True where the last line is a row of a table with separators, as those before it."""
    lines = [line for line in text.split("\n")[-8:] if line.strip()]
    if len(lines) < LEAST_LINES or any(line.endswith(("...", "…")) for line in lines[:-1]):
        return False
    counts = [[len(sign.findall(line)) for line in lines] for sign in _SEPARATORS]
    return any(1 <= found[-1] <= found[0] and len(set(found[:-1])) == 1 for found in counts)


def _is_left_open(text: str) -> bool:
    """True for a text that ends in an indent, or with a space where none of its lines does."""
    if re.search(r"\n[ \t]+\Z", text):
        return True
    lines = text[-4_000:].split("\n")
    is_padded = any(line.endswith((" ", "\t")) for line in lines[:-1])
    return not is_padded and re.search(r"[\w=,+(&|*/-] \Z", text) is not None


def _is_quote_open(text: str) -> bool:
    """True for code whose last line opens a bracket and a text in it, and closes neither."""
    last = text[-2_000:].rsplit("\n", 1)[-1]
    opened = sum(last.count(sign) for sign in OPENERS)
    closed = sum(last.count(sign) for sign in CLOSERS)
    return opened > closed and last.count('"') % 2 == 1 and _is_indented(text)


def _is_indented(text: str) -> bool:
    """True for a text of which many lines are indented, as code is."""
    lines = [line for line in text[-4_000:].split("\n") if line.strip()]
    return len(lines) >= LEAST_LINES and sum(line[0] in " \t" for line in lines) >= len(lines) // 3


def _is_code(text: str) -> bool:
    lines = [line for line in text[-4_000:].split("\n") if line.strip()]
    told = sum(line[0] in " \t" or _STATEMENT.match(line) is not None for line in lines[:-1])
    return len(lines) > LEAST_LINES and 2 * told >= len(lines)


def _is_unlike_its_lines(text: str) -> bool:
    """True when the last of several lines alone lacks the sign that ends all others."""
    lines = [line.rstrip() for line in text[-4_000:].split("\n") if line.strip()]
    *others, last = lines
    if len(others) < LEAST_LINES or len(others[-1]) < LEAST_LINE or len(last) < LEAST_LINE // 2:
        return False
    ends = {line[-1] for line in others[1:]}
    starts = {shape(line[:4]) for line in others[1:]}
    return len(ends) == 1 and ends <= _ENDS and shape(last[:4]) in starts


def _is_started(word: str, text: str) -> bool:
    """True when a longer word of the text starts like its last one, which occurs but once."""
    if len(word) < 2 or word.isdigit():
        return False
    start = word.casefold()
    known = {one.casefold() for one in _WORD.findall(text[-20_000:])[:-1]}
    return start not in known and any(one.startswith(start) for one in known)


def _is_round(length: int) -> bool:
    """True for lengths that programs choose as a limit."""
    if length < LEAST_TEXT:
        return False
    return length % 500 == 0 or length % 1_024 == 0 or length in (200, 250, 256, 300, 400, 512, 768)


def shape(cell: str) -> str:
    """A text's kinds of signs: `p-12` and `x-7` are of one shape."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", cell.strip()))
