"""Which texts are cut, and which only look so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ctxdiff_analyzers.cuts.cut import broken_off, is_start_of
from hypothesis import given, settings
from hypothesis import strategies as st

REPORT = (
    "Station report for 14 May. The north pump ran nine hours and drew 4.1 kW on average. "
    "Filter two was changed at noon because its pressure had risen to 1.8 bar. "
    "The south pump stood still; its spare bearing arrives on Monday. "
    "Rainfall was 12 mm, and the basin is at 83 percent. Nothing else was noticed by the crew."
)
ROWS = [{"sku": f"HX-{n:03d}", "title": f"Hinge number {n}", "pieces": n * 7} for n in range(12)]
LISTING = json.dumps({"order": "W-220", "state": "packed", "lines": ROWS})
LOG = "\n".join(f"10:0{n} pump={n} state=idle load=0.{n}" for n in range(9))
CODE = """from __future__ import annotations

import logging

logger = logging.getLogger("pump")


def restart(pump: Pump, *, attempts: int = 3) -> None:
    for attempt in range(attempts):
        if pump.start():
            logger.info("pump %s runs after %d attempts", pump.name, attempt)
            return
    raise PumpError(pump.name)
"""
TABLE = "| pump | kW | hours |\n|---|---|---|\n| north | 4.1 | 9 |\n| south | 0 | 0 |"
CSV = "\n".join(["pump,kw,hours", *(f"p{n},4.{n},{n}" for n in range(8))])

WHOLE = {
    "prose": REPORT,
    "prose that trails off": f"{REPORT} And then the crew went home and said…",
    "prose that trails off with dots": f"{REPORT} Who knows what the next week brings...",
    "prose about omissions": f"{REPORT} Names were omitted for privacy.",
    "prose about a truncated cone": f"{REPORT} The basin is a truncated cone.",
    "a word in brackets": f"{REPORT} The old rule (never shortened since 1999) still holds for all pumps.",
    "json": LISTING,
    "json with line ends": json.dumps(ROWS, indent=2) + "\n",
    "a page of json": json.dumps({"items": ROWS, "next_cursor": "b2Zmc2V0", "truncated": True}),
    "a page that is told": f"{LOG}\nShowing results 1-9 of 52, page 1",
    "more on the next page": f"{LOG}\n... 43 more results, ask for page 2",
    "not truncated": json.dumps({"items": ROWS, "truncated": False}),
    "a big number": "8675309" * 30,
    "a number": "20.34",
    "code": CODE,
    "a few lines of code": "\n".join(CODE.splitlines()[7:10]) + "\n",
    "code with a bracket left open at a line's end": CODE[: CODE.index("            logger.info(")] + "            logger.info(\n",
    "code that speaks of it": CODE.replace("idle", "x") + "TRUNCATED = True\nshow(text, truncated=True)",
    "a stub": "class Pump:\n    name: str\n\n    def start(self) -> bool:\n        ...",
    "a log": LOG,
    "a log that starts like json": f"[INFO] 10:00 started\n{LOG}",
    "a template": "{name} has {count} items and nothing more to say about them at all here today",
    "tests": "collected 3 items\n\ntests/test_pump.py ...      [100%]\n\n3 passed in 0.03s",
    "lines with a sum": "- north ran for nine hours.\n- south ran for two hours.\n- east ran for one hour.\n- west did not run.\nTotal: 12 hours of 36, twelve fewer than a week ago and four more than two weeks ago",
    "padded rows": "".join(f"{name:<20}{n:<30}\n" for n, name in enumerate(("north", "south", "east", "west"))).rstrip("\n"),
    "psql": " pump  | kw\n-------+-----\n north | 4.1\n south | 0\n(2 rows)",
    "table": TABLE,
    "csv": CSV,
    "csv with a sum": f"{CSV}\nTotal,36",
    "grep": "a.py:3:def open_pump(\nb.py:9:    return open_pump(name,\nc.py:12:x = open_pump(",
    "paths": "pump/__init__.py\npump/configuration.md\npump/store/memory.py\npump/config",
    "xml": "<pumps><pump id='1'>north</pump><pump id='2'>south</pump></pumps>",
    "a label": "<result>\nThe north pump ran nine hours today and nobody had to look after it.",
    "html": "<p>The north pump ran nine hours.<br>The south one stood still.",
    "fence": "```python\nprint(1)\n```",
    "a summary of the tool": "12 files changed, 3 more than yesterday; 40 lines were shortened in all.",
    "an error": "Error: the file is too large to read (2.1 MB; limit is 1 MB)",
    "success": "ok: 1 replacement in pump/cli.py",
    "a title": "Report on the pumps of the northern basin, part one of two",
    "empty": "",
    "python value": repr(ROWS),
    "lines of json": "\n".join(map(json.dumps, ROWS)),
    "json with a comment": '{\n  // the pumps\n  "north": 1,\n  "south": 2,\n}',
    "chinese": "北泵今天运行了九个小时。南泵停了。水位是百分之八十三。",
    "git": "9b1f0aa 2026-05-18 iris Tidy\n41d77c2 2026-05-02 tormod Validate\n0c9e6d1 2026-04-11 iris Slots",
    "500 characters that end well": (REPORT * 3)[:499] + ".",
}  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE)
def test_a_whole_text_is_not_taken_for_a_cut_one(kind: str) -> None:
    assert broken_off(WHOLE[kind]) is None


CUT = {
    "mark": [
        LISTING[:200] + "\n[truncated]",
        LISTING[:200] + "... (output truncated)",
        REPORT[:160] + "…[+512 chars]",
        REPORT[:160] + " <cut off here>",
        LOG + "\n... 12 more lines",
        LOG + "\n[... 240 lines omitted ...]",
        LOG + "\n--- output limit reached ---",
        LOG + "\nOutput was clipped after 2000 bytes",
        LOG + "\n[...]",
        LOG + "\n…",
        LOG[:200] + "\n... [180 characters omitted] ...\n" + LOG[220:],
        REPORT[:160] + " [gekürzt]",
        REPORT[:160] + " (… tronqué)",
        REPORT[:160] + "\n[salida recortada]",
        REPORT[:160] + " [… 以下略]",
        REPORT[:160] + "（已截断）",
        REPORT[:160] + "\n... (обрезано)",
        REPORT[:160] + "\n--- avkortet, 311 tegn igjen ---",
        LOG + "\n(17 weitere Zeilen)",
        LOG + "\nshowing first 9 of 240 lines",
        json.dumps({"id": 4, "body": REPORT[:200] + "... [truncated]"}),
        json.dumps({"id": 4, "body": REPORT, "truncated": True}),
        LOG + "\n# result too large, rest left out",
        REPORT[:163] + "[truncated]",
        REPORT[:163] + "...[cut]",
        REPORT[:163] + " [snip]",
        REPORT[:163] + "… (jatkuu)",
        REPORT[:163] + " [… więcej]",
    ],
    "json": [
        LISTING[:171],
        LISTING[:200],
        LISTING[:-1],
        LISTING[: LISTING.index("pieces") + 3],
        json.dumps(ROWS, indent=2)[:-30],
        json.dumps({"a": [True, False, None], "text": "one two"})[:24],
        repr(ROWS)[:150],
        "\n".join(map(json.dumps, ROWS))[:-20],
        LISTING[: LISTING.index("}, {") + 1] + " <klippt>",
    ],
    "markup": [
        "<pumps><pump id='1'>north</pump><pump id='2'>sou",
        "<feed>\n<entry>one entry about the pumps</entry>\n<entry>two",
    ],
    "fence": ["```json\n{\n  a: 1,\n  b: 2\n"],
    "table": [TABLE + "\n| east | 2", CSV + "\np8,4"],
    "sentence": [REPORT[: REPORT.index("is at 83") + 2], REPORT[: REPORT.index("spare") - 5].rstrip() + " and the"],
    "line": [CODE[: CODE.index('attempts", pump.name, attempt)') + 3], CODE[: CODE.index("pump %s runs")], CODE[: CODE.index("logger.info")], CODE[: CODE.index("logging.getLogger")] + CODE[-160:].replace("\n", " ").rstrip() + " = "],
    "sentence ": [("[p.1] The north pump ran for nine hours.\n[p.2] The south pump ran for two hours.\n[p.3] The east pump ran for one hour.\n[p.4] The west pump did not run at all.\n[p.5] The basin rose to 83 percent on 12 May f")],
    "length": [(CODE.replace("\n", " ") * 3)[:500], ("pump " * 600)[:2048]],
    "word": [REPORT[: REPORT.rindex("percent") - 1] + " of its stat...", CODE[: CODE.index("range(attempts)") + 8], REPORT[: REPORT.rindex("percent") - 1] + " " + "Stat"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("sign", "text"), [(sign, text) for sign, texts in CUT.items() for text in texts]
)
def test_a_cut_text_is_known_by_its_end(sign: str, text: str) -> None:
    found = broken_off(text)
    assert found is not None
    assert found.sign == sign.strip()


def test_a_longer_form_shows_that_a_text_is_its_start() -> None:
    assert is_start_of(REPORT[:100], REPORT)
    assert not is_start_of(REPORT, REPORT)
    assert not is_start_of(REPORT[:10], REPORT)
    assert not is_start_of(REPORT[1:100], REPORT)


values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=4), inner),
    max_leaves=20,
)


@given(values)
def test_whole_json_is_never_taken_for_a_cut_one(value: Any) -> None:
    assert broken_off(json.dumps(value)) is None


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.text("xyz ", max_size=30), min_size=1), min_size=2), st.data())  # fmt: skip
def test_json_that_is_cut_anywhere_is_found(value: Any, data: st.DataObject) -> None:
    text = json.dumps([*value, *value, *value])
    end = data.draw(st.integers(20, len(text) - 1))
    assert broken_off(text[:end]) is not None


@settings(max_examples=300)
@given(st.text(max_size=300) | st.text("[]{}<>`|,;\"' \n…truncated0123", max_size=400))
def test_any_text_is_read_without_harm(text: str) -> None:
    broken_off(text)


@pytest.mark.parametrize("piece", ["[" * 100_000, "<" * 100_000, "... " * 50_000, "(1 " * 60_000, "a" * 300_000, "[truncated " * 20_000])  # fmt: skip
def test_a_hostile_text_costs_little(piece: str) -> None:
    assert broken_off(piece) is None or broken_off(piece)
