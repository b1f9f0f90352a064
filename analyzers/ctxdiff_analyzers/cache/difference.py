"""Why two turns' prefixes part where they do: the section, the blocks at fault, the cause."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ctxdiff_capture.model import BlockHead

from ctxdiff_analyzers.align import in_order
from ctxdiff_analyzers.cache.order import Rendered
from ctxdiff_analyzers.cache.places import (
    EXCERPT,
    Leaf,
    block_value,
    leaf_of,
    place_of,
    resolved,
    spelled,
    wire_body,
)
from ctxdiff_analyzers.cache.rules import Section
from ctxdiff_analyzers.content import part_type
from ctxdiff_analyzers.edits import edit_cause, ends
from ctxdiff_analyzers.matching import Matching, is_marker, matching
from ctxdiff_analyzers.paths import dotted
from ctxdiff_analyzers.schemas import names_in
from ctxdiff_analyzers.timeline import Timeline

THINKING = frozenset(("thinking", "redacted_thinking", "reasoning"))
KEPT_SHARE = 0.5
"""Part of a text that must have stayed for it to be the same text, edited."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]{0,80}>")


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a prefix ends, and what is at fault."""

    at: int
    """Place in the older turn's provider order."""
    at_new: int
    """Place in the newer turn's."""
    section: Section
    cause: str | None
    old_block: int | None
    """The block that is gone or was another, as an index into the older turn's inputs."""
    new_block: int | None
    """The block that is new, or has become another, as an index into the newer turn's inputs."""
    is_edit: bool = False
    """Both are one block in two forms, so that a character is the place."""
    goes_on: bool = True
    """False where nothing that was said is said again behind this place: another question, not
    the same conversation."""
    counts: tuple[tuple[str, int], ...] = ()
    names: tuple[str, ...] = ()
    """Tools concerned. Captured text."""


@dataclass(frozen=True, slots=True)
class Place:
    """A difference in the words of the request."""

    path: str | None
    first_difference: int | None
    excerpts: tuple[str, ...]
    """Old and new from the first difference on; of what is gone or new the one text there is.
    Captured text."""


def difference(timeline: Timeline, old: Rendered, new: Rendered, at: tuple[int, int]) -> Difference:
    """What is at fault where two turns part at `at`, a place that both of them have."""
    i, j = at
    section = min((old.section(i), new.section(j)), key=old.order.index)
    pair = _Pair(timeline, old, new, i, j, matching(old.turn, new.turn, timeline))
    return {"tools": pair.tools, "system": pair.system, "messages": pair.messages}[section]()


def place_of_difference(
    timeline: Timeline, old: Rendered, new: Rendered, found: Difference
) -> Place:
    """The path, the character and both texts; reads the requests where they were kept."""
    if found.new_block is None or (found.old_block is not None and not found.is_edit):
        view, at = (old, found.old_block) if found.old_block is not None else (new, None)
    else:
        view, at = new, found.new_block
    if at is None:
        return Place(None, None, ())
    pointer = place_of(timeline, view.turn, at)
    if not found.is_edit:
        inner = _declaration(timeline, view, at, found, pointer)
        sides = ((old, found.old_block), (new, found.new_block))
        texts = (_text(timeline, side, k)[:EXCERPT] for side, k in sides if k is not None)
        path = dotted(pointer)
        return Place(path and f"{path}{inner}", None, tuple(texts))
    assert found.old_block is not None
    leaf, from_wire = _leaf(timeline, old, new, found.old_block, at)
    path = None if pointer is None else spelled(pointer, leaf, from_wire=from_wire)
    return Place(path, leaf.first_difference, leaf.excerpts)


def _leaf(timeline: Timeline, old: Rendered, new: Rendered, i: int, j: int) -> tuple[Leaf, bool]:
    places = place_of(timeline, old.turn, i), place_of(timeline, new.turn, j)
    if places[0] is not None and places[1] is not None:
        bodies = wire_body(timeline, old.turn), wire_body(timeline, new.turn)
        if bodies[0] is not None and bodies[1] is not None:
            values = resolved(bodies[0], places[0]), resolved(bodies[1], places[1])
            if None not in values and values[0] != values[1]:
                return leaf_of(*values), True
    blocks = old.turn.inputs[i], new.turn.inputs[j]
    return leaf_of(block_value(timeline, blocks[0]), block_value(timeline, blocks[1])), False


