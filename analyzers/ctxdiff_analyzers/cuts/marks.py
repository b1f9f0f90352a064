# ruff: noqa: RUF001  # words and signs of several scripts
"""Words and shapes by which programs say that they left out a part of a text.

Only shapes count: a word in brackets of its own, a line of its own, a count of what is missing.
The same word inside a sentence says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

READ = 50_000
"""Code points read at each end of a text."""
END = 240
"""Code points at the end of a text in which a line of its own is looked for."""
FEW, LEAST = 12, 24
"""Code points before a mark: a text that is all mark is a message, not a cut text. Fewer do
where the mark counts what is missing, or names the part."""
LEAVES = 400
"""Texts inside one JSON value that are looked at."""

_STEMS = (
    # English
    *("truncated", "truncation", "truncating", "trimmed", "clipped", "cut off", "cut short"),
    *("omitted", "elided", "snipped"),
    *("abridged", "shortened", "not shown", "not displayed", "left out", "too long", "too large"),
    *("left off", "result limited", "results limited", "collapsed", "not included", "not listed"),
    *("limit reached", "limit exceeded", "limit hit", "maximum reached", "maximum exceeded"),
    # German, Dutch, Norwegian, Danish, Swedish, Finnish
    *("gekürzt", "abgeschnitten", "ausgelassen", "weggelassen", "abgebrochen", "gekappt"),
    *("afgekapt", "ingekort", "afgebroken", "avkortet", "forkortet", "utelatt", "avkuttet"),
    *("udeladt", "afkortet", "avkortad", "förkortad", "trunkerad", "utelämnad", "katkaistu"),
    *("lyhennetty", "trunkert", "trunkeret", "kuttet", "kapad"),
    # French, Spanish, Portuguese, Italian, Romanian
    *("tronqu", "abrég", "coupé", "omis", "truncad", "recortad", "omitid", "cortad"),
    *("troncat", "tagliat", "omess", "abbreviat", "trunchiat", "troncad"),
    # Polish, Czech, Hungarian, Turkish, Indonesian, Vietnamese
    *("obcięt", "ucięt", "skrócon", "pominięt", "zkrácen", "oříznut", "vynechán", "csonkolva"),
    *("levágva", "kesildi", "kısaltıldı", "dipotong", "cắt bớt", "rút gọn"),
    # Russian, Ukrainian, Greek, Hebrew, Arabic, Hindi
    *("обрез", "усеч", "сокращ", "пропущ", "обріз", "скороч", "περικόπηκε", "κόπηκε", "קוצר"),
    *("נחתך", "اقتطاع", "مقتطع", "اختصار", "छोटा किया"),
    # Chinese, Japanese, Korean, Thai
    *("截断", "截斷", "省略", "以下略", "后略", "後略", "中略", "下略", "切り捨て", "切り詰め"),
    *(
        "仅显示",
        "只显示",
        "僅顯示",
        "未显示",
        "表示しません",
        "表示していません",
        "非表示",
        "残りは",
    ),
    *("표시하지 않", "생략", "잘림", "잘렸", "ตัดทอน"),
)
_WORD = "|".join(re.escape(stem) for stem in sorted(_STEMS, key=len, reverse=True))
_UNIT = (
    r"(?:char(?:acter)?s?|bytes?|[KMG]i?B|lines?|rows?|tokens?|words?|items?|entries|records?"
    r"|matches|results?|Zeilen|Zeichen|lignes|caractères|líneas|linhas|righe|caracteres|caratteri"
    r"|linjer|tegn|rader|tecken|regels|tekens|wierszy|znaków|строк|символ\w*|行|字|文字|条|件|項目|줄|자|건|개|files?)"
)
_MORE = (
    r"(?:more|further|additional|remaining|other|weitere|autres|de plus|más|mais|altr[ei]|flere"
    r"|fler|meer|więcej|ещё|еще|更多|残り|以上)"
)
_COUNT = rf"\d[\d.,'  ]*\s*(?:{_MORE}\s+)?{_UNIT}"
_DOT = r"[.…⋯]"
_DOTS = r"(?:\.{3,}|…|⋯)"
_OPEN, _CLOSE = r"[\[<({«【（〔［]", r"[\]>)}»】）〕］]"
_INSIDE = r"[^\[\]<>(){}\n]{0,120}?"
_SAID = rf"{_INSIDE}(?:{_WORD}){_INSIDE}{_CLOSE}"
# A bracket behind a word is code: `rows[truncated]`, `show(truncated=True)`.
_BRACKETED = rf"(?:(?<![\w\])])[\[<({{]|[«【（〔［]){_SAID}"
# In round brackets people put a word too, `(salt omitted)`: there a mark names what was cut, a
# count of it, or nothing but that something was.
_GENERIC = (
    r"(?:the|das|die|der|le|la|el|o|il|output|results?|response|content|text|remainder|rest|reste"
    r"|resto|file|data|message|list|log|body|further|more|remaining|Rest|Ausgabe|Inhalt|Ergebnis"
    r"|Antwort|sortie|résultat|réponse|contenu|contenido|salida|resultado|respuesta|conteúdo|saída"
    r"|resposta|risultato|contenuto|uscita|utdata|innhold|resten|innehåll|resultat|uitvoer"
    r"|wynik|reszta|вывод|ответ|остальное|текст|has been|have been|was|were|is|wurde|ist|been"
    r"|for brevity|due to (?:length|size)|by (?:the )?(?:tool|server|system)|here|at)"
)
_ROUND = (
    rf"(?<![\w\])])\((?=[^()\n]*\d)(?={_INSIDE}(?:{_WORD}))[^()\n]{{1,120}}\)"
    rf"|(?<![\w\])])\(\s*{_DOTS}?\s*(?:{_GENERIC}\s+){{0,4}}(?:以下|以后|后文|其余)?(?:{_WORD})\w{{0,4}}"
    rf"(?:\s+{_GENERIC}){{0,3}}\s*{_DOTS}?\s*\)"
    rf"|(?<={_DOT}{_DOT} )\({_SAID}|(?<=… )\({_SAID}"
    rf"|(?<={_DOT}{_DOT})\({_SAID}|(?<=\n)\({_SAID}"
)
_ATTACHED = rf"(?:[\[<{{«【（〔［]{_SAID}|{_ROUND})"
_COUNTED = (
    rf"{_OPEN}\s*(?:{_DOTS}\s*|\+\s*|and\s+|und\s+|et\s+|y\s+){_COUNT}\s*{_DOTS}?\s*{_CLOSE}"
    rf"|{_OPEN}\s*\d[\d.,' ]*\s*{_MORE}\s+{_UNIT}\s*{_CLOSE}"
)
_GONE = (
    r"(?:dropped|removed|hidden|suppressed|skipped|withheld|folded|left|missing|cut|entfernt|fehlen"
    r"|ausgeblendet|übersprungen|supprimé|masqué|eliminad|ocult|suprimid|removid|rimoss|nascost"
    r"|verwijderd|verborgen|fjernet|borttagn|usunięt|ukryt|удален|скрыт|continúa|continua|suite)"
)
"""Words that say it only beside a count, or of the middle or the rest."""
_PART = r"(?:middle|rest|remainder|tail|end|Rest|Mitte|reste|suite|resto|fine|rest[ae]n|reszta)"
_LESS = (
    rf"(?<![\w\])])[\[<({{«【（〔［](?=[^\[\]<>(){{}}\n]{{0,100}}{_COUNT})"
    rf"(?=[^\[\]<>(){{}}\n]{{0,120}}(?:{_GONE}))[^\[\]<>(){{}}\n]{{3,140}}{_CLOSE}"
    rf"|[\[<(«【（〔［]\s*(?:the\s+)?{_PART}\s+(?:of\s+\w+\s+)?(?:{_GONE}|{_WORD})\w*\s*{_CLOSE}"
    rf"|{_DOTS}\s*{_COUNT}\s+(?:{_GONE}|{_WORD})\w*\s*{_DOTS}"
)
_ELIDED = rf"(?<![\w\])])[\[<(«【（〔［]\s*{_DOTS}\s*{_CLOSE}"
_CITED = r"[^()\n]{0,80}?(?:\b(?:1[89]|20)\d\d\b|\bpp?\. ?\d|ibid|laugh|applause|sic\b)"
_NOTED = (
    rf"{_DOTS}\s*(?:[\[<{{«【（〔［]|\((?!{_CITED}))[^\[\]<>(){{}}\n]{{1,80}}{_CLOSE}"
    rf"|(?<![\w\])])[\[<(«【（〔［]\s*{_DOTS}[^\[\]<>(){{}}\n]{{1,80}}{_CLOSE}"
    rf"|(?<![\])]){_OPEN}\s*(?:cut|snip|more|continued|rest|corte|cortado|coupe|coupure|suite"
    rf"|schnitt|schnipp|weiter|taglio|continua|continúa|corta|uklippt|knip|待续|未完|続く|続き)\s*{_CLOSE}"
    rf"|[-=*\#~]{{2,}}\s*(?:snip|snipped|cut|schnipp|corte|coupe|taglio)\s*[-=*\#~]{{2,}}"
)
"""A note in brackets beside or behind dots, in whatever language."""

MARK = re.compile(rf"{_BRACKETED}|{_COUNTED}|{_LESS}", re.IGNORECASE)
"""A mark in brackets, wherever it stands."""
AT_END = re.compile(
    rf"(?:{_ATTACHED}|{_COUNTED}|{_LESS}|{_ELIDED}|{_NOTED}|{_DOTS}\s*(?:{_WORD})[\w\s]{{0,40}})[\s.…]*\Z",
    re.IGNORECASE,
)
LINE = re.compile(
    rf"""
    \A\s*(?:
        [-=*\#~.…/|>+\s]{{2,}}[^\n]{{0,100}}?(?:{_WORD})[^\n]{{0,100}}
      | {_DOTS}\s*(?:\(?\s*(?:and\s+)?{_COUNT}\b[^\n]{{0,60}})
      | \.{{3,5}} | …+ | ⋯+
      | \d[\d.,' ]*\s*{_MORE}\s+{_UNIT}\b[^\n]{{0,60}}
      | \+?\d[\d.,' ]*\s*{_UNIT}\s+[^\n]{{0,20}}?(?:{_WORD})[^\n]{{0,60}}
      | (?:the\s+|this\s+)?(?:output|result|response|content|text|file|log|listing|message|document
          |data|Ausgabe|Ergebnis|sortie|résultat|salida|resultado|saída|uscita|utdata|resultat)s?
          \s+[^\n]{{0,40}}?(?:{_WORD})[^\n]{{0,80}}
      | (?:output|response|result|size|length|token|character|char|line|byte|buffer)s?\s+
          (?:limit|maximum|cap|budget)\b[^\n]{{0,80}}
      | [^\n]{{0,60}}?(?:{_WORD})[^\n]{{0,20}}\b(?:showing|displaying)\s+[^\n]{{0,80}}
      | (?:showing|displaying|kept|only)\s+(?:the\s+)?(?:first|last)\s+\d[^\n]{{0,80}}
    )\s*\Z
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A line of its own at the end of a text."""
PAGED = re.compile(
    r"next_?(?:page|cursor|token|offset|link|url)|cursor|page_?token|continuation|has_?more"
    r"|\bpage\s*[=:]?\s*\d|\boffset\b|\bpage\b",
    re.IGNORECASE,
)
"""Words of a result that comes in pages, of which the next can be asked for."""
_AMOUNT = re.compile(_COUNT, re.IGNORECASE)
_TELLING = re.compile(rf"{_COUNT}|{_PART}\s", re.IGNORECASE)
_FLAG = re.compile(
    r"(?:is_?|was_?|has_?been_?)?(?:truncated|clipped|abridged|cut_?off)", re.IGNORECASE
)


def cut_mark(text: str) -> str | None:
    """The mark by which a text says that a part of it was left out; None where it says nothing.

    A page of a longer list is whole, and so is a text that ends with dots in its last sentence.
    """
    window = text if len(text) <= 2 * READ else f"{text[:READ]}\n{text[-READ:]}"
    found = _marked(window)
    if found is None and text.startswith(("{", "[")):
        return None
    return found


def flagged(value: Any) -> str | None:
    """The member or text of a JSON value that says so."""
    is_paged = False
    found: str | None = None
    for name, leaf in _leaves(value):
        is_paged = is_paged or (PAGED.fullmatch(name) is not None and leaf not in (None, "", False))
        if leaf is True and _FLAG.fullmatch(name):
            found = found or name
        elif isinstance(leaf, str) and len(leaf) >= FEW:
            found = found or _marked(leaf)
    return None if is_paged else found


def _marked(text: str) -> str | None:
    end = text.rstrip()
    at_end = AT_END.search(end, max(0, len(end) - END))
    if at_end is not None and at_end.start() >= _least(at_end[0]):
        return None if PAGED.search(at_end[0]) else at_end[0].strip()
    start = end.rfind("\n", max(0, len(end) - END)) + 1
    line = end[start:]
    if (
        start >= _least(line)
        and line == line.lstrip()
        and LINE.match(line)
        and not PAGED.search(line)
    ):
        return line.strip()
    return next(_alone(end), None)


def _least(mark: str) -> int:
    return FEW if _TELLING.search(mark) else LEAST


def _alone(text: str) -> Iterator[str]:
    """Marks in the middle: alone on their line, with dots beside them, or with a count inside."""
    for found in MARK.finditer(text, FEW):
        if found.start() < _least(found[0]):
            continue
        before, after = text[: found.start()][-8:], text[found.end() :][:8]
        ends = ("", "\n", "<") if found[0].startswith("<") else ("", "\n")
        is_line = before.rstrip(" .…")[-1:] in ("", "\n") and after.lstrip(" .…")[:1] in ends
        has_dots = before.rstrip().endswith(("...", "…")) or after.lstrip().startswith(("...", "…"))
        is_counted = _AMOUNT.search(found[0]) is not None and not PAGED.search(found[0])
        if (is_line or has_dots or is_counted) and not _is_quoted(text, found):
            yield found[0]


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    """Whether the mark ends a literal, as in a program that puts marks: `+ "... [truncated]"`."""
    quote = text[found.end() : found.end() + 8].lstrip(" .…\\n)")[:1]
    start = text.rfind("\n", 0, found.start()) + 1
    return quote in ("'", '"', "`") and text.count(quote, start, found.start()) % 2 == 1


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Members that hold no others, each with its nearest name, breadth first."""
    waiting: list[tuple[str, Any]] = [("", value)]
    seen = 0
    while waiting and seen < LEAVES:
        name, held = waiting.pop(0)
        seen += 1
        if isinstance(held, dict):
            waiting += [(str(key), inner) for key, inner in list(held.items())[:LEAVES]]
        elif isinstance(held, list):
            waiting += [(name, inner) for inner in held[:LEAVES]]
        else:
            yield name, held
