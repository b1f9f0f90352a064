"""Token counts: exact, offline, and unhurt by any text."""

import socket
import zlib
from base64 import b64encode
from hashlib import sha256
from threading import Barrier, Thread

import pytest
from ctxdiff_capture.tokens import vocabulary
from ctxdiff_capture.tokens.counter import TokenCounter
from ctxdiff_capture.tokens.pieces import LARGEST, countable_pieces
from ctxdiff_capture.tokens.vocabulary import Vocabulary, load
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def encoding():
    return load()


@pytest.fixture
def counter():
    return TokenCounter()


ALPHABET = [
    *("a", "B", "é", "中", "。", " ", "  ", "\n", "\r\n", "\t", "1", "23", "'s", "'", "!", "/"),
    *("\\", "_", "-", "\u0301", "😀", '"', "{", "\x1c", "\xa0", "\u2028", ",", "\u017f", "'ſ"),
]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Weather in Oslo?", 4),
        ("You are a terse assistant.", 6),
        ("legacy", 1),
        ("<|endoftext|>", 7),
    ],
)
def test_openai_texts_are_counted_with_the_vocabulary(counter, text, tokens):
    assert counter.count(text, "openai", text) == (tokens, "tiktoken")


@pytest.mark.parametrize("provider", ["anthropic", "openai-compatible", "gemini", "", "OpenAI"])
def test_other_providers_are_estimated_by_code_points(counter, provider):
    assert [counter.count(text, provider, text) for text in ("", "a", "abcd", "abcde", "😀")] == [
        (0, "estimate"),
        (1, "estimate"),
        (1, "estimate"),
        (2, "estimate"),
        (1, "estimate"),
    ]


def test_an_empty_text_needs_no_vocabulary(counter):
    assert counter.count("", "openai", "e") == (0, "tiktoken")


def test_the_first_count_works_without_a_network(monkeypatch):
    def refused(*args, **kwargs):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    assert TokenCounter(Vocabulary()).count("Say hello", "openai", "h") == (2, "tiktoken")


def test_the_shipped_vocabulary_is_the_published_one():
    lines = (b"%s %d\n" % (b64encode(token), rank) for token, rank in vocabulary.ranks().items())
    # Source: tiktoken's own list of encodings, read 2026-08.
    published = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    assert sha256(b"".join(lines)).hexdigest() == published


def test_a_damaged_vocabulary_is_refused_and_texts_are_estimated(monkeypatch, caplog):
    whole = zlib.decompress
    monkeypatch.setattr(vocabulary.zlib, "decompress", lambda packed: whole(packed)[:-1])
    counter = TokenCounter(Vocabulary())
    assert counter.count("four", "openai", "1") == (1, "estimate")
    assert counter.count("eight by", "openai", "2") == (2, "estimate")
    assert [record.getMessage() for record in caplog.records] == [
        "ctxdiff could not load its vocabulary; tokens are estimated"
    ]


@pytest.mark.parametrize(
    "text",
    [" " * 1_000_000, " " * 1_000_000 + "x", "\t" * 1_000_000, "a" * 500_000, "!" * 500_000],
    ids=["blanks", "blanks and a letter", "tabs", "letters", "signs"],
)
def test_a_run_without_a_seam_is_counted_nearly_and_marked(counter, text, capfd):
    tokens, method = counter.count(text, "openai", text)
    assert method == "estimate"
    assert 0 < tokens < len(text) / 7
    assert capfd.readouterr().err == ""  # a caught panic would have printed its trace


def test_a_lone_surrogate_is_counted(counter):
    assert counter.count("a\ud800b", "openai", "s") == (3, "tiktoken")


def test_a_long_text_of_words_is_exact(counter, encoding):
    text = "A long text, said twice. It's been 1234 days.\n\n" * 12_000
    assert counter.count(text, "openai", "l") == (len(encoding.encode_ordinary(text)), "tiktoken")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(ALPHABET), max_size=200).map("".join))
def test_pieces_that_call_themselves_exact_add_up(encoding, text):
    pieces = list(countable_pieces(text, largest=40, smallest=5))
    assert "".join(piece for piece, _ in pieces) == text
    assert all(len(piece) <= 40 for piece, _ in pieces)
    if all(is_exact for _, is_exact in pieces):
        apart = sum(len(encoding.encode_ordinary(piece)) for piece, _ in pieces)
        assert apart == len(encoding.encode_ordinary(text))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=400), st.sampled_from(["openai", "anthropic"]))
def test_no_text_is_without_a_count(counter_of_all, text, provider):
    tokens, method = counter_of_all.count(text, provider, text)
    assert (tokens > 0) == (text != "")
    assert method in ("tiktoken", "estimate")


@pytest.fixture(scope="module")
def counter_of_all():
    return TokenCounter()


class Slow:
    """A vocabulary that notes how often it is asked."""

    def __init__(self):
        self.asked = []

    def count(self, text):
        self.asked.append(text)
        return len(text)


def test_a_text_is_counted_once_and_the_oldest_is_forgotten():
    slow = Slow()
    counter = TokenCounter(slow, remembered=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        counter.count(text, "openai", text)
    assert slow.asked == ["a", "b", "c", "b"]


def test_threads_load_the_vocabulary_once(monkeypatch):
    loads, start = [], Barrier(4)
    whole = vocabulary.load
    monkeypatch.setattr(vocabulary, "load", lambda: loads.append(1) or whole())
    shared = Vocabulary()

    def work():
        start.wait(timeout=30)
        shared.count("x")

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert loads == [1]


def test_the_longest_piece_is_far_below_what_tiktoken_panics_on():
    assert LARGEST <= 100_000
