"""Looking for credentials is linear, and finds none in a flood of ordinary text."""

from __future__ import annotations

import hashlib
import json
import random
import string
import subprocess
import sys
import sysconfig
import uuid
from base64 import b64encode
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from ctxdiff_capture.secrets.detect import secret_spans

MEGABYTE = 2**20
CPU_SECONDS = 120
"""Some hundred times what one megabyte takes; quadratic work on it would take days."""

HOSTILE = (
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\\n" + "A" * 60,
    "eyJ-",
    "eyJaaaaaaaa.",
    ".eyJaaaaaaaa",
    "\\neyJ",
    "sk-",
    "sk-ant-",
    "AKIA",
    "AKIAAAAAAAAAAAAAAAAAAA",
    "bearer ",
    "basic QUFB",
    "://",
    "://a:",
    "://a:b",
    "?key=",
    "&sig=aaaaaaaaaaaaa",
    'key="',
    "key=\\\\\\",
    "password = ",
    "password=a ",
    "host=a password=bcd ",
    "secret:'",
    "authorization: token ",
    "+ASt",
    "JQQJ99aB3dE5gH7jK9mN1pQ3sT5vX7",
    "AZDO",
    "aB38Q~",
    "123456789:AA",
    "%3a%2f%2f",
    "%3a%2f%2fa%3ab",
    "-----BEGIN%20PRIVATE%20KEY-----%0A",
    "key%3D",
    "[secret:a#1]",
    "[secret:",
    "=\\",
    "a1",
    "aB",
    "\n",
    "\u0130",
)


@pytest.mark.parametrize("many", [1, MEGABYTE])
def test_no_text_takes_more_than_linear_time(many: int) -> None:
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_CPU, ({CPU_SECONDS}, {CPU_SECONDS}))\n"
        "from ctxdiff_capture.secrets.detect import secret_spans\n"
        f"for unit in {HOSTILE!r}:\n"
        f"    secret_spans(unit * max(1, {many} // len(unit)) + '!')\n"
        "    secret_spans('x' + unit * 3)\n"
        "print('done')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def prose(chance: random.Random) -> str:
    letters = string.ascii_lowercase + "äöüéñ" + "привет" + "שלום"
    words = ["".join(chance.choices(letters, k=chance.randint(1, 12))) for _ in range(3_000)]
    marks = [" ", " ", " ", " ", ", ", ". ", ": ", "? ", "-", "\n\n"]
    return "".join(chance.choice(words) + chance.choice(marks) for _ in range(120_000))


def digests(chance: random.Random) -> str:
    lines = []
    for _ in range(4_000):
        data = chance.randbytes(12)
        lines += [hashlib.sha256(data).hexdigest(), hashlib.md5(data).hexdigest()]
        lines += [str(uuid.UUID(bytes=data + b"0000")), data.hex(), b64encode(data).decode()]
    return "\n".join(lines)


def pictures(chance: random.Random) -> str:
    return json.dumps(
        [
            {"type": "image_url", "url": "data:image/png;base64," + b64encode(data).decode()}
            for data in (chance.randbytes(100_000) for _ in range(8))
        ]
    )


def code(_: random.Random) -> str:
    library = Path(sysconfig.get_paths()["stdlib"])
    packages = ("asyncio", "concurrent", "email", "html", "http", "importlib", "json", "logging")
    files = (path for name in packages for path in sorted((library / name).glob("*.py")))
    return "\n".join(path.read_text(encoding="utf-8") for path in islice(files, 100))


@pytest.mark.parametrize("kind", [prose, digests, pictures, code])
@pytest.mark.parametrize("seed", range(3))
def test_a_flood_of_ordinary_text_raises_no_alarm(
    kind: Callable[[random.Random], str], seed: int
) -> None:
    text = kind(random.Random(f"{kind.__name__} {seed}"))
    assert len(text) > 500_000
    assert [text[span.start - 20 : span.end] for span in secret_spans(text)] == []
