"""One structure and one content as files, row by row, as a stranger could write them."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxdiff_capture.store.schema import CORE, SCHEMA_VERSION, SIDE

from tests.trust.redact import contents
from tests.trust.redact.contents import distinct, json_text, name, no_time, stored, word, words
from tests.trust.redact.structures import AGENTS, LABELS, Place, Session, Structure, Turn

SURFACES = ("openai.chat", "anthropic.messages", "")


@dataclass
class Written:
    """What a guesser would try: words of the recordings that were written."""

    counts: random.Random
    guesses: list[str] = field(default_factory=list)


def write(
    folder: Path, shape: Structure, chance: random.Random, counts: random.Random | None = None
) -> Written:
    """The files of `shape` with words drawn from `chance`, and counts near their bucket's."""
    held = Written(counts=counts or chance)
    names: set[str] = set()
    for number, sessions in enumerate(shape.files, 1):
        label = _new_name(chance, names)
        held.guesses += [label, label[:4]]
        path = folder / f"{label}.ctrace"
        path.parent.mkdir(parents=True, exist_ok=True)
        if sessions:
            _write_file(path, sessions, chance, held, is_bucketed=shape.is_bucketed)
        else:
            path.write_bytes(words(chance).encode())
        os.utime(path, ns=(number * 10**18, number * 10**18))
    return held


def _new_name(chance: random.Random, names: set[str]) -> str:
    """Not the name of another file, nor of a folder that another lies in."""
    while True:
        label = contents.file_name(chance)
        parents = {label.rsplit("/", n)[0] for n in range(label.count("/") + 1)}
        whole = f"{label}.ctrace"
        if whole not in names and not parents & {one for one in names if one.endswith(".ctrace")}:
            names |= {whole, *parents}
            return label


def _write_file(
    path: Path,
    sessions: Sequence[Session],
    chance: random.Random,
    held: Written,
    *,
    is_bucketed: bool,
) -> None:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("pragma synchronous = off")
    database.execute("pragma journal_mode = off")
    database.executescript(f"{CORE}{SIDE}")
    database.execute("begin")
    for run in distinct(lambda: _id(chance), len(sessions)):
        _Writer(database, run, chance, held, is_bucketed).write(sessions[0])
        sessions = sessions[1:]
    database.execute("commit")
    database.close()


def _id(chance: random.Random) -> str:
    return chance.choice(
        [
            f"{chance.getrandbits(128):032x}",
            word(chance),
            f"{word(chance)}'☃,\n",
            str(chance.getrandbits(40)),
        ]
    )


