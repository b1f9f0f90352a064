"""Agent, step and tags: what is in force for which call."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from ctxdiff_capture.model import Tag
from ctxdiff_capture.recorder.scope import Scope


@dataclass
class Document:
    page_content: str


def labels(scope: Scope) -> list[tuple[str, str]]:
    return [(tag.label, tag.text) for tag in scope.take()[1]]


@pytest.mark.parametrize(
    ("items", "texts"),
    [
        ("one text", ["one text"]),
        (["a", "b"], ["a", "b"]),
        (("a", b"b"), ["a", "b"]),
        ({"text": "a"}, ["a"]),
        ([{"text": "a"}, {"content": "b"}, {"page_content": "c"}, {"other": 1}], ["a", "b", "c"]),
        ([{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], ["ab"]),
        (Document("a"), ["a"]),
        ([Document("a"), Document("b")], ["a", "b"]),
        ((text for text in "ab"), ["a", "b"]),
        ([1, None, ""], ["1"]),
        (7, ["7"]),
        (None, []),
        ([], []),
    ],
)
def test_texts_are_found_in_whatever_is_tagged(items: Any, texts: list[str]) -> None:
    scope = Scope()

    scope.tag("rag", items)

    assert labels(scope) == [("rag", text) for text in texts]


def test_tags_add_up_and_are_used_by_the_next_call_alone() -> None:
    scope = Scope()
    scope.tag("rag", "a")
    scope.tag("memory", ["b", "c"])

    assert scope.take() == (None, (Tag("rag", "a"), Tag("memory", "b"), Tag("memory", "c")))
    assert scope.take() == (None, ())


def test_a_call_in_a_child_task_uses_the_tags_up_for_its_parent() -> None:
    scope = Scope()

    async def run() -> list[list[tuple[str, str]]]:
        async def call() -> list[tuple[str, str]]:
            return labels(scope)

        scope.tag("rag", "a")
        first = await asyncio.create_task(call())
        return [first, await asyncio.wait_for(call(), 5), labels(scope)]

    assert asyncio.run(run()) == [[("rag", "a")], [], []]


def test_a_tag_made_after_a_task_was_started_is_not_the_tasks() -> None:
    scope = Scope()

    async def run() -> list[list[tuple[str, str]]]:
        async def call() -> list[tuple[str, str]]:
            return labels(scope)

        scope.tag("early", "a")
        task = asyncio.create_task(call())
        scope.tag("late", "b")
        return [await task, labels(scope)]

    assert asyncio.run(run()) == [[("early", "a")], [("late", "b")]]


def test_one_of_two_calls_at_once_gets_the_tags() -> None:
    scope = Scope()
    got: list[list[tuple[str, str]]] = []
    scope.tag("rag", "a")
    contexts = [contextvars.copy_context() for _ in range(8)]
    threads = [
        threading.Thread(target=c.run, args=(lambda: got.append(labels(scope)),)) for c in contexts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(got) == [[]] * 7 + [[("rag", "a")]]


def test_steps_nest_and_come_back() -> None:
    scope = Scope()
    seen = []
    scope.mark("plan")
    with scope.inside("search"):
        seen.append(scope.take()[0])
        with scope.inside(7):
            seen.append(scope.take()[0])
        seen.append(scope.take()[0])
    seen.append(scope.take()[0])
    scope.mark(None)

    assert [*seen, scope.take()[0]] == ["search", "7", "search", "plan", None]


def test_a_step_that_is_left_in_another_context_raises_nothing() -> None:
    scope = Scope()
    step = scope.inside("search")
    contextvars.copy_context().run(step.__enter__)

    assert step.__exit__(None, None, None) is False
    assert scope.take()[0] is None


def in_thread(work: Any) -> Any:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(work()))
    thread.start()
    thread.join()
    return seen[0]


def test_a_thread_has_the_labels_of_where_it_was_started() -> None:
    scope = Scope()
    scope.mark("plan")
    scope.tag("rag", "a")

    assert in_thread(scope.take) == ("plan", (Tag("rag", "a"),))
    assert (in_thread(scope.take), scope.take()) == (("plan", ()), ("plan", ()))


def test_work_in_a_pool_has_the_labels_of_where_it_was_given() -> None:
    scope = Scope()
    with ThreadPoolExecutor(1) as pool:
        scope.mark("outer")
        scope.tag("rag", "a")
        seen = [pool.submit(scope.take).result()]
        with scope.inside("inner"), scope.as_agent("planner"):
            seen.append(pool.submit(lambda: (scope.take()[0], scope.agent)).result())
        scope.mark(None)
        seen.append(pool.submit(scope.take).result())
        seen.extend(pool.map(lambda _: scope.agent, [1]))

    assert seen == [("outer", (Tag("rag", "a"),)), ("inner", "planner"), (None, ()), None]


def test_a_thread_that_sets_labels_leaves_those_of_its_starter_alone() -> None:
    scope = Scope()
    scope.mark("plan")

    assert in_thread(lambda: (scope.mark("search"), scope.take()[0])[1]) == "search"
    assert scope.take()[0] == "plan"


def test_a_thread_of_a_class_of_its_own_runs_as_before() -> None:
    class Worker(threading.Thread):
        def run(self) -> None:
            self.seen = (scope.take()[0], "run" in vars(self))

    scope = Scope()
    scope.mark("plan")
    worker = Worker()
    worker.start()
    worker.join()

    assert worker.seen == ("plan", False)


def test_a_thread_whose_run_the_host_has_replaced_runs_that() -> None:
    scope = Scope()
    scope.mark("plan")
    seen: list[Any] = []
    thread = threading.Thread()
    thread.run = run = lambda: seen.append(scope.take()[0])  # type: ignore[method-assign]
    thread.start()
    thread.join()

    assert (seen, thread.run) == (["plan"], run)


@pytest.mark.parametrize("name", ["labels", "call", "pool", "submit", "args", "self", "thread"])
def test_work_in_a_pool_may_take_options_of_any_name(name: str) -> None:
    scope = Scope()
    scope.mark("plan")
    with ThreadPoolExecutor(1) as pool:
        # `self` and the like belong to the pool's own method, with us and without.
        submitted = pool.submit(lambda **options: options, **{name: 1})

    assert submitted.result() == {name: 1}


def in_pool(*works: Any) -> list[Any]:
    """What `works` give, one after another, on one and the same thread of a pool."""
    with ThreadPoolExecutor(1) as pool:
        return [pool.submit(work).result() for work in works]


def test_what_is_set_in_a_pool_ends_with_the_work_that_set_it() -> None:
    scope = Scope()

    def first() -> Any:
        scope.mark("plan")
        scope.tag("rag", "a")
        return scope.agent, scope._step.get().name

    def marked() -> Any:
        scope.mark("search")
        scope.tag("memory", "b")
        return scope.take()

    seen = in_pool(first, scope.take, marked, scope.take)

    assert seen == [(None, "plan"), (None, ()), ("search", (Tag("memory", "b"),)), (None, ())]


def test_labels_follow_into_threads_that_are_given_the_context() -> None:
    scope = Scope()

    async def run() -> Any:
        scope.mark("plan")
        scope.tag("rag", "a")
        return await asyncio.to_thread(scope.take), scope.take()

    assert asyncio.run(run()) == (("plan", (Tag("rag", "a"),)), ("plan", ()))


def test_a_step_marked_in_a_task_is_not_its_parents_nor_its_siblings() -> None:
    scope = Scope()

    async def work(step: str | None) -> Any:
        if step:
            scope.mark(step)
        await asyncio.sleep(0)
        return scope.take()[0]

    async def run() -> Any:
        return [*await asyncio.gather(work("a"), work(None), work("b")), scope.take()[0]]

    assert asyncio.run(run()) == ["a", None, "b", None]


def test_agents_nest_and_belong_to_their_task() -> None:
    scope = Scope()

    async def work(agent: str) -> list[str | None]:
        with scope.as_agent(agent):
            await asyncio.sleep(0)
            with scope.as_agent("inner"):
                inner = scope.agent
            return [scope.agent, inner]

    async def run() -> Any:
        return await asyncio.gather(work("a"), work("b")), scope.agent

    assert asyncio.run(run()) == ([["a", "inner"], ["b", "inner"]], None)
