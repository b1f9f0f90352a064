"""The digest of a body is its SHA-256, whatever was hashed before."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from ctxdiff_capture.decoders.digests import Digests
from hypothesis import given
from hypothesis import strategies as st

BODIES = st.lists(
    st.tuples(
        st.integers(0, 6), st.lists(st.sampled_from([b"", b"a", b"b", b"ab"])), st.booleans()
    ),
    max_size=12,
)


@given(BODIES)
def test_any_sequence_of_bodies_has_the_digests_of_its_bodies(bodies):
    digests = Digests()
    last: Sequence[bytes] = ()
    for kept, added, is_large in bodies:
        last = (*last[:kept], *added)
        size = 3_000_000 if is_large else 3
        assert digests.of(last, size) == sha256(b"".join(last)).hexdigest()