def _declaration(
    timeline: Timeline, view: Rendered, at: int, found: Difference, pointer: str | None
) -> str:
    """Which of the functions that one tool declares is the added or removed one."""
    if found.cause != "tool_set_changed" or pointer is None:
        return ""
    names = names_in(timeline, view.turn.inputs[at])
    which = next((k for k, name in enumerate(names) if name in found.names), None)
    if len(names) < 2 or which is None:
        return ""
    tool = resolved(wire_body(timeline, view.turn), pointer)
    spelled_so = isinstance(tool, dict) and "function_declarations" in tool
    key = "function_declarations" if spelled_so else "functionDeclarations"
    return f".{key}[{which}]"


def _text(timeline: Timeline, view: Rendered, at: int) -> str:
    return timeline.text_of(timeline.blocks[view.turn.inputs[at]].content_hash)


@dataclass(frozen=True, slots=True)
class _Pair:
    timeline: Timeline
    old: Rendered
    new: Rendered
    i: int
    j: int
    found: Matching

    def tools(self) -> Difference:
        """A tool was added, removed, edited, or stands elsewhere."""
        before, now = self._tools(self.old), self._tools(self.new)
        added = [name for name in now if name not in before]
        removed = [name for name in before if name not in now]
        i, j = self.old.input_at(self.i), self.new.input_at(self.j)
        here_old, here_new = self._is_tool(self.old, self.i), self._is_tool(self.new, self.j)
        if here_old and here_new and self._names(self.old, i) == self._names(self.new, j):
            cause: str | None = self._edit_cause(i, j)
            if cause not in (
                "whitespace_only_change",
                "unicode_form_changed",
                "volatile_value",
                "session_id_in_prefix",
                "json_key_order_changed",
            ):
                cause = "tool_description_changed"
            return Difference(
                *self._where("tools", cause), i, j, is_edit=True, names=self._names(self.new, j)
            )
        if added or removed:
            names_new = self._names(self.new, j) if here_new else ()
            is_added = here_new and any(name in added for name in names_new)
            return Difference(
                *self._where("tools", "tool_set_changed"),
                old_block=None if is_added or not here_old else i,
                new_block=j if is_added else None,
                counts=(("added", len(added)), ("removed", len(removed))),
                names=(*removed, *added),
            )
        return Difference(
            *self._where("tools", "tool_order_changed"),
            old_block=None if here_new else i,
            new_block=j if here_new else None,
            names=self._names(self.new, j) if here_new else (),
        )

    def system(self) -> Difference:
        """System text that is edited, new or gone."""
        i, j = self.old.input_at(self.i), self.new.input_at(self.j)
        olds = [b for b in self._indices(self.old, "system") if b >= 0]
        news = self._indices(self.new, "system")
        if not news and olds:
            return Difference(*self._where("system", "system_prompt_missing"), i, None)
        is_old = self.old.section(self.i) == "system"
        is_new = self.new.section(self.j) == "system"
        if is_old and is_new and ((i, j) in self.found.edited or (len(olds) == len(news) == 1)):
            return Difference(*self._where("system", self._system_cause(i, j)), i, j, is_edit=True)
        same = {b: a for a, b in self.found.same}
        if is_new and self.new.turn.inputs[j] in [self.new.turn.inputs[k] for k in news if k != j]:
            return Difference(*self._where("system", "duplicate_system_prompt"), None, j)
        if is_new and j in self.found.new:
            replaced = is_old and i in self.found.gone
            came = "system_replaced" if replaced else "section_appended"
            return Difference(*self._where("system", came), i if replaced else None, j, replaced)
        if is_new and j in same and is_old and i not in self.found.gone:
            return Difference(*self._where("system", "block_moved"), i, None)
        edited = next((pair for pair in self.found.edited if pair[1] == j or pair[0] == i), None)
        if edited is not None and is_new:
            cause = self._system_cause(*edited)
            return Difference(*self._where("system", cause), *edited, is_edit=True)
        return Difference(*self._where("system", "system_replaced"), i if is_old else None, None)

    def messages(self) -> Difference:
        """Something that had been said is not there any more as it was."""
        i, j = self.old.input_at(self.i), self.new.input_at(self.j)
        stayed = {**dict(self.found.same), **dict(self.found.edited)}
        if not self._goes_on(i, j, stayed):
            return Difference(*self._where("messages", None), i, j, goes_on=False)
        if (i, j) in self.found.edited:
            return self._edited_message(i, j)
        return self._displaced(i, j, stayed) if i in stayed else self._gone_message(i, j, stayed)

    def _goes_on(self, i: int, j: int, stayed: dict[int, int]) -> bool:
        """Whether what was said from `i` on, or the answer to it, is said again."""
        if any(a > i for a in stayed) or (i in stayed and stayed[i] != j):
            return True
        if stayed.get(i) == j and j + 1 < len(self.new.turn.inputs):
            return True
        if not set(self.old.turn.outputs).isdisjoint(self.new.turn.inputs[j:]):
            return True
        # Part of the last question is another, and what follows answers it.
        asked = {self._head(self.old, a).role for a in range(i, len(self.old.turn.inputs))}
        then = {self._head(self.new, b).role for b in range(j, len(self.new.turn.inputs))}
        shares = i > len(self.old.head)
        return shares and "assistant" not in asked and "assistant" in then

    def _edited_message(self, i: int, j: int) -> Difference:
        old, new = self._head(self.old, i), self._head(self.new, j)
        if old.kind == "image" or new.kind == "image":
            what = "image_removed" if new.kind != "image" else "replay_differs_from_sent"
            return Difference(*self._where("messages", what), i, j)
        cause = self._edit_cause(i, j)
        if cause in (None, "section_appended"):
            cause = "replay_differs_from_sent"
        return Difference(*self._where("messages", cause), i, j, is_edit=True)

    def _displaced(self, i: int, j: int, stayed: dict[int, int]) -> Difference:
        """The old block is still there, further behind."""
        came = {b: a for a, b in self.found.same}
        moved = {a for a, _ in self.found.same} - {a for a, _ in in_order(self.found.same)}
        if i in moved:
            counts = (("to_position", self.new.turn.positions[stayed[i]]),)
            return Difference(*self._where("messages", "block_moved"), i, None, counts=counts)
        if came.get(j) in moved:
            return Difference(*self._where("messages", "block_moved"), None, j)
        put = sum(1 for b in self.found.new if j <= b < stayed[i])
        repeats = self.new.turn.inputs[j] in list(self.new.turn.inputs[:j])
        return Difference(
            *self._where(
                "messages", "duplicated_history" if repeats else "item_inserted_in_prefix"
            ),
            None,
            j,
            counts=(("inserted", max(put, 1)),),
        )

    def _gone_message(self, i: int, j: int, stayed: dict[int, int]) -> Difference:
        """The old block is gone, and what was said behind it goes on."""
        gone = set(self.found.gone)
        run = [i]
        while run[-1] + 1 in gone:
            run.append(run[-1] + 1)
        counts = (("dropped", len(run)),)
        head = self._head(self.old, i)
        text = "" if head.kind == "image" else _text(self.timeline, self.old, i)
        new_texts = j in self.found.new and self._head(self.new, j).kind != "image"
        arrived = _text(self.timeline, self.new, j) if new_texts else ""
        end = min((b for a, b in stayed.items() if a > run[-1]), default=j + 1)
        put = sum(1 for b in self.found.new if j <= b < end)
        if head.kind == "image":
            cause, new = "image_removed", None
        elif part_type(text) in THINKING or _is_thought(text):
            cause, new = "thinking_blocks_dropped", None
        elif arrived and self._merges(run, arrived):
            cause, new = "messages_merged", j
        elif put and len(run) > 1 and put < len(run):
            cause, new = "history_compacted", j
        elif put:
            cause, new = "replay_differs_from_sent", j
        elif i == len(self.old.head) or (len(run) > 1 and i == len(self.old.head) + 1):
            cause, new = "history_front_trimmed", None
        else:
            cause, new = "evicted_block", None
        return Difference(*self._where("messages", cause), i, new, counts=counts)

    def _where(self, section: Section, cause: str | None) -> tuple[int, int, Section, str | None]:
        return self.i, self.j, section, cause

    def _head(self, view: Rendered, at: int) -> BlockHead:
        return self.timeline.blocks[view.turn.inputs[at]]

    def _indices(self, view: Rendered, section: Section) -> list[int]:
        return [
            at
            for index, at in enumerate(view.head)
            if view.section(index) == section and not is_marker(self.timeline, view.turn.inputs[at])
        ]

    def _tools(self, view: Rendered) -> dict[str, int]:
        return {name: at for at in self._indices(view, "tools") for name in self._names(view, at)}

    def _names(self, view: Rendered, at: int) -> tuple[str, ...]:
        block = view.turn.inputs[at]
        return names_in(self.timeline, block) or (self.timeline.blocks[block].content_hash[:12],)

    def _is_tool(self, view: Rendered, index: int) -> bool:
        return view.section(index) == "tools"

    def _merges(self, run: list[int], arrived: str) -> bool:
        texts = [
            _text(self.timeline, self.old, a)
            for a in run[:4]
            if self._head(self.old, a).kind != "image"
        ]
        return len(texts) > 1 and all(text and text in arrived for text in texts[:2])

    def _edit_cause(self, i: int, j: int) -> str | None:
        old, new = self.old.turn.inputs[i], self.new.turn.inputs[j]
        leaf = leaf_of(block_value(self.timeline, old), block_value(self.timeline, new))
        return edit_cause(leaf.old, leaf.new) if leaf.is_text else None

    def _system_cause(self, i: int, j: int) -> str | None:
        old, new = _text(self.timeline, self.old, i), _text(self.timeline, self.new, j)
        found = edit_cause(old, new)
        if found is not None:
            return found
        head, tail = ends(old, new)
        passages = old[head : len(old) - tail], new[head : len(new) - tail]
        if self._is_retrieved(j, (head, tail), passages, new):
            return "retrieval_in_prefix"
        kept = (head + tail) / max(len(old), len(new), 1)
        return None if kept >= KEPT_SHARE else "system_replaced"

    def _is_retrieved(
        self, j: int, around: tuple[int, int], passages: tuple[str, str], new: str
    ) -> bool:
        """Whether a passage was exchanged for one that fits the question asked with it."""
        words = [set(map(str.lower, _WORD.findall(text))) for text in passages]
        if len(words[0] ^ words[1]) < 2:
            return False
        source = self.timeline.label_table[self.new.turn.labels[j]][1]
        if source == "tagged":
            return True
        frame = f"{new[: around[0]]} {new[len(new) - around[1] :]}"
        known = set(map(str.lower, _WORD.findall(frame)))
        return bool((words[1] - words[0] - known) & self._question(self.new)) or bool(
            (words[0] - words[1] - known) & self._question(self.old) and _is_enclosed(new, around)
        )

    def _question(self, view: Rendered) -> set[str]:
        """Words of the newest thing that the user said."""
        for at in range(len(view.turn.inputs) - 1, len(view.head) - 1, -1):
            head = self._head(view, at)
            if head.role == "user" and head.kind != "image":
                return set(map(str.lower, _WORD.findall(_text(self.timeline, view, at)[:4000])))
        return set()


def _is_thought(text: str) -> bool:
    """Whether a part is Gemini's form of a thought."""
    if not text.startswith("{") or '"thought"' not in text:
        return False
    try:
        return json.loads(text).get("thought") is True
    except (ValueError, RecursionError):
        return False


def _is_enclosed(text: str, around: tuple[int, int]) -> bool:
    """Whether a tag that opens before the passage closes behind it."""
    open_tags: list[str] = []
    for found in _TAG.finditer(text[: around[0]][-4000:]):
        if not found[1]:
            open_tags.append(found[2])
        elif found[2] in open_tags:
            open_tags.remove(found[2])
    tail = text[len(text) - around[1] :]
    return any(f"</{tag}" in tail for tag in open_tags)
