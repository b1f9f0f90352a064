"""Which members of an object say that a call failed, and is no record of something that did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from ctxdiff_analyzers.failures import heads, words

Rule: TypeAlias = Literal[
    "field", "status", "exit", "http", "head", "traceback", "phrase", "shell", "tail"
]
EDGE = 4_000
"""Code points read at each end of a longer text."""

_ERROR_KEYS = frozenset(
    (
        *("error", "err", "traceback", "stacktrace", "errormessage", "errorcode", "errmsg"),
        *("errormsg", "errcode", "errortype", "faultstring", "faultcode", "errordescription"),
    )
)
_ERROR_WORDS = frozenset(
    (
        *("exception", "fault", "errno", "sqlstate", "fehler", "fehlermeldung", "erreur", "fallo"),
        *("erro", "errore", "fout", "feil", "fejl", "fel", "virhe", "błąd", "hata", "ошибка"),
        *("エラー", "错误", "錯誤", "오류", "خطأ"),
    )
)
"""Keys that name an error, or a thing in a machine: nothing else may be in the object."""
FINE_KEYS = frozenset(("ok", "success", "succeeded", "successful", "issuccess", "status", "code"))
"""Keys by which an envelope says how the call went."""
_FINE = frozenset(("ok", "success", "succeeded", "successful", "fine", "completed", "200", "0"))
_RESULT_KEYS = ("result", "resultado", "ergebnis", "résultat", "resultat", "esito")
_STATE_KEYS = (
    *("status", "state", "outcome", "type", "estado", "stato", "statut"),
    *("結果", "结果", "状态", "状態", "결과", "상태", *_RESULT_KEYS),
)
_FAILED_STATES = frozenset(
    (
        *("error", "errored", "failed", "failure", "fail", "exception", "timeout", "timedout"),
        *("denied", "forbidden", "unauthorized", "unavailable", "aborted", "notfound", "invalid"),
        *("nok", "ng", "ko", "失敗", "失败", "실패", "エラー", "错误", "échoué", "fallido"),
        *("fehler", "fehlgeschlagen", "erreur", "échec", "fallo", "erro", "fel"),
    )
)
_CALL_FAILED = _FAILED_STATES.difference(
    ("denied", "unavailable", "aborted", "notfound", "invalid", "ko", "ng")
)
_NOT_OK_KEYS = frozenset(
    (
        *("ok", "success", "succeeded", "successful", "issuccess", "issuccessful"),
        *("erfolg", "erfolgreich", "succès", "réussi", "éxito", "exito", "sucesso", "successo"),
        *("riuscito", "gelukt", "成功", "성공"),
    )
)
_CODE_KEYS = frozenset(("code", "ret", "errcode", "retcode", "resultcode", "statuscode"))
_MESSAGE_KEYS = frozenset(
    (
        *("message", "msg", "errmsg", "errormsg", "errormessage", "mensaje", "mensagem"),
        *("meldung", "nachricht", "messaggio", "消息", "信息", "メッセージ", "메시지"),
    )
)
_AMISS = re.compile(
    r"\b(?:in|un|im)(?:valid|known|authori[sz]ed|expected|possible)\b|error|fail|denied|refused"
    r"|reject|missing|expired|exceed|forbidden|not\b|no\b|without|too many|inválid|falta|fehl"
    r"|ungültig|kein|nicht|échec|refus|invalide|manqu|negad|denegad|rechaz|expirad|non\b|não\b"
    r"|[无無没沒缺错錯误誤拒]|不(?!客气|客氣)|失[败敗]|过期|過期|超[时時出限]|异常|異常|エラー|ません|ない|오류|실패|잘못|없",
    re.IGNORECASE,
)
LEAST_CODE = 1_000
"""A number of an error as firms give them; smaller ones number other things too."""
_FAILED_KEYS = frozenset(("iserror", "haserror", "failed", "isfailed", "failure"))
_EXIT_KEYS = frozenset(("exitcode", "returncode", "exitstatus", "rc", "exit", "retcode"))
_HTTP_KEYS = frozenset(("statuscode", "httpstatus", "httpcode", "httpstatuscode", "responsecode"))
_STREAMS = frozenset(("stdout", "stderr", "output", "stdin", "out"))
SAYING = frozenset(
    (
        *(
            "message",
            "msg",
            "error",
            "errors",
            "err",
            "errormessage",
            "detail",
            "details",
            "reason",
        ),
        *("理由", "原因", "説明", "사유", "이유", *_MESSAGE_KEYS),
        *("grund", "motif", "motivo", "razón", "raison", "ragione", "begründung", "reden"),
        *("errmsg", "errormsg", "errordescription", "faultstring"),
        *("description", "errorcode", "code", "exception", "title", "errortype", "cause", "hint"),
    )
)
ENVELOPE = _ERROR_KEYS.union(
    *(_ERROR_WORDS, _CODE_KEYS, _NOT_OK_KEYS, _FAILED_KEYS, _EXIT_KEYS, _HTTP_KEYS, SAYING)
)
ENVELOPE = ENVELOPE.union(
    _STATE_KEYS,
    (
        *("stack", "kind", "apiversion", "tool", "toolname", "function", "method"),
        *("requestid", "traceid", "spanid"),
        *(
            "correlationid",
            "timestamp",
            "time",
            "ts",
            "date",
            "path",
            "instance",
            "help",
            "attempt",
        ),
        *("attempts", "retryable", "retryafter", "retryafterms", "retry", "duration", "durationms"),
        *("elapsed", "elapsedms", "took", "latencyms", "service", "source", "jsonrpc", "id", "url"),
        *("documentationurl", "severity", "category", "param", "domain", "version", "meta", "uri"),
        *("provider", "host", "query", "command", "cmd", "cwd", "signal", "killed", "suggestion"),
        *("suggestions", "metadata", "endpoint", "data", "content", "results", "output", "body"),
        *("timedout", "warnings", "action", "operation", "retryin", "syscall", "address", "port"),
    ),
)
"""Keys of an answer about the call itself; any other tells of a thing that was asked for."""
PAYLOAD = frozenset(("data", "content", "results", "output", "body", "result"))
"""Keys under which the thing asked for is, where they are not empty."""
UNSAID = frozenset(("", "none", "null", "nil", "no", "false", "ok", "0", "success", "n/a", "-"))
_LINE_KEYS = frozenset(("line", "row", "column", "col", "file", "filename", "loc", "lineno"))


def field_rule(held: Mapping[str, Any], said: set[str], foreign: set[str]) -> Rule | None:
    """Which kind of member of an object says that the call failed."""
    went_well = any(is_fine(key, inner) for key, inner in held.items())
    if went_well and not said & _FAILED_KEYS:
        return None
    if any(_is_error(held[key]) for key in said & _ERROR_KEYS) and len(foreign) <= 1:
        return "field"
    if not foreign and any(_is_error(held[key]) for key in said & _ERROR_WORDS):
        return "field"
    if "errors" in said and not foreign and _are_errors(held):
        return "field"
    refused = any(held[key] is False or held[key] == "false" for key in held.keys() & _NOT_OK_KEYS)
    refused = (
        refused or (held.get("ok") == 0 and bool(said & SAYING)) or held.get("status") is False
    )
    refused = refused or any(held[key] is True for key in said & _FAILED_KEYS)
    if refused and len(foreign) <= 1:
        return "field"
    if not foreign and _is_numbered(held, said):
        return "field"
    told = [(k, plain(held[k])) for k in _STATE_KEYS if isinstance(held.get(k), str)]
    # As a result it is a boxer's.
    states = [state for key, state in told if state != "ko" or key not in _RESULT_KEYS]
    if not foreign and any(_is_code(held[key]) for key in said & {"code", "type", "reason"}):
        return "field"
    if "detail" in said and not foreign and _are_complaints(held["detail"]):
        return "field"
    # A thing may be unavailable, invalid or denied; alone, only a call errs or fails.
    alone = len(said) == 1 and any(state in _CALL_FAILED for state in states)
    tells = alone or bool(said & SAYING - {"reason", "title", "code"}) or "error" in states
    if tells and not foreign and any(state in _FAILED_STATES for state in states):
        return "status"
    if _exited(held, said) and len(foreign - _STREAMS) <= 2:
        return "exit"
    if any(_is_http(held[key]) for key in said & _HTTP_KEYS) and len(foreign) <= 2:
        return "http"
    bare = any(_is_http(held.get(key)) for key in ("status", "code"))
    tells = tells or "title" in said
    return "http" if bare and tells and not foreign else None


def is_fine(key: str, value: Any) -> bool:
    """Whether a member of an envelope says that the call went well."""
    if key in _NOT_OK_KEYS:
        return value is True or value == "true" or (key == "ok" and value == 1)
    if key == "status":
        return value is True or value == 200 or (isinstance(value, str) and plain(value) in _FINE)
    return False


def _exited(held: Mapping[str, Any], said: set[str]) -> bool:
    """Whether a command's exit status tells of a failure, rather than of an empty search."""
    codes = [held[key] for key in said & _EXIT_KEYS]
    codes = [code for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    if not any(codes):
        return False
    streams = [held[key] for key in said & _STREAMS if isinstance(held[key], str)]
    if "stderr" not in said and any(words.TEST_REPORT.search(text[-EDGE:]) for text in streams):
        return False
    # A search or a comparison ends with 1 when it finds nothing, or a difference.
    return any(code not in (0, 1) for code in codes) or bool(streams) or bool(said & SAYING)


def _is_error(value: Any) -> bool:
    if isinstance(value, str):
        return plain(value) not in UNSAID
    if isinstance(value, Mapping):
        return bool(SAYING & set(map(plain, value))) or any(
            isinstance(v, str) for v in value.values()
        )
    return value is True or isinstance(value, list) or _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value != 0


def _is_numbered(held: Mapping[str, Any], said: set[str]) -> bool:
    """Whether an object is a number as errors have one, what is amiss, and nothing else."""
    told = [held[key] for key in said & _MESSAGE_KEYS if isinstance(held[key], str)]
    codes = [code for key in said & _CODE_KEYS if type(code := held[key]) is int]
    if any(code < 0 for code in codes):
        return bool(told)
    is_number = any(code >= LEAST_CODE and code % LEAST_CODE for code in codes)
    return is_number and any(_AMISS.search(text) for text in told)


def _are_errors(held: Mapping[str, Any]) -> bool:
    """Whether `errors` are those of the call and no checker's findings."""
    errors = held["errors"]
    if isinstance(errors, Mapping):
        # What a field was refused for: `{"date": ["is required"]}`.
        return all(
            isinstance(one, list) and one and all(isinstance(said, str) for said in one)
            for one in errors.values()
        )
    if not isinstance(errors, list) or {"warnings", "valid", "isvalid", "file"} & held.keys():
        return False
    entries = [set(map(plain, one)) for one in errors if isinstance(one, Mapping)]
    # Records of errors that happened elsewhere have counts and dates, and no message.
    return not any(keys & _LINE_KEYS or not keys & SAYING for keys in entries)


def _is_code(value: Any) -> bool:
    """True for a name that says what failed: `NOT_FOUND`, `AccessDeniedException`."""
    return isinstance(value, str) and bool(
        words.CODE.fullmatch(value)
        or heads.CLASS_NAME.fullmatch(value)
        or re.fullmatch(r"[A-Z]\w{1,60}(?:Exception|Error|Fault)|E[A-Z]{3,15}", value)
    )


def _are_complaints(value: Any) -> bool:
    """True for what validators of requests answer: places and messages."""
    return isinstance(value, list) and any(
        isinstance(one, Mapping) and {"loc", "msg"} <= one.keys() for one in value
    )


def _is_http(value: Any) -> bool:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) == 3:
        value = int(value)
    return _is_number(value) and 400 <= value <= 599


def plain(word: Any) -> str:
    """A key or a state in one spelling: `isError`, `is_error` and `IS-ERROR` are the same."""
    return re.sub(r"[\s_\-]+", "", str(word)[:60]).lower()
