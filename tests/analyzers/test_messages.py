"""Failures by their structure: what the words are about decides, and where they stand."""

from __future__ import annotations

import pytest
from ctxdiff_analyzers.cuts.marks import cut_mark
from ctxdiff_analyzers.failures.failure import failure

from tests.analyzers import marks, messages

ROWS = "\n".join(f"row {n}: lamp {n}, {n * 3} pieces" for n in range(40))


@pytest.mark.parametrize("text", messages.FAILED)
def test_a_message_of_failure_is_known_in_every_form_and_tongue(text: str) -> None:
    found = failure(text)
    assert found is not None
    assert found.said


@pytest.mark.parametrize("text", messages.FINE)
def test_a_text_with_the_same_words_about_something_else_is_no_failure(text: str) -> None:
    assert failure(text) is None


@pytest.mark.parametrize(
    "last",
    [
        "Error: the connection was lost at row 41",
        "ReadTimeout: timed out",
        "[error] stream closed",
        "Fehler: Verbindung abgebrochen",
        "⚠ Error: quota exceeded",
        "curl: (56) connection reset by peer",
        "ORA-03113: end-of-file on communication channel",
    ],
)
def test_an_error_in_the_last_line_ends_a_good_result(last: str) -> None:
    found = failure(f"{ROWS}\n\n{last}")
    assert found is not None
    assert (found.rule, found.said[-len(last) :]) == ("tail", last)
    assert failure(f"{last[:0]}{ROWS}\n{last}\n{ROWS}") is None


@pytest.mark.parametrize(
    "text",
    [
        f"# Runbook\n{ROWS}\nError: connection refused",
        f"{ROWS}\nThe log then has this line:\nError: connection refused",
        f"{ROWS}\n    Error: connection refused",
        f"{ROWS}\n```\nx\n```\nError: connection refused",
        f"{ROWS}\n# Error: connection refused",
        f"{ROWS}\nError: 3",
        f"{ROWS}\nErrors: none",
        f"{ROWS}\nError: a word from the Latin for going astray",
        f"{ROWS}\nA guide for new colleagues follows.\nError: connection refused",
    ],
)
def test_a_last_line_that_quotes_an_error_is_content(text: str) -> None:
    assert failure(text) is None


def test_dated_records_are_no_log_whose_last_line_is_one_of_many() -> None:
    table = "\n".join(f"2026-04-{day:02},lamp,{day * 3}.00" for day in range(10, 20))
    assert failure(table) is None
    found = failure(f"{table}\n[exit status 1]")
    assert found is not None
    assert found.rule == "exit"
    log = "\n".join(f"2026-04-{day:02} 10:00:00 ERROR lamp {day}" for day in range(10, 20))
    assert failure(f"{log}\nError: connection refused") is None


def test_an_envelope_that_went_well_says_more_than_its_fields() -> None:
    record = '{"success": true, "errors": [{"message": "old"}], "error": "old"}'
    assert failure(record) is None
    assert failure(record.replace("true", "false")) is not None
    inner = '{"success": true, "data": {"error": "no free desk"}}'
    found = failure(inner)
    assert found is not None
    assert (found.rule, found.said) == ("field", "no free desk")


@pytest.mark.parametrize(
    "text",
    [
        "* Getaddrinfo is coded in a file of its own",
        "### Repairing malformed requests",
        "$ ping birch\n  ping: operation not permitted",
        "INSERT INTO trees VALUES (1, 'birch') ON DUPLICATE KEY UPDATE name = 'birch'",
        "One exception: trees that stood there before 1950",
        "=item No such tree: %s",
    ],
)
def test_an_item_of_a_document_is_no_failure(text: str) -> None:
    assert failure(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "The first lines of the module are these:\n    if tree.is_old(): { ... }",
        "The bar is made with one call and hidden in tests: bar(..., display=False)",
        "Names of trees in the northern parks\n......................................",
    ],
)
def test_dots_of_code_and_ornament_are_no_mark(text: str) -> None:
    assert cut_mark(text) is None


@pytest.mark.parametrize("text", marks.MARKED)
def test_a_mark_that_names_what_is_missing_or_nothing_is_one(text: str) -> None:
    assert cut_mark(text) is not None


@pytest.mark.parametrize("text", marks.UNMARKED)
def test_a_bracket_of_prose_is_no_mark(text: str) -> None:
    assert cut_mark(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("Pets are not allowed in the flat.", "Smoking is not permitted in the hall."),
        *("Access is denied to persons under 18.", "The gate is locked at night."),
        *("The museum is under maintenance.", "Speed exceeded the allowed value at 10:03."),
        *("The driver did not respond to the alarm.", "The river is unreachable by car."),
        *(
            "Permission denied by the council for the extension.",
            "The deadlock in the talks ended.",
        ),
        *("The handshake failed between the parties.", "500 internal units were sold."),
        *("Returned 404 units to stock.", "Unknown artist, oil on canvas."),
        *("Human error: the valve was left open.", "Unable to locate the deed of 1920."),
        *("Solicitud denegada por falta de avales.", "الطلب مرفوض لعدم توقيع المالك"),
        *("HTTP 410 is what the archive answers.", "retry: 5", "失敗例の一覧です。"),
        *("Forbidden Planet, 1956", "Not found in this list: 'heron'. Did you mean 'herons'?"),
        *("La sesión fue rechazada por el juez.", "O serviço militar é obrigatório."),
        *(
            "服务费不足",
            "接続列車がありません",
            "연결 통로가 없습니다",
            "Die Sitzung wurde abgebrochen.",
        ),
    ],
)
def test_what_befell_people_and_houses_is_no_failure_of_a_tool(text: str) -> None:
    assert failure(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("This role is not allowed to read the ledger.", "Not authorized.", "Access denied"),
        *("The service is under maintenance.", "The request exceeded the allowed time limit."),
        *("The server did not respond.", "Permission denied: reading needs another role"),
        *("The gateway answered with 502.", "Unknown court: C9", "400 Bad Request"),
        *("Disk error: cannot read block 3", "Sesión expirada: el token ha caducado"),
        *("服务不可用", "接続がタイムアウトしました", "서버 연결이 끊겼습니다"),
    ],
)
def test_what_befell_a_programs_thing_is_a_failure(text: str) -> None:
    assert failure(text) is not None
