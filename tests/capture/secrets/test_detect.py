"""What is a credential and what is not."""

from __future__ import annotations

import json
import string
from itertools import pairwise
from urllib.parse import quote

import pytest
from ctxdiff_capture.secrets.detect import masked, secret_spans
from ctxdiff_capture.secrets.shapes import shapes
from ctxdiff_capture.secrets.tags import identity_of, is_tag, tag_of
from hypothesis import given
from hypothesis import strategies as st

RANDOM = "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cF4hJ6kM8nP1rS3uV5xZ7bD9fG2jL4nQ6sW8yE1tR3u"
SIGNS = " ".join(string.ascii_letters + string.digits + "-_./+")
HEX = "dc79f95b01254ecbab4f721ff655ae2f"
GHS = f"ghs_1234_eyJ{RANDOM[:30]}.eyJ{RANDOM}.{RANDOM[:9]}-_8"
AZURE_STORAGE = f"{RANDOM}aB3dE5+ASt1b2C3A=="
AZURE_SERVICE = f"{RANDOM[:52]}JQQJ99aB3dE5gH7jK9mN1pQ3sT5vX7"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc=\n-----END RSA PRIVATE KEY-----"


def found(text: str) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in secret_spans(text)]


def shown(text: str) -> str:
    return masked(text, lambda kind, _: tag_of(kind, 1))


def example(prefix: str, alphabet: str) -> str:
    return prefix + {"upper": RANDOM.upper(), "hex": HEX * 3}.get(alphabet, RANDOM)


@pytest.mark.parametrize("shape", shapes(), ids=lambda shape: shape.prefix)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "key={};",
        'a "{}"\n',
        "(see {})",
        "密钥{}，",
        "\\n{}\\n",
        f"{SIGNS} {{}}",
        f"{{}} 密{SIGNS}",
    ],
)
def test_every_prefix_is_known_wherever_it_stands(shape: object, around: str) -> None:
    prefix, pattern = shape.prefix, shape.pattern  # type: ignore[attr-defined]
    body = next(
        body
        for size in range(10, 101)
        for text in (RANDOM * 2, RANDOM.upper() * 2, HEX * 4)
        if pattern.fullmatch(body := prefix + text[:size])
    )
    text = around.format(body)
    assert [value for _, value in found(text)] == [body]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (f"Authorization: Bearer tok_{'9' * 24}", "bearer-token", f"tok_{'9' * 24}"),
        (f"'authorization': 'Token {HEX}'", "bearer-token", HEX),
        ("Basic dXNlcjpwYXNzd29yZA==", "basic-auth", "dXNlcjpwYXNzd29yZA=="),
        ("postgresql://me:hunter2@db/app", "password", "hunter2"),
        ("redis://:p@ss@cache:6379", "password", "p@ss"),
        ("host=db user=me password=hunter2 dbname=x", "password", "hunter2"),
        ("Server=tcp:x;User ID=me;Password=hunter2;", "password", "hunter2"),
        ("DB_PASSWORD=S3cr3t!x9", "password", "S3cr3t!x9"),
        ("AccountKey=" + "aB3+" * 21 + "ab==;", "azure-key", "aB3+" * 21 + "ab=="),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws-secret",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ),
        (f'{{"apiKey": "{HEX}"}}', "api-key", HEX),
        (
            '{"clientSecret": "550e8400-e29b-41d4-a716-446655440000"}',
            "api-key",
            "550e8400-e29b-41d4-a716-446655440000",
        ),
        ("?sv=2022&sig=aB3dE5gH7jK9%2Fm1n3p5%3D&se=1", "url-signature", "aB3dE5gH7jK9%2Fm1n3p5%3D"),
        (f"https://h/x?key={RANDOM[:30]}", "url-key", RANDOM[:30]),
        ("https://h/%3Fapi_key%3D" + HEX + "%26b%3Dc", "url-key", HEX),
        ("postgresql%3A%2F%2Fme%3Ahunter2%40db%2Fapp", "password", "hunter2"),
        ("Basic%20dXNlcjpwYXNzd29yZA%3D%3D", "basic-auth", "dXNlcjpwYXNzd29yZA"),
        (f"ghs_1234_eyJ{RANDOM[:30]}.eyJ{RANDOM}.{RANDOM[:9]}-_8", "github-token", GHS),
        ("x " + AZURE_STORAGE, "azure-key", AZURE_STORAGE),
        (f"key {AZURE_SERVICE}.", "azure-key", AZURE_SERVICE),
        (f"pat {RANDOM[:52]}aB3dE5gH7jK9mN1pQ3sT5vX7AZDO1a2B", "azure-key", None),
        ("id aB38Q~aB3dE5gH7jK9mN1pQ3sT5vX7zA2cF4hJ6k", "azure-secret", None),
        ("123456789:AAaB3dE5gH7jK9mN1pQ3sT5vX7zA2cF4hJ6", "telegram-token", None),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "jwt", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK"),
        (f"{PEM}\nafter", "private-key", PEM),
        (
            f"-----BEGIN PRIVATE KEY-----\n{RANDOM[:64]}\n{RANDOM[:9]} and",
            "private-key",
            f"-----BEGIN PRIVATE KEY-----\n{RANDOM[:64]}",
        ),
    ],
)
def test_a_credential_is_known_by_what_stands_around_it(
    text: str, kind: str, value: str | None
) -> None:
    """None: the text's last word."""
    assert found(text) == [(kind, value or text.rpartition(" ")[2])]


