"""What is promised of an answer, each promise a function that names its failures.

The names are those of the vectors' `props`. A function knows the published rules and Unicode, and
nothing of the gate.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from tests.trust.frames.reading import Frame, Parts, Unbalanced, taken_apart

CANARY = "CNRY"
"""Stands in every planted text, with a blank near it that keeps a name from standing inline."""
INLINE_LINKS = re.compile(r"://|//|www\.|\]\(|<[a-z!/]|javascript:|data:|mailto:", re.IGNORECASE)
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b\u180c\u180d\u180f")
EMOJI = frozenset({"So", "Sk", "Sm", "Po", "Pd", "Cn"})
"""Categories of emoji; the last where Python is older than they are."""
SPECIAL = (
    *("<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|endoftext|>", "<|endofprompt|>"),
    *("<|start|>", "<|channel|>", "<|message|>", "<|call|>", "<|return|>", "<|constrain|>"),
    *("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"),
    *("<|header_start|>", "<|eot|>", "<|python_tag|>", "<|system|>", "<|user|>", "<|assistant|>"),
    *("<|end|>", "<|tool|>", "<|observation|>", "<|start_of_role|>", "<|end_of_role|>"),
    *("<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<BOS_TOKEN>", "<|vision_start|>"),
    *("<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<｜tool▁calls▁begin｜>"),
    *("<s>", "</s>", "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]", "[TOOL_CALLS]"),
    *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[SYSTEM_PROMPT]", "[THINK]"),
    *("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<pad>", "<unused7>", "<|turn>"),
    *("<turn|>", "[gMASK]", "<sop>", "[|system|]", "]~b]", "]~!b[", "[e~[", "<think>", "</think>"),
    *("<tool_call>", "</tool_call>", "<tool_response>", "<extra_id_0>", "<|fim_prefix|>"),
)
"""Control tokens of chat formats, as their tokenizers spell them."""


@dataclass(frozen=True)
class Answer:
    """What a tool answered, and what is known of how it came about."""

    text: str
    line: bytes | None = None
    """The message on the wire; None where none was sent."""
    wrote: tuple[str, ...] = ()
    """Texts that the caller wrote."""
    cap: int = 20_000
    """Bytes of the message."""
    source: str | None = None
    """The whole text that the frame with a `block` shows a part of; None where that is not known."""
    earlier: AbstractSet[str] = frozenset()
    """Words of frames in earlier answers."""
    words: tuple[str, ...] = (CANARY, "SYSTEM NOTE", "IMPORTANT")
    """Pieces of planted texts."""

    @cached_property
    def parts(self) -> Parts:
        """Raises `Unbalanced`."""
        return taken_apart(self.text)

    @property
    def page(self) -> Frame:
        """The frame that shows a part of `source`; an empty one where there is none."""
        return next(
            (frame for frame in self.parts.frames if "block" in frame.attributes),
            Frame("", 0, 0, {}, "", 0),
        )


def contain(answer: Answer) -> Iterator[str]:
    """Captured text stands in frames alone; the server's own lines are printable ASCII."""
    own = answer.parts.own
    if re.fullmatch(r"[\n -~]*", own) is None:
        yield "a character among the server's words that is none of its"
    for word in answer.words:
        if word in own:
            yield f"planted {word!r} among the server's words"


def balanced(answer: Answer) -> Iterator[str]:
    """Every boundary is the server's."""
    try:
        taken_apart(answer.text)
    except Unbalanced as problem:
        yield str(problem)


def folds(text: str) -> Iterator[str]:
    """The text as readers might fold or decode it, one level deep."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    yield plain
    yield "".join(char for char in plain if unicodedata.category(char) not in HIDDEN | {"Mn"})
    yield html.unescape(text)
    yield unquote(text)
    yield re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    yield re.sub(r"\\x([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)


def lookalike(answer: Answer) -> Iterator[str]:
    """Nothing in a frame folds to something with the word of this answer's boundaries."""
    for frame in answer.parts.frames:
        if any(frame.nonce in folded.casefold() for folded in folds(frame.original)):
            yield f"a text folds to the closing line of frame {frame.number}"


