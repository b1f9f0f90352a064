"""Which results report a failure. The lists are invented; none comes from a recorded run."""

from __future__ import annotations

import json

import pytest
from ctxdiff_analyzers.failures.failure import failure
from hypothesis import example, given
from hypothesis import strategies as st

from tests.analyzers import results

FAILURES = [
    # errno and networks
    "connection reset by peer",
    "ECONNREFUSED 10.0.0.3:5432",
    "connect to db-2.internal:5432: connection refused",
    "ls: cannot access 'reports/': No such file or directory",
    "cat: /var/lib/x/secret: Permission denied",
    "curl: (7) Failed to connect to localhost port 80: Connection refused",
    "No route to host",
    "disk quota exceeded",
    "no such table: invoices",
    "database is locked",
    # services
    "HTTP 500",
    "502 Bad Gateway",
    "Request failed with status code 429",
    "Rate limit exceeded, retry in 20 s",
    "The service is temporarily unavailable. Please try again later.",
    "Timed out",
    "timeout",
    "deadline exceeded while waiting for the ledger",
    "An error occurred (AccessDenied) when calling the GetObject operation: Access Denied",
    "Unauthorized",
    "Token has expired",
    # what was asked for
    "not found",
    "Booking 4471 not found",
    "The requested sheet does not exist.",
    "Unknown tool: rotate_pages",
    "Unable to reach the booking service.",
    "Failed to render the chart",
    "Could not open file plan.dwg",
    "Invalid date format, expected YYYY-MM-DD",
    "Missing required parameter: 'court_id'",
    "The ledger is locked by another session",
    "server responded with 503",
    "UPSTREAM_TIMEOUT",
    "NOT_FOUND: sheet 4",
    "gave up after 3 attempts",
    "Oops, something went wrong on our side.",
    # heads
    "Error: upstream closed",
    'ERROR: relation "members" does not exist',
    "error[E0308]: mismatched types\n --> src/main.rs:4:9",
    "ValueError: could not convert string to float: 'n/a'",
    "ToolException: quota",
    "java.io.IOException: Broken pipe",
    "[Error] nothing was written",
    "❌ Failed to send",
    "⚠️ Error: nothing worked",
    "Error executing tool book_court: 'NoneType' object is not subscriptable",
    "fatal: not a git repository (or any of the parent directories): .git",
    "psql: error: connection to server failed",
    "<error>The lock is held</error>",
    "<tool_use_error>File has not been read yet</tool_use_error>",
    "<html><head><title>503 Service Temporarily Unavailable</title></head><body></body></html>",
    "npm ERR! code ELIFECYCLE",
    # shells
    "bash: jqq: command not found",
    "building...\ndone part 1\n/bin/sh: 1: protoc: not found",
    "'foo' is not recognized as an internal or external command,\noperable program or batch file.",
    "Command failed with exit code 2",
    "step one\nstep two, which takes a while\nProcess exited with code 137",
    # tracebacks
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    x()\nKeyError: 3',
    'row 1\nrow 2\nTraceback (most recent call last):\n  File "a.py", line 3, in f\nOSError: [Errno 5]',
    "TypeError: undefined is not a function\n    at foo (/app/a.js:1:2)\n    at bar (/app/b.js:3:4)",
    'Exception in thread "main" java.lang.NullPointerException: x\n\tat a.B.c(B.java:3)',
    "Unhandled exception. System.InvalidOperationException: x\n   at A.B() in /src/A.cs:line 4",
    "panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\nexit status 2",
    "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds",
    "app.rb:3:in `fetch': key not found: :a (KeyError)\n\tfrom app.rb:3:in `<main>'",
    "** (RuntimeError) boom\n    lib/a.ex:3: A.b/1",
    "PHP Fatal error:  Uncaught TypeError: f(): Argument #1",
    "Error in read.csv(path) : cannot open the connection",
    "Segmentation fault (core dumped)",
    # other languages
    "Fehler: Datei nicht gefunden",
    "Zeitüberschreitung bei der Anfrage",
    "Erreur : connexion refusée",
    "Tiempo de espera agotado",
    "Acceso denegado",
    "Impossibile aprire il file",
    "Não foi possível concluir a operação",
    "Kunne ikke åpne filen",
    "Połączenie zostało przerwane",
    "Ошибка: доступ запрещён",
    "соединение сброшено",
    "Erişim engellendi",
    "エラー: 接続がタイムアウトしました",
    "ファイルが見つかりません",
    "请求超时",
    "文件不存在",
    "권한이 없습니다",
    # JSON
    '{"error": {"code": 503, "message": "Service Unavailable"}}',
    '{"error": "no free court", "court_id": "C4"}',
    '{"status": "failed", "message": "the calendar refused the change"}',
    '{"status": "error", "error": "backend down", "data": null}',
    '{"ok": false, "reason": "quota"}',
    "{'status': 'error', 'message': 'the court is closed', 'court': None}",
    '{"success": false, "code": "E42"}',
    '{"isError": true, "content": [{"type": "text", "text": "boom"}]}',
    '{"errors": [{"message": "Cannot query field"}], "data": null}',
    '{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "x"}',
    '{"statusCode": 404, "body": "nope"}',
    '{"status": 503, "message": "overloaded"}',
    '{"exit_code": 127, "stdout": "", "stderr": "sh: 1: jq: not found"}',
    '{"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "Method not found"}}',
    '{"message": "Internal server error"}',
    '{"result": {"error": "no such member"}}',
    '{"output": "Error: unknown tool"}',
    '[{"type": "text", "text": "Error: inner"}]',
    # lines of a key and a value
    "status: failed\nmessage: the calendar refused the change",
    "exit_code = 4\nstderr = cannot bind",
    "ok: false\nerror: closed",
    '"Error: quoted"',
]
NO_FAILURES = [
    # nothing found, nothing to complain of
    "",
    "No results found.",
    "No matches found",
    "0 results",
    "Keine Treffer",
    "Aucun résultat",
    "没有找到结果",
    "0 errors, 0 warnings",
    "Found 0 problems",
    "All checks passed. 0 failed.",
    "Nothing to do.",
    '{"count": 0, "results": []}',
    '{"error": null, "id": 3, "name": "Birch"}',
    '{"errors": [], "data": {"a": 1}}',
    '{"success": true, "error": ""}',
    '{"is_error": false, "content": "x"}',
    '{"ok": true, "errors": 0}',
    # reports of tests and checkers
    "9 failed, 9 passed in 0.22s",
    "12 passed, 0 failed",
    "FAIL src/a.test.js\n  x adds\nTests: 1 failed, 2 passed",
    "F.\n=== FAILURES ===\n___ test_a ___\nE   KeyError: 'x'\n\na.py:3: KeyError\n1 failed, 1 passed",
    '{"exit_code": 1, "stdout": "3 failed, 4 passed in 2s"}',
    '{"exit_code": 1, "stdout": "", "stderr": ""}',
    '{"file": "a.py", "errors": [{"line": 3, "message": "unused"}], "warnings": []}',
    '{"valid": false, "errors": ["missing date"]}',
    # documents, notes, records about failures
    "# Errors: how to handle them\n\nWhen the connection is refused, retry.",
    "# Error handling\n\nError codes and what they mean.",
    "# Changes\n\n## 2.1\n- CLI: exit code 1 when a request was denied.\n- The timeout is 30 s.\n",
    "The member said that the payment timed out and asked for a refund.",
    "Ticket 12: login page times out",
    '1. If you see "connection refused", restart the service.',
    "- Added retry when the connection is reset by peer",
    "Fixed in 2.3: the timeout after login.",
    "The failed transformer was replaced in May.",
    "Cannot be combined with other offers.",
    "Room 404 is booked.",
    "Error budget: 99.9 %",
    "Timeout: 30",
    "timeout = 30\nretries = 2",
    "Deleted. The file no longer exists.",
    '{"order": "O1", "customer": "C2", "status": "failed", "message": "card declined"}',
    '{"job": "J1", "name": "nightly", "started": "2026", "status": "failed", "error": "disk full"}',
    '{"jobs": [{"id": 1, "status": "failed", "error": "disk full"}]}',
    '[{"id": 1, "error": "x"}, {"id": 2, "error": null}]',
    '{"alerts": [{"level": "error", "message": "timeout"}]}',
    '{"code": 450, "name": "paint", "stock": 3}',
    '{"temperature": 404, "status": "ok"}',
    '{"status_code": 200, "body": "Error: page"}',
    '{"exit_code": 0, "stdout": "Error: handled", "stderr": ""}',
    "order: 12\nstatus: failed\ncustomer: C2\nmessage: card declined",
    "status: ok\nmessage: timeout set to 30",
    # logs, search hits, code
    "2026-01-01 10:00:00 ERROR connection refused\n2026-01-01 10:00:02 INFO retry succeeded",
    "ERROR worker 3 died\nINFO restarted\nINFO ready",
    'src/a.py:12: raise ValueError("no such file")\nsrc/b.py:3: except TimeoutError:',
    '     1\tdef f():\n     2\t    raise RuntimeError("x")\n',
    "class NotFoundError(Exception):\n    pass\n",
    "try:\n    x()\nexcept OSError as e:\n    print('Error:', e)\n    raise\n",
    "# Reading tracebacks\n\nIt looks so:\n\n\n\nTraceback (most recent call last):\n  ...\n\nSo it is.",
]


