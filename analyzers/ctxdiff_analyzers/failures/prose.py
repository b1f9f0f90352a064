"""What gives away that a short text is a record, a rule or a story and no message of failure."""
# letters of other scripts are meant

from __future__ import annotations

import re

NOTHING_FOUND = re.compile(
    r"""
    ^ not \s found \s in \b
    | ^ \W* (?: no | 0 | zero | nothing | none | keine? | aucun | sin | ningún | nessun | nenhum
      | ingen
      | inga | geen | brak | нет | ничего ) \b (?! \s (?: such | route | space | handler
      | tool \s | se \s | verbindung | berechtigung | rechte | zugriff | zugang
      | tilgang | forbindelse | åtkomst | adgang | połączenia | dostępu | uprawnień
      | permission | access | response | connection | authori ) )
    | \b (?: no | 0 | zero ) \s (?: \w+ \s ){0,3} (?: results? | matches | entries | records
      | hits
      | items | rows | errors? | failures? | failed | problems | issues ) \b
    | 没有(?:找到)?(?:结果|匹配) | 該当(?:する)?.{0,8}(?:なし|ありません) | 결과(?:가)?\s?없
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A search that found nothing, a check that had nothing to complain of."""

COUNTS = re.compile(r"[:：]\s?\d+\s?[,，;；、|]\s?[^:：,\n]{1,30}[:：]\s?\d+\b")  # noqa: RUF001
"""How many failed and how many did not: `failed: 3, passed: 412`."""

ABOUT_FAILURES = re.compile(
    r"""
    \b (?: customers? | users | user \s (?: said | says | report\w* | ask\w* | complain\w* | sees
      | saw | wants | wrote ) | clients? | guests? | patients? | reporters? | tickets?
      | reports? | said
      | says | reported | complain\w* | asked | asks | fix(?:ed|es)? | resolved? | solved | closes
      | guide | how \s to | examples? | sample | typical(?:ly)? | beispiel | exemple | ejemplo
      | esempio | troubleshoot\w* | handl(?:e|es|ing) | if | when(?:ever)? | should
      | must
      | will | may | might | would | policy | note | notes | chapter | section | added | changed
      | kapitel | bedeutet | wenn | falls | kunden? | gemeldet | behoben | hinweis | sobald
      | chapitre | signifie | lorsque | si | clients? | signalé | capítulo | significa | cuando
      | clientes? | capitolo | quando | klanten? | hoofdstuk | kunde[nr]? | kapittel | dersom
      | если | глава | клиент\w* | handled
      | retr(?:y|ied|ies) \s succe\w+ | succe(?:eded|ss\w*) ) \b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Words of a text that speaks about failures and is none."""

EVERYDAY = re.compile(
    r"not allowed|not permitted|not authori[sz]ed|unauthori[sz]ed|forbidden|locked|maintenance"
    r"|exceeded the|\brespond|do(?:es)? not have|did not have|restricted"
    r"|(?:access|permission|request)"
    r" .{0,10}(?:denied|refused|rejected|forbidden)|division by zero"
    r"|stack overflow|deadlock|too large"
    r"|expired|lost|rejected|failed|disk full|duplicate key|try again|retry|not available|busy"
    r"|\bdown\b|unreachable|overloaded|throttled|rate limited|terminated|aborted|cancell?ed",
    re.IGNORECASE,
)
"""What is said of people and houses too."""
THING = re.compile(
    r"\b(?:servers?|services?|systems?|apis?|back-?ends?|hosts?|hostname|databases?|db|end-?points?"
    r"|tools?|functions?|methods?|resources?|records?|files?|director(?:y|ies)|responses?|requests?"
    r"|quer(?:y|ies)|users?|accounts?|tokens?|sessions?|credentials?|scopes?|roles?|operations?"
    r"|commands?|sockets?|upstream|proxy|gateways?|urls?|http|ports?|payload|body|repository"
    r"|bucket|index|process|workflow|integrations?|plug-?ins?|parameters?|arguments?|fields?"
    r"|constraint|lookups?|uploads?|downloads?|caller|api key|providers?|calendars?|cache|queue"
    r"|clusters?|you|your|time-?out|rate|rows?|columns?|tables?|memory|disk|connector|import|export"
    r"|seconds?|milliseconds?|ms|attempts|right now|at (?:the|this) moment|please)\b"
    r"|\d ?(?:s|ms)\b|\w_\w|/\w+/|\w\.\w|\w\(|\b0x|\w=|https?:|[\"`']\w+[\"`']|\b[45]\d\d\b",
    re.IGNORECASE,
)
"""Names of what a program works with, and the shapes of its names."""
FEW_WORDS = 4
"""Words of a message that needs no thing: `Access denied.`"""