def no_controls(answer: Answer) -> Iterator[str]:
    """No control character but TAB and LF, in the text or in the line that carries it."""
    found = {char for char in set(answer.text) - {"\n", "\t"} if unicodedata.category(char) == "Cc"}
    if found:
        yield f"raw controls {sorted(map(ord, found))}"
    if answer.line is not None and re.search(rb"[\x00-\x1f\x7f]", answer.line.removesuffix(b"\n")):
        yield "a raw control on the wire"


def no_invisibles(answer: Answer) -> Iterator[str]:
    """Nothing that hides or directs, but joiners and selectors where they are spelling."""
    text = answer.text
    for char in set(text) - {"\n", "\t"}:
        if not hides(char):
            continue
        places = [at for at, one in enumerate(text) if one == char]
        if char not in "\u200c\u200d\ufe0f" or not all(may_stand(text, at) for at in places):
            yield f"raw U+{ord(char):04X}"
    marks = "".join(char for char in set(text) if unicodedata.category(char)[0] == "M")
    if marks and re.search(f"[{marks}]{{9}}", text):
        yield "nine combining marks in a row"
    if marks and re.search(f"(?:^|[⟦⟧])[{marks}]", text, re.MULTILINE):
        yield "a combining mark on a boundary"


def hides(char: str) -> bool:
    """By Unicode's own properties."""
    return (
        unicodedata.category(char) in HIDDEN
        or char in FILLERS
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0000" <= char <= "\U000e0fff"
    )


def may_stand(text: str, at: int) -> bool:
    """Whether the joiner or selector has neighbours of a kind that it belongs between."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] == "\ufe0f":
        return _is_emoji(before) or (before in set("0123456789#*") and after == "\u20e3")
    if _is_letter(before) and _is_letter(after):
        return True
    return text[at] == "\u200d" and (_is_emoji(before) or before == "\ufe0f") and _is_emoji(after)


def _is_emoji(char: str) -> bool:
    return char == "\u2139" or (char != "" and unicodedata.category(char) in EMOJI)


def _is_letter(char: str) -> bool:
    return bool(char) and unicodedata.category(char)[0] in "LM" and ord(char) >= 0x600


def no_specials(answer: Answer) -> Iterator[str]:
    """No control token of a chat format."""
    for token in SPECIAL:
        if token in answer.text:
            yield f"raw {token}"


def valid_json(answer: Answer) -> Iterator[str]:
    """The message is one line of strict JSON with one text, and nothing was added to it."""
    if answer.line is None:
        return
    if answer.line.count(b"\n") != 1 or not answer.line.endswith(b"\n"):
        yield "not one line"

    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        message = json.loads(answer.line.decode("utf-8"), parse_constant=refuse)
    except ValueError as problem:
        yield f"not strict JSON: {problem}"
        return
    result = message.get("result", {})
    if set(message) != {"jsonrpc", "id", "result"}:
        yield f"members {sorted(message)}"
    if not set(result) <= {"content", "isError", "resultType", "_meta"}:
        yield f"members of the result {sorted(result)}"
    if result.get("content") != [{"type": "text", "text": answer.text}]:
        yield "the content is not one text"


def alive(answer: Answer) -> Iterator[str]:
    """To be asked of the next answer: it is there."""
    if not answer.text.endswith("\n") or answer.text.startswith("error internal"):
        yield "no answer"


def cap(answer: Answer) -> Iterator[str]:
    """The message is not above the cap."""
    size = len(answer.line) if answer.line is not None else wire_bytes(answer.text)
    if size > answer.cap:
        yield f"{size} bytes"


def wire_bytes(text: str) -> int:
    """Bytes of the message that would carry the text."""
    item = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return len(item) + 250


def lossless(answer: Answer) -> Iterator[str]:
    """The inverse gives the part of the original that the frame says it shows."""
    if answer.source is None:
        return
    frame = answer.page
    start, end, _ = frame.place or (0, len(answer.source), 0)
    if frame.original != answer.source[start:end]:
        yield f"characters {start}-{end} are not recovered"


def offsets(answer: Answer) -> Iterator[str]:
    """Offsets count code points of the original."""
    if answer.source is None:
        return
    place = answer.page.place
    if place is None or not 0 <= place[0] <= place[1] <= place[2] == len(answer.source):
        yield f"place {place} of {len(answer.source)}"
    elif place[1] - place[0] != len(answer.page.original):
        yield f"place {place} holds {len(answer.page.original)} characters"


def verbatim(answer: Answer) -> Iterator[str]:
    """An ordinary text is shown as it is."""
    if answer.source is None:
        return
    frame = answer.page
    if frame.shown not in answer.source:
        yield "an ordinary text was changed"


def labelled(answer: Answer) -> Iterator[str]:
    """The answer names the word of its frames, and each frame says what it holds."""
    parts = answer.parts
    if not parts.frames:
        return
    plural = "s" if len(parts.frames) > 1 else ""
    told = f"{len(parts.frames)} captured text{plural} in frames {parts.frames[0].nonce}: "
    if not any(line.startswith(told) for line in parts.own.split("\n")):
        yield "the word of the frames is not named"
    if any(not frame.attributes for frame in parts.frames):
        yield "a frame that does not say what it holds"


def no_echo(answer: Answer) -> Iterator[str]:
    """Nothing that the caller wrote is repeated among the server's words."""
    own = answer.parts.own
    for argument in answer.wrote:
        pieces = {argument[at : at + 12] for at in range(0, max(len(argument) - 11, 1), 6)}
        if any(piece in own for piece in pieces if len(piece) >= 2):
            yield f"repeats {argument[:40]!r}"