@pytest.mark.parametrize("text", [*FAILURES, *results.FAILED])
def test_a_result_that_says_it_failed_is_a_failure(text: str) -> None:
    found = failure(text)
    assert found is not None
    assert found.said


@pytest.mark.parametrize("text", [*NO_FAILURES, *results.FINE])
def test_a_result_that_speaks_of_failures_is_none(text: str) -> None:
    assert failure(text) is None


def test_json_and_its_spelling_as_text_say_the_same() -> None:
    for text in FAILURES + NO_FAILURES:
        if text.startswith('{"'):
            assert failure(json.loads(text)) == failure(text)


def test_a_failure_may_repeat_what_was_asked_and_a_record_may_not() -> None:
    said = {"error": "closed", "court": "C4", "day": "2026-05-01"}
    assert failure(said) is None
    found = failure(said, frozenset(("court", "day")))
    assert found is not None
    assert (found.rule, found.said) == ("field", "closed")


def test_an_error_deep_inside_a_long_document_is_content() -> None:
    page = "The lake is calm in May.\n" * 300
    assert failure(f"{page}Error: connection refused\n{page}") is None
    assert failure(json.dumps({"page": page, "author": "M.", "error_notes": "timeout"})) is None


@given(st.text(max_size=300) | st.recursive(st.none() | st.text(), st.lists, max_leaves=9))
@example("[" * 100_000)
@example('{"a":' * 5_000)
def test_any_content_is_judged_without_an_error(content: object) -> None:
    found = failure(content)
    assert found is None or found.said


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a" * 400,
            "error " * 66,
            "connection " * 36,
            "certificate " * 33,
            "x: " * 133,
            "(" * 400,
        ),
        *(
            "not found " * 40,
            "\n" * 400,
            "Error: " * 1_000_000,
            "a.b$" * 500_000,
            "at \n" * 500_000,
        ),
        "no " * 133,
    ],
)
def test_hostile_texts_cost_no_more_than_their_length(text: str) -> None:
    # Work that grows with a power of the length would run into the time limit of the tests.
    found = failure(text)
    assert found is None or len(found.said) <= 400
