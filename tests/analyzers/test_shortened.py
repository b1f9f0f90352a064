"""Which texts are cut forms of others, and which were only edited."""

from __future__ import annotations

import json

import pytest
from ctxdiff_analyzers.cuts.shortened import shortening
from hypothesis import given
from hypothesis import strategies as st

from tests.analyzers.test_cut import CSV, LISTING, LOG, REPORT, ROWS

BERTHS = "\n".join(
    f"{name};{metres};{guest}"
    for name, metres, guest in (
        ("Havgull", 11, "Ness"),
        ("Terne", 9, "Solheim"),
        ("Alke", 14, "Brekke"),
        ("Lunde", 8, "Moen"),
    )
)
TIDES = "満潮は午前六時十二分、潮位は二百十センチです。干潮は正午過ぎで、岸壁は使えません。午後は風が強まります。"


def parts(*texts: str) -> str:
    return json.dumps([{"type": "text", "text": text} for text in texts], ensure_ascii=False)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        (LISTING, LISTING[:171] + "\n<truncated>", 171),
        (LISTING, LISTING[:171], 171),
        (REPORT[:160], REPORT[:120] + " [+40 chars]", None),
        (REPORT[:160], REPORT[:132], 132),
        (REPORT, REPORT[:90] + " … " + REPORT[-80:], None),
        (REPORT, "[head left out] " + REPORT[150:], None),
        (REPORT, REPORT[-120:], 120),
        (LISTING, "[Old tool result content cleared]", 0),
        (LISTING, json.dumps({"order": "W-220", "state": "packed", "lines": ROWS[:3]}), None),
        (json.dumps({"a": REPORT}), json.dumps({"a": REPORT[:60] + "..."}), None),
        # In the parts of a result, too.
        (parts(REPORT, BERTHS), parts(REPORT[-150:], BERTHS), None),
        (parts(REPORT, BERTHS), parts("[older result removed]", BERTHS), None),
        (
            json.dumps({"at": 4, "log": LOG}),
            json.dumps({"at": 4, "log": LOG[:60] + LOG[-60:]}),
            None,
        ),
        # A mark may be longer than what it stands for.
        (BERTHS, BERTHS[:40] + "\n[list ends here, it was cut off at 50 characters]", 40),
        (
            BERTHS,
            BERTHS[:44] + "\nThe listing went over the size that is allowed and was shortened.",
            44,
        ),
        (LOG, LOG[:-14] + "\n(2 more lines)", len(LOG) - 14),
        (REPORT, REPORT[:-30] + "… [gekürzt]", len(REPORT) - 30),
        # Nothing stands for what is gone, and a word is torn or left waiting.
        (REPORT, REPORT[:-7], len(REPORT) - 7),
        (BERTHS, BERTHS[: -len(";Moen") - 3], len(BERTHS) - len(";Moen") - 3),
        ("berths: Alke, Lunde, Terne", "berths: Alke,", 13),
        (BERTHS, BERTHS[9:], len(BERTHS) - 9),
        (REPORT, REPORT[:113] + REPORT[-121:], 234),
        (LISTING, LISTING[:150] + LISTING[-150:], 300),
        (CSV * 3, CSV[:30] + CSV[-29:], 59),
        (TIDES, TIDES[:20], 20),
        # A note stands for a short result.
        (BERTHS, "[tool output cleared]", 0),
        (BERTHS, "(eldre resultat fjernet)", 0),
        (TIDES, "[古い結果は削除されました]", 0),
        (BERTHS, "<contenido eliminado>", 0),
        (BERTHS, "result pruned", 0),
        (BERTHS, "Inhalt wurde gelöscht.", 0),
    ],
)
def test_a_shorter_form_of_a_text_is_a_cut(old: str, new: str, kept: int | None) -> None:
    found = shortening(old, new)
    assert found is not None
    assert kept is None or found.kept_chars == kept


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (REPORT, REPORT.replace("4.1", "9.9")),
        (REPORT, REPORT.replace("Monday", "[REDACTED]")),
        (REPORT, REPORT.replace("12 mm", "[x]")),
        (REPORT, REPORT.replace(" Filter two was changed at noon because its pressure had risen to 1.8 bar.", "")),
        (REPORT, REPORT + " More followed."),
        (REPORT, REPORT),
        (REPORT, "Quite another text about the pumps, written by somebody else on another day, with words and words." * 3),
        ("20.34", "20"),
        (REPORT + " Ask liv.haugen@example.org", REPORT + " Ask [EMAIL]"),
        (REPORT + "\n\n   ", REPORT),
        (LISTING, json.dumps({"order": "W-221", "state": "sent", "lines": ROWS[:3]})),
        (BERTHS, BERTHS.replace("Terne;9;Solheim\n", "")),
        (parts(REPORT, BERTHS), parts(REPORT.replace(" Filter two was changed at noon because", " And"), BERTHS)),
        (parts(BERTHS, REPORT), parts("The berths are closed.", REPORT)),
        (BERTHS, "The berths are closed today."),
        (BERTHS, "Alke was removed from the list by the harbour master."),
        (BERTHS, '["deleted"]'),
        (BERTHS, BERTHS.replace("Solheim", "[removed]")),
        ("berth 12500 kroner", "berth 12 kroner"),
        ("paid 48120", "paid 48"),
        (REPORT, REPORT[:-1]),
        (f"{REPORT}\n(took 4 s)", REPORT),
        (TIDES, TIDES.replace("午後は風が強まります。", "")),
    ],
)  # fmt: skip
def test_an_edit_is_no_cut(old: str, new: str) -> None:
    assert shortening(old, new) is None


@given(st.text("abc ", min_size=1, max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_what_is_kept_and_cut_is_never_more_than_there_was(text: str, a: int, b: int) -> None:
    old = text * 4
    new = old[:a] + old[len(old) - b :]
    found = shortening(old, new)
    if found is not None:
        assert found.kept_chars <= len(new) < len(old)
        assert 0 < found.cut_chars <= len(old)


@given(st.text(max_size=300) | st.text("[]{}<>`|,;\"' \n…truncated0123", max_size=400))
def test_any_text_is_compared_without_harm(text: str) -> None:
    shortening(text, text[: len(text) // 2])
    shortening(text + "x" * 200, text)
    assert shortening(text, text) is None
