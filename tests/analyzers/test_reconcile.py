"""What the provider billed beyond the record has a name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.reconcile import Reconciled, Share, reconciled, reconciliation

HELD = {"model": "m", "previous_response_id": "resp_1"}


def only(make: SimpleNamespace, billed: int, *blocks: Any, **call: Any) -> Reconciled | None:
    run = make.run()
    usage = call.pop("usage", {"prompt_tokens": billed})
    call.setdefault("provider", "openai")
    turn = run.add(*blocks, usage=usage, **call)
    return reconciled(run.done(), turn)


@pytest.mark.parametrize(
    ("billed", "call", "reasons"),
    [
        (100, {}, ()),
        (107, {}, ("framing",)),
        (96, {}, ("framing",)),
        (1_600, {}, ("unexplained",)),
        (1_600, {"params": HELD, "surface": "openai.responses"}, ("held_by_provider",)),
        (90, {"params": HELD, "surface": "openai.responses"}, ("framing",)),
        (20, {"params": {"truncation": "auto"}}, ("trimmed_by_provider",)),
        (20, {"params": {"context_management": {"edits": []}}}, ("trimmed_by_provider",)),
        (140, {"provider": "anthropic"}, ("estimate",)),
        (900, {"provider": "anthropic"}, ("unexplained",)),
        (900, {"provider": "anthropic", "params": {"container": "c"}}, ("held_by_provider",)),
    ],
)
def test_a_difference_is_explained_by_what_the_request_says(
    make: SimpleNamespace, billed: int, call: dict[str, Any], reasons: tuple[str, ...]
) -> None:
    found = only(make, billed, make.user("u", tokens=100), **call)
    assert found is not None
    assert (found.difference, found.reasons) == (billed - 100, reasons)


def test_tools_of_the_provider_explain_what_they_put_in(make: SimpleNamespace) -> None:
    user = make.user("u", tokens=100)
    gemini = {"promptTokenCount": 100, "toolUsePromptTokenCount": 700}
    searched = {"input_tokens": 9_000, "server_tool_use": {"web_search_requests": 2}}
    idle = {"input_tokens": 9_000, "server_tool_use": {"web_search_requests": 0}}
    for provider, usage, reasons in (
        ("gemini", gemini, ("provider_tools",)),
        ("anthropic", searched, ("provider_tools",)),
        ("anthropic", idle, ("unexplained",)),
    ):
        found = only(make, 0, user, provider=provider, usage=usage)
        assert found is not None
        assert found.reasons == reasons, usage


def test_an_image_of_unknown_cost_explains_what_is_more(make: SimpleNamespace) -> None:
    image = make.block("user", "[image]", "image", tokens=0, method="estimate")
    found = only(make, 1_100, make.user("u", tokens=100), image)
    assert found is not None
    assert found.reasons == ("unmeasured",)


def test_schemas_are_written_in_another_form_by_the_provider(make: SimpleNamespace) -> None:
    schema = make.schema({"name": "f"}, tokens=400)
    found = only(make, 180, make.user("u", tokens=100), schema)
    assert found is not None
    assert found.reasons == ("framing",)


def test_nothing_billed_is_nothing_to_explain(make: SimpleNamespace) -> None:
    assert only(make, 0, make.user("u"), usage=None) is None


def test_a_scope_names_its_largest_reason_first(make: SimpleNamespace) -> None:
    run = make.run()
    user = make.user("u", tokens=100)
    billed: list[tuple[int, dict[str, Any]]] = [(104, {}), (103, {}), (2_100, HELD), (9_000, {})]
    for tokens, params in billed:
        run.add(
            user,
            provider="openai",
            surface="openai.responses",
            params=params,
            usage={"prompt_tokens": tokens},
        )
    run.add(user, provider="openai")
    found = reconciliation(run.done())
    assert (found.calls, found.billed, found.blocks) == (4, 11_307, 400)
    assert found.shares == (
        Share("unexplained", 1, 8_900),
        Share("held_by_provider", 1, 2_000),
        Share("framing", 2, 7),
    )
    assert found.held == ("previous_response_id",)
