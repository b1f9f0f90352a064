# ruff: noqa: RUF001  # words and signs of several scripts
"""Whether a text is a cut form of another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ctxdiff_analyzers.cuts.cut import json_state
from ctxdiff_analyzers.cuts.marks import cut_mark
from ctxdiff_analyzers.hunks import common_prefix, common_suffix

MARK_CHARS = 300
"""Code points that a mark in the place of what was cut may have, at most."""
LEAST_CUT, LEAST_SHARE = 40, 0.1
LEAST_END, LEAST_END_SHARE = 20, 0.05
"""Less than this is an edit, not a cut; likewise at the start or end of a text."""
LEAST_AMID = 0.3
"""Share of a text that is left out between whole words and is a cut without any mark."""
LEAST_TORN = 6
"""Code points at the start or end of a text whose loss tore a word, and so is no edit."""
LEAST_MARKED = 12
"""Code points that a mark at the end stands for, at least."""
CHANCE = 3
"""Code points at an end of two texts that are equal by chance: `"}`."""
PLACEHOLDER = 200
"""Code points of a note that stands for a whole result, at most."""
LEAST_CLEARED = 200
LEAST_SAID = 0.7
"""Length of a note that says what it stands for, as a part of the text's."""
_NODES = 20_000
_FOLLOWED = tuple(",;:([{<=、，；：（")
_GONE = (
    # English, German, Dutch, Norwegian, Danish, Swedish, Finnish
    r"clear|remov|delet|dropp|prun|omit|elid|evict|purg|discard|strip|archiv|offload|compact|trim"
    r"|no longer|gelöscht|entfernt|verworfen|ausgelassen|geleert|verwijder|gewist|fjern|slett"
    r"|tømt|ryddet|borttag|rader|rensa|poistettu"
    # French, Spanish, Portuguese, Italian, Romanian
    r"|supprim|effac|retir|elimin|borrad|quitad|descart|omitid|removid|apagad|rimoss|svuotat|șters"
    # Polish, Czech, Hungarian, Turkish, Indonesian, Vietnamese
    r"|usunięt|wyczyszcz|odstran|smaz|töröl|silin|temizlen|kaldırıl|dihapus|đã x[oó]"
    # Russian, Ukrainian, Greek, Hebrew, Arabic, Hindi, Thai, Chinese, Japanese, Korean
    r"|удал|очищ|видал|διαγρ|αφαιρ|נמחק|הוסר|حذف|مسح|إزال|أزيل|हटा|ลบ|清除|删除|刪除|移除|清空|削除"
    r"|消去|クリア|삭제|제거"
)
_THING = (
    r"content|result|output|message|response|payload|inhalt|ergebnis|ausgabe|nachricht|inhoud"
    r"|resulta|uitvoer|innhold|indhold|innehåll|utdata|sisältö|tulos|contenu|résultat|sortie"
    r"|contenido|salida|mensaje|conteúdo|saída|contenuto|risultat|messaggi|conținut|rezultat|treść"
    r"|wynik|obsah|výsledek|tartalom|eredmény|içerik|sonuç|çıktı|konten|hasil|nội dung|kết quả"
    r"|содерж|результат|вывод|вміст|περιεχ|αποτέλ|תוכן|תוצא|المحتوى|محتوى|نتيجة|النتائج|सामग्री|परिणाम"
    r"|内容|內容|结果|結果|出力|내용|결과|출력|เนื้อหา|ผลลัพธ์"
)
_BRACKETED = re.compile(rf"[\[<({{【（*]+[^\n]*(?:{_GONE})[^\n]*[\]>)}}】）*]+[.]?", re.IGNORECASE)
_TOLD = re.compile(
    rf"[^\n]*(?:(?:{_THING})[^\n]{{0,40}}?(?:{_GONE})|(?:{_GONE})[^\n]{{0,40}}?(?:{_THING}))[^\n]*",
    re.IGNORECASE,
)
MOST_TOLD = 80
"""Code points of a note without brackets: a longer one is a text of its own."""


@dataclass(frozen=True, slots=True)
class Shortening:
    """How much of a text is left."""

    kept_chars: int
    cut_chars: int
    first_difference: int
    mark: str
    """What stands in the place of what was cut; empty for nothing. Captured text."""


