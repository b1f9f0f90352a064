"""Tool results that report a failure."""

from __future__ import annotations

from collections.abc import Iterator

from ctxdiff_analyzers.detectors.scene import LISTED, Scene, excerpt, tokens_of
from ctxdiff_analyzers.exchanges import Given, answered, given_at, may_be_result, result_at
from ctxdiff_analyzers.failures.failure import Failure, failure, words_of
from ctxdiff_analyzers.failures.fields import Rule
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.paths import path_of

WHY: dict[Rule, str] = {
    "field": "the result's JSON has a member for an error, and it is set",
    "status": "the result's JSON says in its status that it failed",
    "exit": "the result tells an exit status other than 0",
    "http": "the result's JSON tells an HTTP status of 400 or above",
    "head": "the result begins as an error message does",
    "traceback": "the result is a traceback, or ends in one",
    "shell": "the result has a shell's own complaint",
    "phrase": "the whole result is a short error message",
    "tail": "the last line of the result is an error that stopped the rest of it",
}
FLAGGED = "the result is marked as a failure"


def error(scene: Scene) -> Iterator[Finding]:
    """Results that stand in the conversation for the first time and report a failure."""
    found = [(given, told) for given in _new_results(scene) if (told := _failure(given))]
    if not found:
        yield from _hosted(scene)
        return
    blocks = [scene.new_block(given.index) for given, _ in found]
    flagged = all(given.result.flag is not None for given, _ in found)
    names = dict.fromkeys(given.name for given, _ in found if given.name is not None)
    tokens, method = tokens_of(blocks)
    first = found[0][0]
    yield scene.finding(
        "tool_error",
        "high",
        certainty="measured" if flagged else "inferred",
        why=FLAGGED
        if flagged
        else next(WHY[told.rule] for given, told in found if given.result.flag is None),
        evidence=Evidence(
            content_hashes=tuple(block.content_hash for block in blocks[:LISTED]),
            positions=tuple(scene.turn.positions[given.index] for given, _ in found[:LISTED]),
            names=tuple(excerpt(name) for name in names)[:LISTED],
            excerpts=tuple(excerpt(told.said) for _, told in found[:3]),
            counts=(("results", len(found)),),
            path=path_of(scene.mine, scene.turn, first.index),
        ),
        tokens=tokens,
        tokens_method=method,
        next=NextCall("ctxdiff_block", (("content_hash", blocks[0].content_hash),)),
    )


def _new_results(scene: Scene) -> Iterator[Given]:
    """Results that this agent had not been shown before."""
    if scene.previous is None:
        # A conversation that is taken up again: what the model has answered is not new to it.
        fresh = tuple(range(answered(scene.mine, scene.turn), len(scene.turn.inputs)))
        told = set[int]()
    else:
        fresh = scene.matching.new
        told = set(scene.previous.outputs)
    for index in fresh:
        block = scene.turn.inputs[index]
        if block not in told and may_be_result(scene.mine, block):
            given = given_at(scene.mine, scene.turn, index)
            if given is not None:
                yield given


def _failure(given: Given) -> Failure | None:
    if given.result.flag is not None:
        return Failure("field", words_of(given.result.content))
    echoed = frozenset[str]() if given.call is None else given.call.argument_names()
    return failure(given.result.content, echoed)


def _hosted(scene: Scene) -> Iterator[Finding]:
    """A tool that the provider runs, and whose failure stands in the answer itself."""
    for block in scene.turn.outputs:
        result = result_at(scene.mine, block)
        if result is None or result.flag is None:
            continue
        head = scene.mine.blocks[block]
        yield scene.finding(
            "tool_error",
            "medium",
            why=FLAGGED,
            evidence=Evidence(
                content_hashes=(head.content_hash,),
                names=() if result.name is None else (excerpt(result.name),),
                excerpts=(excerpt(words_of(result.content)),),
                counts=(("results", 1),),
            ),
            tokens=head.token_count,
            tokens_method=tokens_of([head])[1],
            next=NextCall("ctxdiff_block", (("content_hash", head.content_hash),)),
        )
        return