def fresh(answer: Answer) -> Iterator[str]:
    """The word of the frames was in no earlier answer."""
    for frame in answer.parts.frames:
        if frame.nonce in answer.earlier:
            yield f"the word {frame.nonce} again"


def inert_link(answer: Answer) -> Iterator[str]:
    """No link stands outside a frame, and the result links to nothing."""
    if INLINE_LINKS.search(answer.parts.own):
        yield "a link among the server's words"
    if answer.line is not None and re.search(rb'"(?:uri|resource|resource_link)"\s*:', answer.line):
        yield "a resource beside the text"


Property = Callable[[Answer], Iterator[str]]

PROPERTIES: Mapping[str, Property] = {
    "CONTAIN": contain,
    "BALANCED": balanced,
    "LOOKALIKE": lookalike,
    "NOCTRL": no_controls,
    "NOINVIS": no_invisibles,
    "NOSPECIAL": no_specials,
    "VALIDJSON": valid_json,
    "ALIVE": alive,
    "CAP": cap,
    "LOSSLESS": lossless,
    "OFFSETS": offsets,
    "VERBATIM": verbatim,
    "LABELLED": labelled,
    "NOECHO": no_echo,
    "FRESH": fresh,
    "INERTLINK": inert_link,
}
ROWS: Mapping[str, tuple[str, ...]] = {
    "contain": ("CONTAIN", "VALIDJSON", "ALIVE", "LABELLED", "INERTLINK"),
    "boundary": ("BALANCED", "LOOKALIKE", "FRESH"),
    "raw": ("NOCTRL", "NOINVIS", "NOSPECIAL"),
    "inverse": ("LOSSLESS",),
    "pages": ("OFFSETS",),
    "cap": ("CAP",),
    "echo": ("NOECHO",),
}
"""Which row of the table of promises a failure counts in. VERBATIM holds of ordinary texts alone."""


def failures(answer: Answer, *more: str) -> dict[str, list[str]]:
    """By row, what is broken; properties outside the rows are named in `more`.

    An answer that cannot be taken apart is broken in `boundary` alone.
    """
    broken = list(balanced(answer))
    if broken:
        return {"boundary": broken}
    asked = {**ROWS, "inverse": (*ROWS["inverse"], *more)}
    return {
        row: found
        for row, names in asked.items()
        if (found := [f"{name}: {why}" for name in names for why in PROPERTIES[name](answer)])
    }
