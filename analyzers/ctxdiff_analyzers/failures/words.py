"""Words in which programs say that something failed, in the languages that they speak.

Each pattern is general: no tool's and no provider's own messages. Patterns are searched in short
texts and in single lines only, and none has a repetition inside a repetition.
"""
# ruff: noqa: RUF001  letters of other scripts are meant

from __future__ import annotations

import re

TELLING = re.compile(
    r"""
    \b connection \s (?: was \s | has \s been \s )? (?: reset | refused | aborted | closed | lost
      | timed \s out | failed | error )
    | \b broken \s pipe | \b no \s route \s to \s host | \b (?: host | network ) \s (?: is \s )?
      (?: down | unreachable ) | \b name \s (?: or \s service \s not \s known | resolution )
    | \b temporary \s failure | \b getaddrinfo (?= \s? [:\[(]? \s? (?: E | fail | error | \W* $ ) )
    | \b socket \s hang \s up
    | \b timed \s out \b | ^ time-?out [.!]? $ | \b time-?out \s (?: after | while | waiting
      | reached
      | exceeded | expired | error | of \s \d+ \s? \w+ \s exceeded )
      | \b (?: request | gateway | read | operation
      | connect(?:ion)? | execution | tool
      | lock | query | upstream ) \s time-? \s? out | \b deadline \s exceeded
    | \b permission \s (?: was \s )? (?: denied | refused )
    | ^ request \s (?: was \s )? (?: denied | rejected | refused )
    | \b access \s (?: is \s | was \s )? (?: denied | forbidden )
    | \b operation \s not \s permitted | \b (?: not \s authori[sz]ed | unauthori[sz]ed
      | forbidden )
    | \b authentication \s (?: failed | required ) | \b (?: token | session | credentials? | key )
      \s (?: has \s | have \s | is \s )? (?: expired | revoked )
    | \b no \s such \s \w+ | \b command \s not \s found | \b is \s not \s recogni[sz]ed
    | \b does \s not \s exist | \b (?: doesn't | didn't ) \s exist | \b not \s a \s directory
    | \b (?: no \s space \s left | disk \s (?: is \s )? full | out \s of \s memory
      | quota \s exceeded )
    | \b read-only \s file \s system | \b is \s a \s directory | \b segmentation \s fault
    | \b core \s dumped | \b (?-i: [Ss]tack ) \s (?-i: overflow )
    | \b database \s is \s locked | \b deadlock
    | \b internal \s (?: server \s )? error | \b service \s (?: is \s )? (?: temporarily \s )?
      unavailable | \b bad \s (?: gateway | request )
      (?= \W* $ | \s? [:.(,-] | \s (?: error | for | from | sent | to ) \b )
    | \b too \s many \s (?: requests
      | connections )
    | \b rate [ -]? limit (?: ed | \s exceeded | \s reached | \s hit ) | \b throttl (?: ed | ing )
    | \b (?: temporarily | currently ) \s unavailable | \b try \s again \s (?: later | in )
    | \b (?: service | server | system | api | backend | host | database | endpoint | tool
      | function | resource | upstream | gateway | network | cluster | index | cache | queue
      | storage | provider | platform | web \s? site | app | interface | module | plugin
      | connector | instance | node | worker | model | portal ) s? \s (?: is | are | was ) \s
      (?: currently \s | temporarily \s )? (?: not \s available | unavailable | down | disabled
      | busy | offline )
    | \b (?: is | are | was ) \s (?: unreachable | overloaded )
    | ^ (?: \w+ \s )? (?: server | service | system | backend ) \s busy\b
    | \b (?: early | premature | unexpected ) \s (?: eof | end \s of ) \b
    | \b (?: stream | transfer | channel | socket | session | pipe ) \s (?: was \s )?
      (?: unexpectedly \s )? (?: closed | interrupted | aborted )
    | \b (?: closed | ended | terminated | stopped ) \s unexpectedly
    | \b (?: not \s available | unavailable | busy | down | offline ) \s (?: right \s now | at \s
      (?: the | this ) \s (?: moment | time \W* $ ) | temporarily )
    | \b (?: not \s available | unavailable | busy | down | offline | overloaded ) [,;.] \s
      (?: please \s )? (?: re-?try | try \s again )
    | ^ (?: re-?try | try \s again ) (?= [.!]? $ | \s (?: later | shortly | soon | in \s ) )
    | \b please \s (?: re-?try | try \s
      again ) \b
    | \b an? \s (?: \w+ \s )? (?: problem | issue | failure | fault ) \s (?: has \s )? (?: occurred
      | arose ) (?= \s (?: while | during | when | with ) | [.!]? $ )
    | \b an? \s (?: unexpected | unknown | internal ) \s (?: problem | issue | failure | error )
    | \b there \s (?: was | has \s been ) \s an? \s (?: \w+ \s )? (?: problem | issue | error )
      \s (?: \w+ing | with ) \b
    | \b (?: ran | run ) \s into \s an? \s (?: \w+ \s )? (?: problem | issue | error )
    | \b refused \s the \s connection | \b cancell?ing \s (?: statement | query | request )
    | \b (?: transaction | changes ) \s (?: was \s | were \s )? rolled \s back
    | \b exceeded \s \w+ \s (?: limit | quota | budget ) | \b already \s (?: locked | in \s use )
      \s by
    | \b (?: entity | payload ) \s too \s large | \b operation \s not \s supported
    | \b (?: reference | column | identifier | name ) \b .{0,40} \b (?: is \s ambiguous | must \s
      be \s declared )
    | \b crashed \s unexpectedly | \b is \s not \s allowed \s to \b | \b not \s logged \s in \b
    | ^ (?: no \s access | (?: login | authentication ) \s required ) [.!]? $
    | ^ (?: invalid_ (?: grant | token | request | client | scope | argument | parameter | input
      | api_key ) | access_denied | permission_denied | rate_limit\w*
      | (?: internal_ )? server_error
      | internal_error | unauthorized(?: _client )? | deadline_exceeded | resource_exhausted
      | service_unavailable | request_timeout | too_many_requests | connection_\w+ ) $
    | \b tool \s .{1,40} \s is \s disabled
    | \b (?: unknown | unsupported | unrecogni[sz]ed ) \s (?: tool | function | command | method
      | option | argument | parameter | operation | host | error | column | table )
    | \b no \s (?: handler | tool | function ) \s (?: is \s )? (?: registered | named | called
      | found )
    | \b (?: execution | operation | request | call | query | command | tool | job | build
      | upload
      | download | lookup | handshake | validation | import | transaction ) \s (?: has \s
      | was \s )?
      (?: failed | aborted | rejected | terminated | crashed | errored )
    | \b (?: certificate | ssl | tls ) \b .{0,30} \b (?: verify | verification | error | failed
      | expired )
    | \b something \s went \s wrong | \b encountered \s an? \s (?: unexpected | internal | error )
    | \b (?: returned | responded | answered | got | received ) \s (?: with \s | an? \s | http \s
      | error \s | status \s | code \s )* [45]\d\d \b
      (?= \W* $ | [.:;,(] | \s (?: for | from | on | after | when
      | while | bad | internal | error | status ) \b )
    | \b (?: is | are ) \s (?: locked | offline | unreachable | not \s (?: allowed | permitted ) )
    | \b (?: unreachable | version \s mismatch | insufficient \s (?: perm | priv | scope
      | right ) )
    | \b quota \s .{0,20} exceeded | \b exceeded \s the \s (?: max | quota | limit | time
      | allowed )
    | \b (?: payload | request | file | body | response ) \s (?: is \s )? too \s large
    | \b index \s out \s of | \b division \s by \s zero | \b null \s pointer
      | \b gave \s up \s after
    | \b (?: failed | failing | aborted ) \s after \s \d | \b after \s \d+ \s (?: attempts
      | retries | tries )
    | \b under \s maintenance | \b (?: service | server | system | database | api ) \b .{0,30}
      \b maintenance
    | \b circuit \s breaker | \b quota \s .{0,20} exhausted | \b socket \s time-? \s? out
    | \b connect \s error | \b violates \s (?: \w+ \s ){0,2} constraint
    | \b duplicate \s key (?! \s update )
    | \b (?: did | does | is ) \s not \s respond (?: ing )? | \b no \s (?: response
      | answer ) \s from
    | \b (?: do | does | did ) \s not \s have \s (?: the \s )? (?: permission | access | rights )
    | \b not \s allowed \s to \b | \b not \s authenticated | \b is \s restricted
    | \b malformed \s (?: request | input | json | query ) | \b method \s not \s allowed
    | \b (?: returned | raised | threw | reported ) \s an \s? (?: error | exception )
    | \b (?: execution | connection | runtime | system | database | backend | tool ) \s error
    | \b (?: service | server | host | backend | database ) \s (?: is \s )? down \b
    | \b (?: operation | request | call | query | job | task | command ) \s (?: was \s
      | has \s been \s )?
      cancell?ed | ^ cancell?ed \s by
    | ^ (?: error | exception | failure | failed | terminated | killed | aborted
      | crashed ) [.!]? $
    | keine \s (?: verbindung | berechtigung | rechte ) | zugriff \s .{0,30} verweigert
    | (?: ble | blev | blei ) \s (?: brutt | avbrutt | avbruten | afbrudt | nektet ) | bröts
      | katkesi
    | ingen \s (?: tilgang | forbindelse | åtkomst | adgang ) | brak \s (?: połączenia
      | uprawnień )
    | \b (?: unexpected | syntax | parse | unknown | server | network ) \s error
    | \b E (?: CONN(?:REFUSED|RESET|ABORTED) | TIMEDOUT | NOENT | ACCES | PERM | PIPE | NOTFOUND
      | HOSTUNREACH | NETUNREACH | EXIST | ISDIR | NOTDIR | MFILE | AI_AGAIN | BUSY | NOSPC ) \b
    | \b (?: http | status | code ) [ /=:]{0,3} (?: \d\.\d \s )? (?: status \s
      | code \s )* [45]\d\d \b (?! \s (?: is | are | was | were | means | stands ) )
    | \b [45]\d\d [ :-]{1,3} (?: bad \s (?: request | gateway ) | unauthori[sz]ed
      | forbidden | not \s (?: found | implemented ) | conflict | gone\b | too \s many | internal \s
      (?: server | error ) | service \s (?: temp | unav ) | gateway
      | request \s (?: time | ent | too )
      | unprocessable | payment \s req )
    | zeitüberschreitung | verbindung \s .{0,30} (?: abgelehnt | verweigert | abgebrochen
      | zurückgesetzt
      | unterbrochen | fehlgeschlagen ) | zugriff \s verweigert | keine \s berechtigung
    | fehlgeschlagen | nicht \s (?: gefunden | erreichbar | verfügbar )
    | (?: connexion | accès ) \s .{0,20} (?: refusée? | interrompue? | perdue? | réinitialisée?
      | expirée? )
    | délai \s .{0,30} (?: dépassé | expiré ) | permission \s (?: refusée | non \s accordée )
    | introuvable | indisponible | a \s échoué
    | conexión \s .{0,20} (?: rechazada | perdida | cerrada | restablecida | agotada )
    | tiempo \s de \s espera | (?: acceso | permiso ) \s denegado
      | no \s (?: se \s )? (?: encontr | existe
      | disponible ) | no \s se \s pudo
    | connessione \s .{0,20} (?: rifiutata | interrotta | scaduta | chiusa ) | tempo \s scaduto
    | (?: accesso | permesso ) \s negato | non \s (?: trovat | disponibile | riuscit )
      | impossibile
    | conexão \s .{0,20} (?: recusada | perdida | encerrada | redefinida )
      | tempo \s (?: limite | esgotado )
    | (?: acesso | permissão ) \s negad[ao] | não \s (?: encontrad | disponível
      | foi \s possível )
    | verbinding \s .{0,20} (?: geweigerd | verbroken ) | toegang \s geweigerd
      | niet \s (?: gevonden
      | beschikbaar ) | mislukt
    | (?: tilgang | åtkomst | adgang ) \s (?: nektet | nekad | nægtet ) | tidsavbrudd | tidsgräns
    | (?: ikke | inte | ei ) \s (?: funnet | hittades | fundet | tilgjengelig | tillgänglig
      | löytynyt )
    | (?: tilkoblingen | anslutningen | forbindelsen ) \s .{0,20} (?: avbrutt | bröts | afbrudt
      | nektet
      | nekades | tilbakestilt )
    | mislyktes | misslyckades | mislykkedes
    | (?: brak \s dostępu | odmowa \s dostępu | przekroczono \s .{0,10}czas
      | nie \s (?: znaleziono
      | można ) | połączenie \s .{0,20} (?: odrzucone | zerwane | przerwane ) )
    | (?: доступ \s запрещ | отказано \s в | не \s (?: найден | удалось | существует | доступен )
      | время \s ожидания | соединение \s .{0,20} (?: сброшено | разорвано | отклонено ) )
    | (?: не \s вдалося | не \s знайдено | доступ \s заборонено )
    | (?: bağlantı .{0,20} (?: reddedildi | kesildi ) | zaman \s aşımı | erişim \s engellendi
      | bulunamadı )
    | 超时 | 逾時 | 连接.{0,6}(?: 拒绝 | 失败 | 重置 | 断开 ) | 連線.{0,6}失敗 | 拒绝访问 | 没有权限
    | 权限不足 | 不存在 | 找不到 | 无法 | 無法 | 失败 (?! [率的者案] ) | 失敗 (?! [は率談例の] )
    | 服务不可用 | 内部错误
    | タイムアウト | 接続.{0,6}(?: 拒否 | 失敗
      | リセット | 切断 ) | アクセス.{0,6}拒否 | 権限がありません
    | 見つかりません | 存在しません | できません(?:でした)? | できませんでした | 利用できません
    | 시간\s?초과 | 연결.{0,8}(?: 거부 | 실패 | 끊 )
      | 권한이?\s?없 | 찾을\s?수\s?없 | 존재하지\s?않 | 실패
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What an error message says in few words, of a system, a network, a service."""

OPENING = re.compile(
    r"""
    (?: failed (?= \s (?: with | due | because | after ) \b | [.!]? $ )
      | failure (?= [.!]? $ | \s while \b ) | (?: failed | failure | unable ) \s to \s
      (?! thrive | pay | appear | attend | work\b | comply | stop | yield | walk | sleep | eat
      | tolerate | sit\b | stand\b | speak | swallow | show | disclose | act\b | maintain
      | breathe | speak | bend | lift | qualify | travel | cope | conceive | give | meet\b )
      | could \s? n[o']t | couldn't
      | can(?:not|'t|\snot) \s (?: be \s )? (?: open | read | write | connect | find | found
      | access
        | resolve | parse | load | reach | execute | complete | process | fetch | get | create
        | delete | locate | import | determine | perform | retrieve | run | call | update )
      | invalid \s (?: arg | request | input | param | token | api | cred | json | syntax
      | date | format
        | value | id \b | path | url | response | key | query | type | state | operation
      | session )
      | missing \s (?: required | param | arg | field | key | api | auth | cred )
      | no \s such \s \w | (?: unknown | unsupported ) \s [\w-]+ (?: \s? [:'"`(«„“] | \W* $
      | \s \S* [\d_] )
      | unexpected \s (?: end | token | error | response | char | keyword | argument | eof | status
      | value | type | field | key | input | failure | exception | http | result | null | problem
      | identifier | indent | symbol ) | undefined \s (?: is | variable | method | reference | index
      | symbol | array | offset | function | property | local | name | column )
      | timed \s out | cancell?ed \s by \s (?: the \s )? (?: user | server | client | system
      | signal | time-? \s? out ) | (?: aborted | killed | crashed | interrupted )
      (?= \W* $ | [:(] | \s (?: \( | by \s (?: the \s )? (?: signal | user | time | oom | system )
      | due \s to | after \s \d ) )
      | (?: errore | erreur | error | erro | fehler | fel | feil ) \s (?: di | de | del | beim
      | bei | ao | vid | ved ) \b
      | falha \s (?: ao | de | na ) | konnte \s .{0,80} nicht | impossible \s (?: de | d' )
      | échec | no \s se \s pudo
      | impossibile
      | não \s foi \s possível | kon \s .{0,60} niet | kunne \s ikke | kunde \s inte
      | nie \s udało
      | не \s удалось | не \s вдалося
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""How a message without the word error begins."""

NOT_FOUND = re.compile(
    r"\b not \s found \b | \b could \s not \s be \s \w+ | \b is \s invalid \b"
    r"| \b has \s the \s wrong \s type | \b is \s (?: required | missing ) $"
    r"| \b not \s implemented | \b (?: service | store | server | backend | host ) \s unavailable $"
    r"| \b nicht \s gefunden \b | \b konnten? \s (?: \w+ \s )? nicht \s \w+ \s werden"
    r"| \b introuvables? \b | \b n'a (?:i|ont)? \s pas \s pu \s être"
    r"| \b (?: no | não | non ) \s (?: se \s )? (?: encontrad | trovat ) | \b inexistente s? \b"
    r"| \b no \s pud(?:o|ieron) \s ser | \b não \s p[ôu]d(?:e|eram) \s ser"
    r"| \b niet \s gevonden \b | \b kon(?:den)? \s (?: \w+ \s )? niet \s worden"
    r"| \b (?: ikke \s funnet | hittades \s inte | nie \s znaleziono | не \s найден | bulunamadı )"
    r"| 見つかりません | 未找到 | 找不到 | 찾을 \s? 수 \s? 없"
    r"| ^ (?: die | la | el | le | a | de | il | het )? \s? (?: buchung | anfrage | vorgang"
    r"  | zugriff | anmeldung | operación | solicitud | petición | reserva | acceso | opération"
    r"  | requête"
    r"  | demande | réservation | accès | operação | requisição | solicitação | acesso | richiesta"
    r"  | operazione | prenotazione | accesso | verzoek | boeking | toegang ) \s (?: \w+ \s )?"
    r"  (?: rechazad[ao]s? | denegad[ao]s? | abgelehnt | verweigert | refusée?s?"
    r"  | rejetée?s? | recusad[ao]s? | negad[ao]s? | rifiutat[aoei] | geweigerd )"
    r"  \s? (?: [.!:] | $ )"
    r"| ^ [\w\s]{2,30} \s (?: fehlgeschlagen | échouée? | fallid[ao] | impossible | mislukt )"
    r"  \s? (?: [.!:] | $ ) | ^ (?: the \s )? (?: page | tab | browser"
    r"  | process | worker | renderer | kernel | session ) \s (?: has \s )? crashed \W* $",
    re.IGNORECASE | re.VERBOSE,
)
"""What a message of very few words says of the thing that was asked for."""

LOG_LINE = re.compile(
    r"^\W{0,3}\d{4}[-/]\d\d[-/]\d\d[ T,]{1,2}(?:\d\d:|[\[(]?[A-Z]{4,8}\b)"
    r"|^\W{0,3}(?:\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]?\d \d\d:)"
    r"|^\W{0,3}\d\d/[A-Z][a-z]{2}/"
    r"|^\W{0,2}(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|NOTICE|CRITICAL)\b"
    r"|\b(?:level|lvl|severity)[\"']?[=:]",
)
HIT_LINE = re.compile(
    r"^(?!\d{4}-\d\d-\d\d)[^\s:]{1,200}[:\-]\d+[:\-]|^\s{0,8}\d{1,6}\s?[\t|│→:]|^\s{0,8}\d{1,6}\s{2,}\S"
)
"""A line of a search (`file:12: text`), or of a file shown with its line numbers."""
TEST_REPORT = re.compile(
    r"\b\d+ (?:passed|failed|failures?|passing|failing|skipped|tests?|examples?|specs?|errors?)\b"
    r"|\b(?:passed|failed|failures|tests(?: run)?|errors): *\d+"
    r"|^(?-i:FAILED|PASSED|FAIL|PASS|ok|not ok)\b"
    r"|={3,} (?:FAILURES|ERRORS|test session)|test result:",
    re.IGNORECASE | re.MULTILINE,
)
"""The report of a test run or of a checker, which is what such a tool is for."""

TRACEBACK = re.compile(
    r"""
    ^ Traceback \s \( most \s recent \s call \s last \)
    | ^ (?: Uncaught \s | Unhandled \s )? [\w.$]* (?: Error | Exception ) \b [^\n]{0,400} \n
      (?: [^\n]{0,400} \n ){0,3} \s+ (?: at | File ) \s \S
    | ^ Exception \s in \s thread \b | ^ Unhandled \s exception | ^ Caused \s by: \s
    | ^ panic: \s | ^ goroutine \s \d+ \s \[
      | ^ thread \s '[^'\n]{0,80}' \s (?:\(\d+\)\s)? panicked \s at
    | ^ \*\* \s \( \w+ \) | ^ (?: PHP \s )? (?: Fatal | Parse ) \s error:
      | ^ Error \s in \s [^\n]{1,80} :
    | ^ [^\s:]{1,120} : \d+ : in \s [`'] [^\n]{0,200} \( \w+ (?: Error | Exception ) \)
    | ^ Segmentation \s fault | ^ FATAL \s EXCEPTION
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Where a traceback begins: Python, JavaScript, Java, C#, Go, Rust, Ruby, PHP, Elixir, R."""
LAST_LINE = re.compile(
    r"^[\w.$]*(?:Error|Exception|Interrupt|Exit|Fault|Warning)\b\s*(?::.*|\(.*)?$|^\s+at \S"
    r"|^exit status \d|core dumped|^\s*\^+$|RUST_BACKTRACE|^\s*\.\.\. \d+ more$",
)
"""How a traceback ends."""
SHELL_LINE = re.compile(
    r"^(?:-?(?:/\S*/)?(?:ba|z|da|k|c|fi)?sh|cmd|pwsh|powershell|make(?:\[\d+\])?)(?:\.exe)?: "
    r".{0,200}(?:not found|[Nn]o such file|[Pp]ermission denied|cannot |\*\*\* )"
    r"|is not recognized as an internal or external command|^npm ERR!",
)
"""A shell's own complaint."""
EXIT_LINE = re.compile(
    r"^\W{0,3}(?:(?:the )?(?:command|process|script|tool|program)\b.{0,40})?"
    r"(?:exit(?:ed)?|return(?:ed)?|terminated|failed)(?: with| by)?(?: non-?zero)?"
    r"[ _-]?(?:exit[ _-])?(?:status|code|signal)\W{0,3}(?:code\W{0,2})?(-?[1-9]\d{0,9})\W{0,3}$",
    re.IGNORECASE,
)
"""A line that tells the exit status of a command."""
CODE = re.compile(
    r"(?:[A-Z0-9]{1,30}_){0,4}(?:ERR|ERROR|FAILED|FAILURE|TIMEOUT|DENIED|NOT_FOUND|REFUSED"
    r"|UNAVAILABLE|EXCEEDED|INVALID|UNAUTHORIZED|FORBIDDEN|CONFLICT|LOCKED)(?:_[A-Z0-9]{1,30}){0,3}"
)
"""A name in capitals that says what failed."""
NO_OUTPUT = re.compile(r"\(?no output\)?|std(?:out|err):|output:", re.IGNORECASE)
