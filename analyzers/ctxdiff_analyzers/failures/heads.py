"""How a text begins that is an error message: a word, a class, a code, a tag, a page's title.

Patterns are matched at the start of a text or a line.
"""
# ruff: noqa: RUF001  # letters of other scripts are meant

from __future__ import annotations

import re

HEAD = re.compile(
    r"""
    (?: [\w$.:]{0,80} (?: error | exception ) | (?-i: [\w$.:]{0,80} [a-z] Fault )
      | (?! one | an?\b | the | only | no\b | human | pilot | clerical | medication | measurement
        | rounding | standard | sampling
        | operator | driver | judicial | typing | printing | spelling | grammar | translation
        | accounting | calculation | mean | relative | absolute | refractive | type )
        [a-z]+ \s (?: error | exception )
      | [\w./-]{1,40} : \s (?: fatal \s )? error
      | fatal (?! \s? : \s? \d ) | err! | npm \s err!
      | fehler | erreur | error(?:e|es)? | errore
      | erro | fejl | feil | virhe | błąd | chyba | eroare
      | ошибка | сбой | помилка | σφάλμα | hata | lỗi | kesalahan | שגיאה | خطأ | त्रुटि
    )
    (?: \s? \[ [^\]\n]{1,40} \] | \s? \( [^)\n]{1,60} \) | \s \d{3,6} | \s [A-Z][A-Z_]?\d{3,5} )?
    \s? (?: : | ： | \s [-–—] \s | ! (?=\s) )
    | \[ (?: error | exception | fatal | failed ) \] \s
    | (?-i: [A-Z][A-Z0-9]{0,20} _ (?: [A-Z0-9]+ _ )? )? (?-i: ERR | ERROR | FAILED | FAILURE
      | TIMEOUT | DENIED
      | NOT_FOUND | REFUSED | UNAVAILABLE | EXCEEDED | INVALID | UNAUTHORIZED
      | FORBIDDEN ) (?-i: _[A-Z0-9_]{1,40} )?
      (?: \s? [:(\-–—] | $ )
    | (?: 错误 | 錯誤 | 出错 | 异常 | 失败
      | エラー | 例外 | 失敗 | 오류 | 에러 | 실패 ) (?! [率数數次] ) [^\n]{0,12} [:：]
    | (?: an? \s )? (?: \w+ \s ){0,2} (?: error | exception ) \s
      (?: executing | calling | running | invoking | occurred | was \s (?: raised | thrown )
        | while | when | during | fetching | reading | processing | parsing | code \s \W? \d ) \b
    | (?: es \s ist \s )? ein \s fehler \s | une \s erreur \s
      | se \s ha \s producido \s un \s error
    | si \s è \s verificato \s un \s errore | ocorreu \s um \s erro | er \s is \s een \s fout
    | det \s (?: oppstod | uppstod | opstod ) \s | произошла \s ошибка | wystąpił \s błąd
    | something \s went \s wrong | uncaught \s | unhandled \s (?: \w* error | \w* exception
      | rejection | promise )
    | error \s (?: response \s )? from \s (?: [^\n:]{1,60} \( \w+ \) \s? :
      | (?: the \s )? (?: server | daemon | api | service | backend | upstream | database | tool
      | remote | provider | client | host ) \b )
    | error \s (?! handling | reporting | logging | tracking | checking | correcting | bounding
      | estimating | rating | floating | budgeting | modelling | modeling ) \w{2,20} ing \s \w
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""How an error message begins."""

WEAK_HEAD = re.compile(
    r"(?:failure|failed|fault|panic|abort(?:ed)?|e|ausnahme|échec|excepción|fallo|falha|fout|fel"
    r"|hiba|avería|storing|störung|warning|problem|denied|rejected)\s?(?::|：|\s[-–—]\s)\s*",
    re.IGNORECASE,
)
"""A head that is an everyday word too: what follows has to be a message by itself."""

NO_ERROR = re.compile(
    r"[^\n:：]{0,40}[:：]\s*(?:none|no(?: errors?)?|nil|null|n/?a|-|keine?r?|aucune?"
    r"|ningun[oa]?|nessun[oa]?"
    r"|nenhuma?|ingen|inga|geen|brak|yok|нет|无|無|なし|없음|لا يوجد|\d{1,3}(?:[.,]\d+)?\s*"
    r"(?:%|(?:of|av|von|de|sur|di|av|из|/)\s?\d.*)?)\s*[.!]?$",
    re.IGNORECASE,
)
"""A count of errors, or the word for none, behind a head."""

CLASS_NAME = re.compile(
    r"(?:[A-Za-z_]\w{0,60}(?:\.|::|\$)){0,10}(?:(?<=errors\.)|(?<=exceptions\.)|(?<=exc\.)"
    r"|(?<=Errors::))[A-Z]\w{2,60}(?=: \S|$)"
    r"|(?:[A-Za-z_]\w{0,60}(?:\.|::|\$)){0,10}[A-Z]\w{0,60}[a-z](?:Error|Exception|Timeout|NotFound"
    r"|Denied|Refused|Disconnected|Cancell?ed|Failed|Failure|Unavailable|Exceeded|Interrupt|Aborted"
    r"|Expired|Forbidden|Unauthorized|Unreachable|Invalid|Conflict)(?=: \S|$)|StopIteration$"
)
"""A class of exceptions with its message, as languages print one."""

PROGRAM_CODE = re.compile(
    r"net::ERR_[A-Z_]{3,60}\b"
    r"|(?:ORA|PLS|TNS|SP2|DPI|DPY|RMAN|LRM|KUP|OCI|MY)-\d{4,6}: \S|SQL\d{4,5}N\s|SQLSTATE\b"
    r"|Msg \d+, Level \d|ERROR \d{4} \(\w{5}\)|HRESULT\b|0x8[0-9A-F]{7}\b"
    r"|(?:error )?(?:CS|TS|BC|LNK|MSB|NU)\d{4,5}: \S|svn: E\d{6}"
)
"""The codes by which databases, compilers and systems number their errors."""

TAG = re.compile(
    r"(?:<\?xml[^>]{0,100}\?>\s*)?<(?:\w{0,40}[:_-])?(?:error|exception|fault|tool_use_error)\b[^>]{0,80}>",
    re.IGNORECASE,
)
_STATUS = (
    r"(?:bad request|unauthori[sz]ed|authorization required|payment required|(?:access )?forbidden"
    r"|access denied|(?:page |file )?not found|method not allowed|not acceptable|request time-?out"
    r"|conflict|gone|payload too large|request entity too large|unprocessable (?:entity|content)"
    r"|too many requests|internal server error|server error|not implemented|bad gateway"
    r"|service (?:temporarily )?unavailable|gateway time-?out|web server is down"
    r"|connection timed out|origin is unreachable)"
)
ERROR_PAGE = re.compile(
    rf"<(?:title|h1)>\s{{0,20}}(?:[^<>\n]{{1,40}} [|–-] )?(?:(?:http |status |error |fehler )*"
    rf"[45]\d\d(?: error)?\W{{1,5}})?{_STATUS}[^\w<:]{{0,6}}\d?"
    rf"(?: ?[|–-] [^<\n]{{1,40}})?\s*</(?:title|h1)>",
    re.IGNORECASE,
)
"""Markup that is an error and nothing else."""