class _Writer:
    """Writes one session."""

    def __init__(
        self,
        database: sqlite3.Connection,
        run: str,
        chance: random.Random,
        held: Written,
        is_bucketed: bool,
    ) -> None:
        self._database = database
        self._run = run
        self._chance = chance
        self._is_bucketed = is_bucketed
        self._held = held
        self._agents = distinct(lambda: name(chance), AGENTS)
        self._labels = distinct(lambda: name(chance), LABELS)
        self._hashes: list[str] = []
        held.guesses += [run, run[:5], *self._agents, self._agents[0][:3], *self._labels]

    def write(self, session: Session) -> None:
        chance = self._chance
        started = session.started_at or no_time(chance)
        models = chance.choice([json.dumps([word(chance)] * 2), "[]", json_text(chance)])
        project, provider = name(chance), self._provider()
        self._insert(
            "run", self._run, project, started, provider, models, name(chance), SCHEMA_VERSION
        )
        self._write_blocks(session)
        ids = distinct(lambda: f"{_id(chance)}{chance.getrandbits(64):x}", len(session.turns))
        for seq, (call, turn) in enumerate(zip(ids, session.turns, strict=True), 1):
            self._write_call(call, seq, turn)
        for reason in distinct(lambda: name(chance), chance.randint(0, 2)):
            self._insert("ctx_loss", self._run, reason, chance.randint(1, 9))
        self._held.guesses += [project, ids[0]]

    def _write_blocks(self, session: Session) -> None:
        chance = self._chance
        texts: list[str] = []
        for role, kind, tokens in session.blocks:
            text = contents.text(chance, texts)
            texts.append(text)
            key = hashlib.sha256(stored(self._run) + b"%d" % len(texts) + stored(text)).hexdigest()
            self._hashes.append(key)
            self._insert(
                "block",
                key,
                role or f"{word(chance)}",
                kind or f"{word(chance)}",
                text,
                self._count(tokens),
                chance.choice(["tiktoken", "estimate", word(chance)]),
            )
        self._held.guesses += [self._hashes[0], self._hashes[-1][:8], texts[0][:400], texts[0][:6]]

    def _write_call(self, call: str, seq: int, turn: Turn) -> None:
        chance = self._chance
        self._insert(
            "call",
            call,
            self._run,
            seq,
            self._params(),
            self._usage(turn.usage),
            turn.latency_ms,
            name(chance) if turn.has_error else None,
            None if turn.agent is None else self._agents[turn.agent],
            name(chance) if turn.has_step else None,
            chance.choice([None, self._provider()]),
        )
        self._insert(
            "ctx_call",
            call,
            chance.choice([*SURFACES, word(chance)]),
            name(chance),
            turn.started_at or no_time(chance),
            turn.first_byte_ms,
            chance.choice([name(chance), *contents.KNOWN_WORDS]) if turn.has_finish else None,
            *(chance.choice([None, name(chance)]) for _ in range(3)),
            chance.choice([None, words(chance), "prompt is too long: 9 tokens > 8 maximum"]),
            turn.status,
            turn.attempts,
            *(chance.choice([None, json_text(chance)]) for _ in range(4)),
            chance.choice([None, name(chance)]),
        )
        for position, place in enumerate(turn.inputs):
            self._insert("call_block", call, self._hashes[place.block], position, *self._tag(place))
        for position, block in enumerate(turn.outputs):
            label = chance.choice(self._labels)
            self._insert("ctx_output", call, position, self._hashes[block], label, word(chance))
        self._write_said(call, turn)

    def _write_said(self, call: str, turn: Turn) -> None:
        chance = self._chance
        for number, (is_result, places) in enumerate(turn.stages):
            stage = "tool_result" if is_result else self._stage()
            self._insert("ctx_snapshot", call, number, stage, no_time(chance), self._packed(places))
        for number in range(chance.choice([0, 0, 1, 2])):
            told = (name(chance), name(chance), chance.choice([None, words(chance)]))
            self._insert("ctx_decision", call, number, *told, chance.choice([None, 1, 99]), None)
        if chance.random() < 0.3:
            self._insert("ctx_placement", call, zlib.compress(stored(json_text(chance))))
            self._insert("ctx_request", call, zlib.compress(stored(json_text(chance))))

    def _stage(self) -> str:
        known = ("pre_optimization", "post_optimization", "before_model")
        while (found := self._chance.choice([name(self._chance), *known])) == "tool_result":
            pass
        return found

    def _packed(self, places: Sequence[Place]) -> bytes:
        rows = []
        for place in places:
            label, source = self._tag(place)
            read = stored(label).decode("utf-8", "surrogateescape")  # as a column would give it
            rows.append([self._hashes[place.block], read, source, word(self._chance), None])
        return zlib.compress(json.dumps(rows).encode())

    def _tag(self, place: Place) -> tuple[str, str]:
        other = self._chance.choice(["heuristic", word(self._chance)])
        return self._labels[place.label], "tagged" if place.is_tagged else other

    def _provider(self) -> str:
        return self._chance.choice(["openai", "anthropic", "gemini", "bedrock", name(self._chance)])

    def _params(self) -> str:
        chance = self._chance
        return chance.choice(
            [
                "{}",
                json.dumps({"model": chance.choice(["gpt-5.4", "claude-5", name(chance)])}),
                json.dumps({"stop": word(chance), "stream": True, "store": word(chance)}),
                json.dumps(
                    {"max_tokens": chance.randint(1, 10**7), "temperature": chance.random()}
                ),
                json.dumps({"previous_response_id": word(chance), "tools": [word(chance)]}),
                json_text(chance),
            ]
        )

    def _usage(self, counters: dict[str, Any] | None) -> str | None:
        """The counters among words, fractions and what else is no count."""
        chance = self._chance
        if counters is None:
            return chance.choice([None, json_text(chance), json.dumps({"prompt_tokens": "9001"})])
        told = {key: self._near(value) for key, value in counters.items()}
        noise = {
            word(chance): chance.choice([7, word(chance), [word(chance)], 0.5]),
            "service_tier": name(chance),
            "server_tool_use": {word(chance): chance.randint(0, 9)},
            "reasoning_tokens": chance.choice([None, word(chance), 1.5, -1, True]),
        }
        mixed = list({**told, **dict(chance.sample(list(noise.items()), 2))}.items())
        chance.shuffle(mixed)
        return json.dumps(dict(mixed))

    def _near(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._near(one) for key, one in value.items()} | {word(self._chance): "x"}
        if isinstance(value, list):
            return [self._near(one) for one in value]
        return self._count(value) if isinstance(value, int) else value

    def _count(self, count: int) -> int:
        """The count; in another content another of the same bucket, where counts are rounded."""
        size = 10 ** max(len(str(count)) - 2, 0)
        if not self._is_bucketed or size < 10:
            return count
        middle = (count + size // 2) // size * size
        least = max(middle - size // 2 + 1, 10 ** (len(str(middle)) - 1))
        return self._held.counts.randint(least, middle + size // 2 - 1)

    def _insert(self, table: str, *values: object) -> None:
        marks = ", ".join("cast(? as text)" if isinstance(v, str) else "?" for v in values)
        row = [stored(value) if isinstance(value, str) else value for value in values]
        self._database.execute(f"insert into {table} values ({marks})", row)
