"""The provider on loopback and the recordings of `tests/capture/wire`, for the tests here."""

from tests.capture.wire.conftest import new_recording, provider, recording

__all__ = ["new_recording", "provider", "recording"]