def shortening(old: str, new: str) -> Shortening | None:
    """How `new` is a cut form of `old`: its start, its end, or both, with or without a mark.

    None when it is another text. A few words that were taken out or replaced are an edit and no
    cut, unless a word was torn in two.
    """
    head = common_prefix(old, new)
    tail = common_suffix(old, new, min(len(old), len(new)) - head)
    put, cut = len(new) - head - tail, len(old) - head - tail
    mark = new[head : head + put]
    if not tail and cut >= LEAST_MARKED and put <= MARK_CHARS and _is_marked(old, new, head):
        return Shortening(head, cut, head, mark.strip())
    if len(new) >= len(old):
        return None
    is_torn = not put and (_is_torn(old, head, cut) or (not tail and _is_left_open(old, new)))
    if is_torn and cut >= (LEAST_CUT if head and tail else LEAST_TORN):
        return Shortening(len(new), cut, head, "")
    if _is_note(old, new):
        return Shortening(0, len(old), head, new.strip())
    # At its ends a text is cut, in the middle it may be edited.
    is_end = min(head, tail) <= CHANCE
    least = (LEAST_END, LEAST_END_SHARE) if is_end else (LEAST_CUT, LEAST_SHARE)
    if cut - put < max(least[0], least[1] * len(old)):
        return None
    if put <= MARK_CHARS and put < head + tail and _is_cut(old, new, head, tail):
        return Shortening(len(new) - put, cut, head, mark.strip())
    if _is_part(old, new):
        return Shortening(len(new), len(old) - len(new), head, "")
    if len(old) >= LEAST_CLEARED and len(new) <= min(PLACEHOLDER, len(old) // 4):
        return Shortening(0, len(old), head, new.strip())
    return None


def _is_note(old: str, new: str) -> bool:
    """True for a note that says that a text is gone; another short result is an edit."""
    note = new.strip()
    if not note or len(note) > min(PLACEHOLDER, LEAST_SAID * len(old)) or note in old:
        return False
    if _BRACKETED.fullmatch(note) is not None:
        return json_state(note)[1] != "whole"
    return len(note) <= MOST_TOLD and _TOLD.fullmatch(note) is not None


def _is_marked(old: str, new: str, head: int) -> bool:
    """True where `new` says at its end that the rest was left out, as `old` does not."""
    put = new[head:]
    if put.startswith("\n") and cut_mark(f"{new[:head]}\n[{put.strip()}]") is not None:
        # A line of its own in place of the end needs no brackets.
        return cut_mark(old) is None
    mark = cut_mark(new)
    if mark is None or cut_mark(old) is not None:
        return False
    at = new.rfind(mark)
    is_last = at + len(mark) >= len(new.rstrip())
    return is_last and at + len(mark) > head and not new[head:at].strip(" \n\t.…")


def _is_torn(old: str, start: int, cut: int) -> bool:
    """True where the piece of that length from `start` on begins or ends inside a word.

    The same piece may be read a little further left, where it repeats what stands before it.
    """
    end = start + cut
    while not (_is_border(old, start) and _is_border(old, end)):
        if not start or old[start - 1] != old[end - 1]:
            return True
        start, end = start - 1, end - 1
    return False


def _is_left_open(old: str, new: str) -> bool:
    """True where a sign that something follows is the last one, as it is not in `old`."""
    return new[-1:] in _FOLLOWED and old.rstrip()[-1:] not in _FOLLOWED


def _is_border(text: str, at: int) -> bool:
    return not (0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum())


def _is_cut(old: str, new: str, head: int, tail: int) -> bool:
    put, cut = len(new) - head - tail, len(old) - head - tail
    if min(head, tail) <= CHANCE:
        return not min(head, tail) or len(new) - min(head, tail) > 20
    if not put:
        return cut >= LEAST_AMID * len(old)
    # In the middle something has to say that a part is missing.
    mark = new[head : head + put]
    return bool(mark.strip()) and (
        cut_mark(new) is not None or re.search(r"\.{3}|…|\d|[\[<({【（]", mark) is not None
    )


def _is_part(old: str, new: str) -> bool:
    """True for a JSON value with fewer members, entries or shorter texts than another."""
    if not old.startswith(("{", "[")) or not new.startswith(("{", "[")):
        return False
    before, one = json_state(old)
    now, two = json_state(new)
    return one == two == "whole" and before != now and _within(now, before, [_NODES])


def _within(part: Any, whole: Any, left: list[int]) -> bool:
    left[0] -= 1
    if left[0] < 0:
        return False
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _within(part[key], whole[key], left) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(
            _within(one, other, left) for one, other in zip(part, whole, strict=False)
        )
    if isinstance(part, str) and isinstance(whole, str) and part != whole:
        start = common_prefix(part, whole)
        is_start = start >= 8 and len(part) - start <= 80 and len(part) < len(whole)
        return is_start or shortening(whole, part) is not None
    return bool(part == whole)
