"""Long texts cut where the vocabulary's own splitting cuts, so that the counts add up."""

from __future__ import annotations

import re
from collections.abc import Iterator

LARGEST = 65_536
"""Code points counted at once; tiktoken panics on longer runs of blanks (seen from 400,000)."""
SMALLEST = 16_384
"""Code points after which a seam is welcome."""

# No alternative of the o200k pattern spans these two places: a blank after anything visible, and
# punctuation or a line break after a letter or digit. The apostrophe belongs to contractions.
_SEAM = re.compile(r"(?<=\S)(?= )|(?<=[^\W_])(?=[\t\r\n!-&(-/:-@\[-`{-~\u3001\u3002\uff0c])")


def countable_pieces(
    text: str, *, largest: int = LARGEST, smallest: int = SMALLEST
) -> Iterator[tuple[str, bool]]:
    """`text` in order as pieces of at most `largest` code points, each with whether it is exact.

    A piece is exact when counting it by itself gives its share of the whole count. Where a run
    has no seam it is cut all the same, which may split a token.
    """
    start = 0
    while len(text) - start > largest:
        seam = _SEAM.search(text, start + smallest, start + largest)
        end = seam.start() if seam else start + smallest
        yield text[start:end], seam is not None
        start = end
    yield text[start:], True
