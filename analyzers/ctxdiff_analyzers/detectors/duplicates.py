"""Content that stands more than once in one request."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from ctxdiff_analyzers.calling import result_of
from ctxdiff_analyzers.content import without_markers
from ctxdiff_analyzers.detectors.scene import (
    LISTED,
    Scene,
    excerpt,
    is_prompt,
    tokens_of,
)
from ctxdiff_analyzers.detectors.truncation import content_text, plain, unwrapped
from ctxdiff_analyzers.exchanges import result_at
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall, Severity
from ctxdiff_analyzers.matching import bare_digest, is_marker
from ctxdiff_analyzers.pairing import Result, pairs
from ctxdiff_analyzers.paths import path_of
from ctxdiff_analyzers.ranges import overlap, same_target
from ctxdiff_analyzers.repeats import (
    Repeat,
    doubled,
    doubled_in_result,
    passage_twice,
    repeated,
    windows,
)
from ctxdiff_analyzers.timeline import Timeline

LEAST_RESULT, LEAST_ASKED = 160, 40
"""Code points from which a result that came twice costs something: of different calls, and of the
same call."""
LEAST_TOKENS, LEAST_READ = 8, 64
"""Tokens of a result that may be the same as another, and that may overlap with another."""
COMPARED = 256
"""Earlier results that new ones are compared with, the latest."""
LARGE = 500
"""Duplicate tokens that make a finding more than a trifle."""
OVERLAP, SAME_TARGET, LEAST_WINDOWS = 0.5, 0.2, 8
"""Share of the smaller result, and runs of lines, that two overlapping reads have in common; and
the share that is enough for two pieces of one thing."""
LEAST_PROMPT = 20
"""Code points of a system text from which its copies are told."""
LEAST_NEW_UNIT = 80
"""Code points of a repeated paragraph of a text that nobody has seen shorter."""
PASTED_UNIT = 120
"""Likewise of what people paste, which repeats itself by nature."""
TOLD = 5


def prompt(scene: Scene) -> Iterator[Finding]:
    """System text that is sent several times, more often than in the previous turn."""
    here = _prompts(scene.mine, scene.turn.inputs)
    before = {} if scene.previous is None else _prompts(scene.mine, scene.previous.inputs)
    for digest, indices in here.items():
        block = scene.new_block(indices[0])
        if len(indices) < 2 or len(indices) <= len(before.get(digest, ())):
            continue
        if len(scene.text(block)) < LEAST_PROMPT:
            continue
        tokens, method = tokens_of([scene.new_block(j) for j in indices[1:]])
        yield scene.finding(
            "duplicate_context",
            _severity(tokens),
            cause="duplicate_system_prompt",
            evidence=Evidence(
                content_hashes=(block.content_hash,),
                positions=tuple(scene.turn.positions[j] for j in indices[:LISTED]),
                excerpts=(excerpt(scene.text(block)),),
                counts=(("copies", len(indices)), ("duplicate_tokens", tokens)),
                path=path_of(scene.mine, scene.turn, indices[1]),
            ),
            tokens=tokens,
            tokens_method=method,
            next=scene.to_diff(),
        )


def results(scene: Scene) -> Iterator[Finding]:
    """New tool results that the request holds already: the same, or a piece of the same text."""
    new = set(scene.matching.new)
    found = pairs(scene.mine, scene.turn).results
    if not any(one.index in new for one in found):
        return
    same: defaultdict[bytes, list[Result]] = defaultdict(list)
    for one in _comparable(scene, found, new):
        digest, chars = result_print(scene, one.index)
        if chars >= LEAST_ASKED:
            same[digest].append(one)
    told = 0
    for group in same.values():
        if len(group) > 1 and group[-1].index in new and _is_costly(scene, group):
            yield _repeated(scene, group)
            told += 1
            if told == TOLD:
                return
    distinct = [group[0] for group in same.values()]
    for earlier, later, share in _overlaps(scene, distinct, new):
        yield _overlapping(scene, earlier, later, share)
        told += 1
        if told == TOLD:
            return


def _is_costly(scene: Scene, group: Sequence[Result]) -> bool:
    """True unless different calls gave one short answer, as tools do on success."""
    asked = {_key(one) for one in group}
    return result_print(scene, group[0].index)[1] >= LEAST_RESULT or (
        len(asked) == 1 and None not in asked
    )


def _comparable(scene: Scene, found: Sequence[Result], new: set[int]) -> list[Result]:
    """The new results, and the earlier ones that may hold the same or a piece of the same."""
    fresh = [one for one in found if one.index in new]
    sizes = [scene.new_block(one.index).token_count for one in fresh]
    large = max(sizes) >= LEAST_READ
    earlier = [
        one
        for one in found
        if one.index not in new
        and (size := scene.new_block(one.index).token_count) >= LEAST_TOKENS
        and ((large and size >= LEAST_READ) or any(_is_near(size, other) for other in sizes))
    ]
    return sorted((*earlier[-COMPARED:], *fresh), key=lambda one: one.index)


def _is_near(size: int, other: int) -> bool:
    # Equal contents count alike but for the ids around them.
    return abs(size - other) <= 32 + other // 10


def within(scene: Scene) -> Iterator[Finding]:
    """New or edited blocks that say the same twice."""
    old_of = {j: i for i, j in scene.matching.edited}
    told = 0
    for j in sorted((*scene.matching.new, *old_of)):
        found = _within(scene, j, old_of.get(j))
        if found is not None:
            yield found
            told += 1
            if told == TOLD:
                return


def _prompts(timeline: Timeline, inputs: Sequence[int]) -> dict[bytes, list[int]]:
    found: defaultdict[bytes, list[int]] = defaultdict(list)
    for index, block in enumerate(inputs):
        head = timeline.blocks[block]
        if is_prompt(head) and not head.is_empty and not is_marker(timeline, block):
            found[bare_digest(timeline, block)].append(index)
    return found


def result_print(scene: Scene, index: int) -> tuple[bytes, int]:
    """What tells the content of the result at `index` from others, and its code points."""
    role = scene.new_block(index).role

    def answer(text: str) -> tuple[bytes, int]:
        result = result_of(text, role)
        said = text if result is None else plain(result.content)
        digest = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        return digest, len(said)

    return scene.mine.fact("result print", scene.turn.inputs[index], answer)


def _windows(scene: Scene, index: int) -> frozenset[int]:
    role = scene.new_block(index).role

    def answer(text: str) -> frozenset[int]:
        result = result_of(text, role)
        return windows(text if result is None else plain(result.content))

    return scene.mine.fact("result windows", scene.turn.inputs[index], answer)


def _overlaps(
    scene: Scene, found: Sequence[Result], new: set[int]
) -> Iterator[tuple[Result, Result, float]]:
    """Earlier and later result of different calls that have many lines in common."""
    holders: defaultdict[int, list[int]] = defaultdict(list)
    for at, later in enumerate(found):
        mine = _windows(scene, later.index)
        if later.index in new:
            votes = Counter(one for window in mine for one in holders.get(window, ()))
            # Pieces of one thing may be short, or alike in all lines.
            votes.update({one: 0 for one in range(at) if _asked_overlap(found[one], later)})
            shares = {one: _share(scene, found[one], later, votes[one]) for one in votes}
            best = max(shares, key=shares.__getitem__, default=None)
            if best is not None and shares[best] > 0:
                yield found[best], later, shares[best]
        for window in mine:
            holders[window].append(at)


def _share(scene: Scene, earlier: Result, later: Result, common: int) -> float:
    """Share of the smaller result that both hold; 0.0 where it tells nothing."""
    one, two = _key(earlier), _key(later)
    if one is not None and one == two:
        return 0.0
    sizes = len(_windows(scene, earlier.index)), len(_windows(scene, later.index))
    share = common / max(1, min(sizes))
    is_one_thing = one is not None and two is not None and same_target(one, two)
    if common >= LEAST_WINDOWS and share >= (SAME_TARGET if is_one_thing else OVERLAP):
        return share
    asked = _asked_overlap(earlier, later)
    return asked if asked >= SAME_TARGET and (common or _is_within(scene, earlier, later)) else 0.0


def _asked_overlap(earlier: Result, later: Result) -> float:
    one, two = _key(earlier), _key(later)
    return 0.0 if one is None or two is None else overlap(one, two)


def _is_within(scene: Scene, earlier: Result, later: Result) -> bool:
    """True when one of two results is a piece of the other."""
    one, two = (content_text(scene, scene.turn.inputs[r.index]).strip() for r in (earlier, later))
    return bool(one and two) and (one in two or two in one)


def _key(result: Result) -> str | None:
    return None if result.call is None else result.call.key


def _repeated(scene: Scene, group: Sequence[Result]) -> Finding:
    blocks = [scene.new_block(one.index) for one in group]
    tokens, method = tokens_of(blocks[1:])
    last = group[-1]
    return scene.finding(
        "duplicate_context",
        _severity(tokens),
        cause="repeated_tool_result",
        evidence=Evidence(
            content_hashes=tuple(block.content_hash for block in blocks[:LISTED]),
            positions=tuple(scene.turn.positions[one.index] for one in group[:LISTED]),
            names=tuple(dict.fromkeys(one.call.name for one in group if one.call is not None)),
            excerpts=(excerpt(scene.text(blocks[-1])),),
            counts=(("copies", len(group)), ("duplicate_tokens", tokens)),
            path=path_of(scene.mine, scene.turn, last.index),
        ),
        tokens=tokens,
        tokens_method=method,
        next=NextCall("ctxdiff_block", (("content_hash", blocks[-1].content_hash),)),
    )


def _overlapping(scene: Scene, earlier: Result, later: Result, share: float) -> Finding:
    blocks = [scene.new_block(earlier.index), scene.new_block(later.index)]
    tokens = int(share * min(block.token_count for block in blocks))
    calls = [one.call for one in (earlier, later) if one.call is not None]
    return scene.finding(
        "duplicate_context",
        _severity(tokens),
        cause="overlapping_reads",
        certainty="inferred",
        why="two results of different calls have lines in common",
        evidence=Evidence(
            content_hashes=tuple(block.content_hash for block in blocks),
            positions=tuple(scene.turn.positions[one.index] for one in (earlier, later)),
            names=tuple(dict.fromkeys(call.name for call in calls)),
            excerpts=tuple(excerpt(call.key) for call in calls),
            counts=(("copies", 2), ("percent", int(share * 100)), ("duplicate_tokens", tokens)),
            path=path_of(scene.mine, scene.turn, later.index),
        ),
        tokens=tokens,
        tokens_method="estimate",
        next=NextCall("ctxdiff_block", (("content_hash", blocks[1].content_hash),)),
    )


def _within(scene: Scene, j: int, i: int | None) -> Finding | None:
    block = scene.new_block(j)
    if block.kind not in ("message", "content_part") or block.is_empty or block.role == "assistant":
        return None
    result = result_at(scene.mine, scene.turn.inputs[j])
    if result is not None:
        twice = doubled_in_result(unwrapped(result.content))
        return None if twice is None else _said_twice(scene, j, twice, "duplicate_within_result")
    text = without_markers(scene.text(block))
    twice = _repeat(text, is_prompt=is_prompt(block), is_new=i is None)
    if twice is None:
        return None
    if i is not None and _counted(without_markers(scene.text(scene.old_block(i))), twice) >= (
        twice.copies
    ):
        return None
    return _said_twice(scene, j, twice, "repeated_text_in_block")


def _repeat(text: str, *, is_prompt: bool, is_new: bool) -> Repeat | None:
    """A repeat that is none of the writer's own habits."""
    if not is_prompt:
        # What people paste repeats itself; a message that is itself twice was sent twice.
        found = doubled(text)
        pasted = None if found else repeated(text, paragraphs_only=True)
        if pasted is not None and len(pasted.piece) >= PASTED_UNIT:
            return pasted
        return found or passage_twice(text)
    found = repeated(text)
    if found is None or (is_new and len(found.piece) < LEAST_NEW_UNIT and found.copies < 3):
        return None
    return found


def _counted(text: str, twice: Repeat) -> int:
    return text.count(twice.piece)


def _said_twice(scene: Scene, j: int, twice: Repeat, cause: str) -> Finding:
    block = scene.new_block(j)
    text = scene.text(block)
    tokens = min(
        block.token_count, round(block.token_count * twice.extra_chars / max(1, len(text)))
    )
    path = path_of(scene.mine, scene.turn, j)
    return scene.finding(
        "duplicate_context",
        _severity(tokens),
        cause=cause,
        evidence=Evidence(
            content_hashes=(block.content_hash,),
            positions=(scene.turn.positions[j],),
            excerpts=(excerpt(twice.piece),),
            counts=(("copies", twice.copies), ("duplicate_tokens", tokens)),
            path=path,
        ),
        tokens=tokens,
        tokens_method="estimate",
        next=NextCall("ctxdiff_block", (("content_hash", block.content_hash),)),
    )


def _severity(tokens: int) -> Severity:
    return "medium" if tokens >= LARGE else "low"
