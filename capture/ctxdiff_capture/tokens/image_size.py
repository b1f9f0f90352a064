"""Width and height of a picture, read from its first bytes."""

from __future__ import annotations

from dataclasses import dataclass

_LONGEST_SIDE = 65_535
_JPEG_SEARCHED = 1 << 20
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})


@dataclass(frozen=True, slots=True)
class Size:
    """In pixels, each side 1 to 65,535."""

    width: int
    height: int


def size_of(data: bytes) -> Size | None:
    """The size of a PNG, GIF, JPEG or WebP; None for other formats and damaged headers."""
    sides = _png(data) or _gif(data) or _jpeg(data) or _webp(data)
    if sides is None or not all(1 <= side <= _LONGEST_SIDE for side in sides):
        return None
    return Size(*sides)


def is_picture(data: bytes) -> bool:
    """Whether the bytes begin like one of the four formats."""
    return (
        data.startswith((b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff"))
        or data[:4] + data[8:12] == b"RIFFWEBP"
    )


def _png(data: bytes) -> tuple[int, int] | None:
    if len(data) < 24 or not data.startswith(b"\x89PNG\r\n\x1a\n") or data[12:16] != b"IHDR":
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _gif(data: bytes) -> tuple[int, int] | None:
    if len(data) < 10 or data[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _jpeg(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(b"\xff\xd8"):
        return None
    at, end = 2, min(len(data), _JPEG_SEARCHED)
    while at + 1 < end:
        marker = data[at + 1]
        if data[at] != 0xFF or marker == 0xFF:
            at += 1  # garbage or a fill byte: look for the next marker
        elif marker in _STANDALONE or marker == 0x00:
            at += 2
        elif marker in _SOF:
            sides = data[at + 5 : at + 9]
            if len(sides) < 4:
                return None
            return int.from_bytes(sides[2:], "big"), int.from_bytes(sides[:2], "big")
        else:
            length = int.from_bytes(data[at + 2 : at + 4], "big")
            if length < 2:
                return None
            at += 2 + length
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    if len(data) < 30 or data[:4] + data[8:12] != b"RIFFWEBP":
        return None
    kind = data[12:16]
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = (int.from_bytes(data[at : at + 2], "little") for at in (26, 28))
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
        return width + 1, height + 1
    return None
