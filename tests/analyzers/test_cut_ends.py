"""Code and rows of a table that break off, and those that end as they should."""

from __future__ import annotations

import pytest
from ctxdiff_analyzers.cuts.cut import broken_off

MODULE = '''"""Basins of the works, and what fills them."""

from __future__ import annotations

from works.pumps import Pump
from works.units import Litre

FULL = Litre(83_000)


class Basin:
    def __init__(self, name: str, pumps: list[Pump]) -> None:
        self.name = name
        self.pumps = pumps

    def fill(self, wanted: Litre) -> None:
        for pump in self.pumps:
            pump.start()
'''
SCRIPT = """package works

import "log"

type Basin struct {
	name  string
	pumps []Pump
}

func (b *Basin) Fill(wanted Litre) error {
	for _, pump := range b.pumps {
		log.Printf("start %s", pump.name)
	}
	return nil
}
"""
HITS = "\n".join(f"works/basin_{n}.py:{n}2:def drain_{n}(basin: Basin) -> None:" for n in range(6))
CUT = {
    "a name without its parameters": f"{MODULE}\n\ndef report_on_lev",
    "a parameter": f"{MODULE}\n\ndef report(level: Lit",
    "an argument": f"{MODULE}\n\nNORTH = Basin(7",
    "an open list": f"{MODULE}\n\nNAMES = ['north', 'south', 4",
    "a function of another language": f"{SCRIPT}\nfunc (b *Basin) Drain(until L",
    "a declaration of another language": f"{SCRIPT}\nfunc NewBas",
    "a hit of a search": f"{HITS}\nworks/canal.py:8:def lock_ga",
    "code with a mark of many words": f"{MODULE}\nThe response was over the limit set and is shortened.",
    "a row with dots": "pump;kw;hours\nnorth;4,1;9\nsouth;0;0\neast;2,2…",
    "a row with three dots": "pump,kw,hours\nnorth,4.1,9\nsouth,0,0\neast,2...",
}
WHOLE = {
    "a module": MODULE,
    "a module without its last line end": MODULE.rstrip("\n"),
    "a page that ends at a call's first line": f"{MODULE}\n\nNORTH = Basin(",
    "a page that ends between arguments": f"{MODULE}\n\nNORTH = Basin(\n    'north',",
    "a page that ends in a condition": f"{MODULE}\n\nif (NORTH.full and\n",
    "a page that ends with a block's head": f"{MODULE}\n\ndef report(level: Litre) -> str:",
    "another language": SCRIPT.rstrip("\n"),
    "hits of a search": HITS,
    "prose with an open bracket": "The pumps ran. " * 14 + "The crew saw that :( and left at 5",
    "prose about a response": "The crew was asked.\nTheir response to the letter of the harbour master was polite and short",
    "progress": "Building the image...\nPushing the image...\nRestarting the service...",
    "snippets": "1. North, the pump that ran...\n2. South, which stood...\n3. East, of which we know...",
    "an enumeration": "Pumps (in order of age):\n1) north\n2) south\n3) east\n" * 5 + "4) west",
}


@pytest.mark.parametrize("kind", CUT)
def test_code_and_rows_that_break_off_are_found(kind: str) -> None:
    assert broken_off(CUT[kind]) is not None


@pytest.mark.parametrize("kind", WHOLE)
def test_code_and_rows_that_end_as_they_should_are_whole(kind: str) -> None:
    assert broken_off(WHOLE[kind]) is None
