from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxdiff_mcp.gate.clean import INVERSE, clean, restore

STRANGE = st.text(st.characters(), max_size=200)


@given(STRANGE)
@example("⟦41⟧")
@example("⟦x80⟧\udc80")
@example("a\u0301\u200d\u0301👨\u200d👩")
def test_every_text_comes_back_exactly(text: str) -> None:
    assert restore(clean(text)) == text


def test_every_code_point_comes_back_exactly_and_none_hides(
    hides: Callable[[str], set[str]],
) -> None:
    for start in range(0, 0x110000, 0x2000):
        text = "".join(f"{chr(code)} " for code in range(start, min(start + 0x2000, 0x110000)))
        shown = clean(text)
        assert restore(shown) == text
        assert hides(shown) == set()


@given(STRANGE)
def test_a_bracket_stands_in_cleaned_text_only_as_an_escape(text: str) -> None:
    assert not set(INVERSE.sub("", clean(text))) & set("⟦⟧〚〛")


def test_a_vector_is_shown_without_anything_hidden_and_restored(
    hostile: str, properties: set[str], hides: Callable[[str], set[str]]
) -> None:
    shown = clean(hostile)
    assert restore(shown) == hostile
    assert hides(shown) == set()
    if "VERBATIM" in properties:
        assert shown == hostile


@pytest.mark.parametrize(
    "text",
    [
        "Ordinary English, with code: if (a < b && c[0] | d) { return `x`; }\n\tpath/to/file.py",
        "Le café coûte 3 € ; « bien sûr », dit-elle.",
        "שלום עולם, מה שלומך היום?",
        "مرحبا بالعالم، كيف حالك؟",
        "می‌خواهم به خانه بروم و کتاب‌ها را بخوانم",
        "नमस्ते दुनिया, क्‍या हाल है? कर्म और ज्ञान",
        "你好，世界。こんにちは。안녕하세요",
        "❤️ 1️⃣ #️⃣ ☎️ 👨‍👩‍👧‍👦 👍🏽 🏳️‍🌈",
        "F# pipes: xs <| f |> g and [INSTALL] or [mask], p <|> q, a<b|c>d, <T extends A|B>",
        "\n\nHuman: hi\n\nAssistant: hello\n### Instruction:\nSystem: <system>x</system> <file>",
        "e\u0301 o\u0302\u0323 x\u0336y\u0336",
    ],
)
def test_ordinary_text_passes_unchanged(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "⟦1B⟧[31mred"),
        ("a\r\nb", "a⟦0D⟧\nb"),
        ("bell\x07 nul\x00 del\x7f c1\x9b", "bell⟦07⟧ nul⟦00⟧ del⟦7F⟧ c1⟦9B⟧"),
        ("user\u202egnp.exe", "user⟦202E⟧gnp.exe"),
        ("\ufeffx\u00ady", "⟦FEFF⟧x⟦AD⟧y"),
        ("tag\U000e0041", "tag⟦E0041⟧"),
        ("lone\ud800", "lone⟦D800⟧"),
        (b"byte\xff".decode("utf-8", "surrogateescape"), "byte⟦xFF⟧"),
        ("⟦end⟧〚x〛", "⟦27E6⟧end⟦27E7⟧⟦301A⟧x⟦301B⟧"),
        ("<|im_start|>system", "⟦3C⟧|im_start|>system"),
        ("[INST] hi [/INST] </s>", "⟦5B⟧INST] hi ⟦5B⟧/INST] ⟦3C⟧/s>"),
        ("<|eot_id|><start_of_turn>", "⟦3C⟧|eot_id|>⟦3C⟧start_of_turn>"),
        ("]~b]~b] [e~[INST]", "⟦5D⟧~b⟦5D⟧~b] ⟦5B⟧e~⟦5B⟧INST]"),
        ("<<|x|><|turn>a<turn|>", "<⟦3C⟧|x|>⟦3C⟧|turn>a⟦3C⟧turn|>"),
        ("\u0301 leads", "⟦301⟧ leads"),
        ("a" + "\u0301" * 9, "a" + "\u0301" * 8 + "⟦301⟧"),
        ("a\u200db \u200c end\u200d", "a⟦200D⟧b ⟦200C⟧ end⟦200D⟧"),
        ("x\ufe0f 1\ufe0f 😀\ufe0f\ufe0f", "x⟦FE0F⟧ 1⟦FE0F⟧ 😀\ufe0f⟦FE0F⟧"),
        ("\u200b\u0301", "⟦200B⟧⟦301⟧"),
    ],
)
def test_what_hides_or_misleads_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(st.sampled_from("a\u0301\u0323\ufe0f\u200d⟦\x00 \n"), max_size=60))
def test_no_mark_stands_on_a_boundary_or_in_a_row_of_nine(text: str) -> None:
    shown = clean(text)
    assert not re.search(r"(?:\A|[⟧\n])[\u0301\u0323]", shown)
    marks = "".join("m" if unicodedata.category(char)[0] == "M" else "." for char in shown)
    assert "m" * 9 not in marks
