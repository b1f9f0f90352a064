"""Messages that stand in a conversation again without having been said again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ctxdiff_analyzers.content import without_markers
from ctxdiff_analyzers.detectors.scene import LISTED, Scene, excerpt, is_conversation, tokens_of
from ctxdiff_analyzers.exchanges import may_be_result, result_at
from ctxdiff_analyzers.findings import Evidence, Finding
from ctxdiff_analyzers.matching import bare_digest, is_marker
from ctxdiff_analyzers.pairing import pairs
from ctxdiff_analyzers.paths import path_of

LEAST_CHARS = 12
"""Code points from which a message that is said again at once is no mere `ok` or `yes`."""
LEAST_PASTED = 100
"""Tokens from which a message that is said again later is a copy."""
LEAST_RUN, SHORT_RUN_CHARS = 3, 200
"""Messages in a row that a first request has twice; and the length from which two are enough."""


def history(scene: Scene) -> Iterator[Finding]:
    """Messages that stand in the conversation again without having been said again."""
    copies = copied_messages(scene)
    if not copies:
        return
    blocks = [scene.new_block(j) for j in copies]
    tokens, method = tokens_of(blocks)
    yield scene.finding(
        "duplicate_context",
        "medium",
        cause="duplicated_history",
        evidence=Evidence(
            content_hashes=tuple(dict.fromkeys(one.content_hash for one in blocks))[:LISTED],
            positions=tuple(scene.turn.positions[j] for j in copies[:LISTED]),
            excerpts=tuple(excerpt(scene.text(block)) for block in blocks[:3]),
            counts=(("copies", len(copies)), ("duplicate_tokens", tokens)),
            path=path_of(scene.mine, scene.turn, copies[0]),
        ),
        tokens=tokens,
        tokens_method=method,
        next=scene.to_diff(),
    )


def copied_messages(scene: Scene) -> tuple[int, ...]:
    """Indices of the messages that are copies of earlier ones of the same request."""
    return scene.mine.known(f"copies {scene.turn.call.id}", lambda: tuple(_copied(scene)))


def _copied(scene: Scene) -> Iterator[int]:
    said = [
        j
        for j, block in enumerate(scene.turn.inputs)
        if is_conversation(scene.new_block(j)) and not is_marker(scene.mine, block)
    ]
    new = set(scene.matching.new)
    if not any(j in new for j in said):
        return
    counts = Counter(_identity(scene, j) for j in said)
    if all(n == 1 for n in counts.values()):
        return
    met: set[tuple[str, bytes]] = set()
    again = set[int]()
    for j in said:
        identity = _identity(scene, j)
        if identity in met:
            again.add(j)
        met.add(identity)
    # Which of two equal blocks the previous turn had is not known: the later one is the copy.
    fresh = Counter(_identity(scene, j) for j in said if j in new)
    left = fresh.copy()
    candidates = []
    for j in reversed(said):
        identity = _identity(scene, j)
        if j in again and left[identity] > 0:
            left[identity] -= 1
            candidates.append(j)
    yield from _not_said_again(scene, said, sorted(candidates), fresh)


@dataclass(frozen=True, slots=True)
class _Message:
    index: int
    role: str
    chars: int
    tokens: int
    is_tool: bool


def _not_said_again(
    scene: Scene, said: list[int], candidates: list[int], fresh: Counter[tuple[str, bytes]]
) -> Iterator[int]:
    """The candidates that no ordinary turn explains."""
    if not candidates:
        return
    told = _told(scene)
    answers = 0 if scene.previous is None else 1
    last_model = max((j for j in said if _role(scene, j) == "assistant"), default=-1)
    place = {j: at for at, j in enumerate(said)}
    copies: list[_Message] = []
    for j in candidates:
        one = _message(scene, j)
        if one.is_tool:
            continue
        before = said[place[j] - 1] if place[j] else None
        is_double = before is not None and _identity(scene, before) == _identity(scene, j)
        if one.role == "assistant":
            # An answer that is new and stands here only once more may be the last one given.
            identity = _identity(scene, j)
            may_be_answer = identity[1] in told if told else answers > 0
            if may_be_answer and not is_double and fresh[identity] == 1:
                answers -= 1
                continue
        elif j > last_model and not is_double and one.tokens < LEAST_PASTED:
            continue
        copies.append(one)
    if not _is_telling(scene, copies, place):
        return
    yield from (one.index for one in copies)


def _told(scene: Scene) -> frozenset[bytes]:
    """What the model answered to the previous turn; empty where that is not in the record."""
    if scene.previous is None:
        return frozenset()
    return frozenset(bare_digest(scene.mine, block) for block in scene.previous.outputs)


def _is_telling(scene: Scene, copies: Sequence[_Message], place: dict[int, int]) -> bool:
    if not any(one.chars >= LEAST_CHARS for one in copies):
        return False
    if scene.previous is not None:
        return True
    # Of a first request nobody has seen the shorter form: people do ask the same question twice.
    if any(one.role != "assistant" and _is_double(scene, one, place) for one in copies):
        return True
    run: list[_Message] = []
    for one in copies:
        is_next = bool(run) and place[one.index] == place[run[-1].index] + 1
        run = [*run, one] if is_next else [one]
        long = sum(each.chars for each in run) >= SHORT_RUN_CHARS
        if len(run) >= LEAST_RUN or (len(run) == LEAST_RUN - 1 and long):
            return True
    return False


def _is_double(scene: Scene, one: _Message, place: dict[int, int]) -> bool:
    before = next((j for j, at in place.items() if at == place[one.index] - 1), None)
    return before is not None and _identity(scene, before) == _identity(scene, one.index)


def _message(scene: Scene, j: int) -> _Message:
    block, head = scene.turn.inputs[j], scene.new_block(j)
    is_call = any(call.index == j for call in pairs(scene.mine, scene.turn).calls)
    text = without_markers(scene.text(head))
    return _Message(
        j,
        head.role,
        len(text.strip()),
        head.token_count,
        is_call or head.kind == "image" or _is_result(scene, block),
    )


def _is_result(scene: Scene, block: int) -> bool:
    return may_be_result(scene.mine, block) and result_at(scene.mine, block) is not None


def _identity(scene: Scene, j: int) -> tuple[str, bytes]:
    return _role(scene, j), bare_digest(scene.mine, scene.turn.inputs[j])


def _role(scene: Scene, j: int) -> str:
    return scene.new_block(j).role
