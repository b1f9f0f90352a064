"""Where a session goes: precedence, directories, the grammar of targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.errors import SelectionError
from ctxdiff_capture.store.config import Destination, parse_target, resolve


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both the working directory and the home directory are this test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "p.ctrace"),
        ({"environ": {"CTXDIFF_STORE": "  "}}, "p.ctrace"),
        ({"environ": {"CTXDIFF_STORE": " e.ctrace "}}, "e.ctrace"),
        ({"environ": {"CTXDIFF_STORE": "e"}, "configured": "c"}, "c"),
        ({"environ": {"CTXDIFF_STORE": "e"}, "configured": "c", "path": "a"}, "a"),
        ({"configured": "c", "path": "a", "store": "s"}, "s"),
        ({"path": "~/x"}, "~/x"),
        ({"store": Path("s")}, "s"),
    ],
)
def test_the_first_that_is_set_wins(given: dict[str, Any], expected: str, tmp_path: Path) -> None:
    resolved = resolve("p", **{"environ": {}, **given})
    assert resolved == Destination(path=tmp_path / expected)


@pytest.mark.parametrize("where", ["store", "path", "configured"])
def test_a_directory_means_the_projects_file_in_it(where: str, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    given: dict[str, Any] = {where: "traces", "environ": {}}
    assert resolve("p", **given).path == tmp_path / "traces" / "p.ctrace"


def test_a_directory_that_does_not_exist_is_a_file(tmp_path: Path) -> None:
    assert resolve("p", path="traces", environ={}).path == tmp_path / "traces"


@pytest.mark.parametrize(
    ("project", "file"),
    [
        ("../x", ".._x.ctrace"),
        ("a/b\\c", "a_b_c.ctrace"),
        ("a\0b", "a_b.ctrace"),
        ("", ".ctrace"),
        ("Köln 1", "Köln 1.ctrace"),
    ],
)
def test_a_projects_name_cannot_lead_out_of_the_directory(
    project: str, file: str, tmp_path: Path
) -> None:
    assert resolve(project, environ={}).path == tmp_path / file


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqlite:///abs/a.ctrace", "/abs/a.ctrace"),
        ("sqlite:////abs/a.ctrace", "/abs/a.ctrace"),
        ("SQLITE3:///abs/a%20b.ctrace?mode=rw", "/abs/a b.ctrace"),
        ("sqlite://rel/dir", "{here}/rel/dir"),
        ("sqlite://rel.ctrace", "{here}/rel.ctrace"),
        ("sqlite://~/traces", "{here}/traces"),
        ("~/traces", "{here}/traces"),
        ("./my.ctrace", "{here}/my.ctrace"),
        ("sqlite.ctrace", "{here}/sqlite.ctrace"),
    ],
)
def test_a_target_may_be_a_path_or_a_sqlite_url(text: str, expected: str, tmp_path: Path) -> None:
    assert parse_target(text).path == Path(expected.format(here=tmp_path))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:pw@db.test/traces?sslmode=require", "postgresql://db.test/traces"),
        ("postgres+psycopg://me:pw@db.test/traces", "postgres://db.test/traces"),
        ("MySQL+pymysql://me:pw@db.test/traces", "mysql://db.test/traces"),
        ("mariadb://db.test/traces", "mariadb://db.test/traces"),
    ],
)
def test_a_database_is_named_without_its_password(text: str, shown: str) -> None:
    destination = parse_target(text)
    assert (destination.path, str(destination)) == (None, shown)
    assert "pw" not in repr(destination)


@pytest.mark.parametrize(
    "text", ["postgres", " MySQL ", "sqlite3", "file:///a", "s3://b/k", "mongodb://h", "", "a\0b"]
)
def test_other_targets_are_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(SelectionError) as caught:
        parse_target(text)
    assert "sqlite:///path" in caught.value.remedy


def test_a_directory_is_no_trace_to_read(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="is a directory"):
        parse_target(str(tmp_path))


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "mysql+pymysql", "MariaDB"])
def test_an_address_given_as_a_path_is_refused_without_its_password(scheme: str) -> None:
    with pytest.raises(SelectionError) as refused:
        resolve("p", path=f"{scheme}://ann:hunter2@db/traces", environ={})
    assert refused.value.remedy == "give it as store="
    assert "hunter2" not in str(refused.value)