@pytest.mark.parametrize(
    "value",
    [
        {"api_key": HEX},
        {"password": "S3cr3t!x9"},
        {"key": PEM},
        {"env": f"A=1\nOPENAI_API_KEY=sk-{RANDOM[:40]}\nB=2"},
        {"dsn": "postgresql://me:hunter2@db/app"},
        {"headers": {"Authorization": f"Bearer {RANDOM[:30]}"}},
    ],
    ids=lambda value: next(iter(value)),
)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_json_inside_json_stays_json_and_hides_the_same(value: object, depth: int) -> None:
    text = json.dumps(value)
    for _ in range(depth - 1):
        text = json.dumps({"arguments": text})

    read = json.loads(shown(text))

    for _ in range(depth - 1):
        read = json.loads(read["arguments"])
    assert json.dumps(read) == shown(json.dumps(value))
    assert "[secret:" in json.dumps(read)


@pytest.mark.parametrize(
    "text",
    [
        "a risk-free task-force",
        "https://example.org/a:b@c",
        "sk-learn and sk-1, sk-a-very-long-name-with-many-words",
        "Bearer of news, bearer authentication_required_here",
        "basic authentication",
        'password = os.environ["DB_PASSWORD"]',
        "password: str = Field(default=None)",
        "api_key=config.API_KEY_2, token=get_token2(user1)",
        'client = OpenAI(api_key=os.getenv("OPENAI_API_KEY_2"))',
        "primary_key=a8Fh3kd93kfKd93k cache_key: a8Fh3kd93kfKd93k",
        "password=<your-password-1> PASSWORD=${DB_PASS_1} secret: {{ vault.key1 }}",
        "The secret: Paris2024 was lovely",
        "https://user:${TOKEN}@host/ https://u:{password}@h",
        "token_count: 12345678, max_tokens=4096, keyboard: qwerty12345",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "id 550e8400-e29b-41d4-a716-446655440000 commit cfef8cf1d2e3f405162738495a6b7c8d9e0f1a2b",
        "data:image/png;base64," + RANDOM * 40,
        "-----BEGIN PRIVATE KEY----- is how such a file begins, and what follows are lines.",
        "-----BEGIN CERTIFICATE-----\n" + RANDOM * 4 + "\n-----END CERTIFICATE-----",
        "[secret:aws-key#1] postgresql://me:[secret:password#2]@db/app",
    ],
)
def test_ordinary_text_has_no_credential(text: str) -> None:
    assert found(text) == []


def test_one_credential_has_one_identity_however_it_is_spelled() -> None:
    inside = json.dumps(PEM)[1:-1]
    assert identity_of("private-key", inside) == identity_of("private-key", PEM)
    assert identity_of("aws-secret", "a\\/b+c") == identity_of("aws-secret", "a/b+c")
    assert identity_of("private-key", quote(PEM)) == identity_of("private-key", PEM)
    signature = "aB3d/E5g="
    assert identity_of("url-signature", quote(signature, safe="")) == identity_of(
        "url-signature", signature
    )


PIECES = (
    "AKIAIOSFODNN7EXAMPLE",
    f"sk-proj-{RANDOM[:40]}",
    f"Bearer {RANDOM[:20]}",
    "://a:b@",
    "eyJ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "password=",
    '"',
    "\\n",
    " ",
    "word",
    "[secret:aws-key#1]",
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8)))
def test_spans_are_ascending_apart_and_never_found_again(parts: list[str]) -> None:
    text = "".join(parts)
    spans = secret_spans(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(not is_tag(text[span.start : span.end]) for span in spans)
    assert shown(f"AKIAIOSFODNN7EXAMPLE {text}").startswith("[secret:aws-key#1] ")


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_a_text_keeps_everything_outside_of_its_spans(text: str) -> None:
    spans = secret_spans(text)
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], tag_of(span.kind, 1)]
        at = span.end
    assert shown(text) == "".join([*pieces, text[at:]])
