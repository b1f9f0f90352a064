"""Messages of failure in other languages than English: a thing of programs, and what befell it.

Either word alone is everyday language (`fehlt`, `servicio`); a message has both close together.
A few set phrases need no second word.
"""
# ruff: noqa: RUF001  # letters of other scripts are meant

from __future__ import annotations

import re

APART = 40
"""Code points between the two words, at most."""

# Each entry: names of what a program works with; what says that it went wrong.
_PAIRS: tuple[tuple[str, str], ...] = (
    # A request that was turned down may be a person's: a program's is malformed, or one too many.
    (
        r"anfrage|solicitud(?:es)?\b|petici[oó]n|requisiç|solicitaç|richiest[ae]|طلب",
        (
            r"ungültig|fehlerhaft|nicht verarbeitet|zu viele|no válid|inválid|mal formad|incorrect"
            r"|demasiad|muitas|malformad|non valid|tropp[ei]|غير صالح|كثيرة|انتهت مهلة"
        ),
    ),
    (
        (
            r"parameter|pflichtfeld|feld|server|dienst|verbindung|datenbank|datei|zugriff"
            r"|anmeldung|schnittstelle|eingabe|argument|datumsformat|token|vorgang|abfrage"
        ),
        (
            r"ungültig|fehlt|fehlen|antwortete? nicht|reagierte? nicht|nicht (?:gefunden|erreichbar"
            r"|verfügbar|verarbeitet|ausgeführt|geladen|geöffnet|hergestellt|erlaubt|unterstützt"
            r"|gestattet)|abgebrochen|abgelaufen|abgelehnt|verweigert|gesperrt|überlastet"
            r"|fehlgeschlagen|unbekannt|zu viele|unterbrochen|kein(?:e|en)?\b"
        ),
    ),
    (
        (
            r"requête|paramètre|champ ['«\"]|serveur|service|connexion|accès|fichier"
            r"|base de données|jeton|argument|ressource|clé d'api"
        ),
        (
            r"invalide|non valide|manquante?|ne répond|n'a pas répondu|trop de|refusée?|rejetée?"
            r"|perdue|expirée?|dépassée?|n'existe pas|introuvable|indisponible|non autorisé"
            r"|bloquée?|inconnue?|échoué|interrompue?|impossible"
        ),
    ),
    (
        (
            r"parámetro|campo ['«\"]|servidor|servicio|conexión|acceso|permisos?"
            r"|archivo|fichero|base de datos|token|argumento|credencial"
        ),
        (
            r"no válid|inválid|\bfaltan?\b|no responde|no respondió|demasiad|denegad|rechazad"
            r"|perdid|agotad|caducad|expirad|no existe|no encontrad|no se encontr|no disponible"
            r"|no autorizad|bloquead|desconocid|fallid|falló"
        ),
    ),
    (
        (
            r"parâmetro|campo ['«\"]|servidor|serviço|conexão|ligação|acesso"
            r"|permissão|arquivo|ficheiro|banco de dados|base de dados|token|argumento"
            r"|tempo limite"
        ),
        (
            r"inválid|ausente|\bfalta|não respond|demasiad|muitas|negad|recusad|rejeitad|perdid"
            r"|esgotad|expirad|excedid|não existe|não encontrad|indisponíve|não disponíve"
            r"|não autorizad|bloquead|desconhecid|falhou|sem\b"
        ),
    ),
    (
        (
            r"parametro|campo ['«\"]|\bserver|servizio|connessione|accesso"
            r"|permess[oi]|\bfile|database|token|argomento"
        ),
        (
            r"non valid|\bmanca|non risponde|non ha risposto|tropp[ei]|negat|rifiutat|\bpersa"
            r"|scadut|esaurit|non esiste|non trovat|non disponibile|non autorizzat|bloccat"
            r"|sconosciut|fallit"
        ),
    ),
    (
        (
            r"verzoek|parameter|\bveld|server|dienst|verbinding|toegang|bestand|database|token|sessie"
            r"|argument|bewerking"
        ),
        (
            r"ongeldig|ontbreekt|reageert niet|antwoordt niet|te veel|geweigerd|verbroken|verlopen"
            r"|bestaat niet|niet gevonden|niet beschikbaar|niet toegestaan|onbekend|mislukt"
        ),
    ),
    (
        (
            r"forespørsel|begäran|forespørgsel|anmodning|parameter|\bfeltet?|\bfältet?|server|tjenest"
            r"|tjänst|tilkobling|anslutning|forbindelse|tilgang|åtkomst|adgang|\bfilen?\b|databas"
        ),
        (
            r"ugyldig|ogiltig|mangler|saknas|svarer ikke|svarar inte|svarte ikke|svarede ikke"
            r"|for mange|för många|avvist|nektet|nekad|nægtet|utløpt|finnes ikke|finns inte"
            r"|findes ikke|ikke funnet|hittades inte|ikke tilgjengelig|inte tillgänglig|mislyktes"
            r"|misslyckades|mislykkedes|ukjent|okänd"
        ),
    ),
    (
        (
            r"żądani|parametr|\bpola?\b|serwer|usług|połączeni|dostęp|\bplik|baz[ay] danych|token"
            r"|sesj[ai]|operacj"
        ),
        (
            r"nieprawidłow|\bbrak|nie odpowiada|zbyt wiele|odmow|odrzucon|wygasł|nie istnieje"
            r"|nie znaleziono|niedostępn|nieznan|nie powiod"
        ),
    ),
    (
        r"istek|isteği|parametre|sunucu|hizmet|bağlantı|erişim|dosya|veritabanı|oturum|işlem",
        (
            r"geçersiz|eksik|yanıt vermi|çok fazla|reddedildi|engellendi|süresi doldu|zaman aşımı"
            r"|bulunamadı|kullanılamıyor|bağlanılamadı|başarısız|bilinmeyen"
        ),
    ),
    (
        (
            r"запрос|параметр|сервер|сервис|служб|соединени|подключени|доступ|файл|\bпол[ея]\b"
            r"|баз[аеуы] данных|токен|сесси|операци|\bдат[аы]\b"
        ),
        (
            r"неверн|недопустим|некорректн|не отвеча|не ответил|не найден|недоступ|отсутству"
            r"|превышен|ист[её]к|запрещ[её]н|отказано|не удалось|прерван|слишком много|отклон[её]н"
            r"|не поддерж|заблокир|не существует"
        ),
    ),
    (
        r"запит|параметр|сервер|сервіс|служб|з'єднання|підключення|доступ|файл|баз[аиу] даних",
        (
            r"неправильн|недійсн|не відповіда|не знайден|недоступ|відсутн|перевищен|заборонен"
            r"|відмовлено|не вдалося|забагато|відхилен"
        ),
    ),
    (
        (
            r"サーバ|リクエスト|要求|パラメータ|引数|接続(?!列車|便)|アクセス|ファイル|データベース|必須項目"
            r"|フィールド|権限|認証|トークン|サービス|セッション|処理|入力|形式"
        ),
        (
            r"無効|不正|できません|ありません|拒否|失敗|タイムアウト|見つかりません|エラー|期限切れ"
            r"|不足|切断|使用不可"
        ),
    ),
    (
        (
            r"参数|請求|请求|服务器|服务(?![费员区台])|伺服器|連線|连接|访问|存取|文件(?!夹)|檔案|数据库|字段|欄位|权限"
            r"|權限|接口|系统|令牌|凭证|网络|操作|参數"
        ),
        (
            r"无效|無效|错误|錯誤|失败|失敗|无响应|未响应|沒有回應|拒绝|拒絕|超时|逾時|不存在|缺少"
            r"|不足|不可用|繁忙|过期|過期|无法|無法|不支持|异常"
        ),
    ),
    (
        (
            r"요청|서버|매개변수|파라미터|필드|연결(?! ?통로| ?편)|접근|파일|권한|데이터베이스"
            r"|서비스|인증|토큰|입력"
        ),
        (
            r"잘못된|잘못되|유효하지|누락|없습니다|없음|응답하지|응답이 없|거부|실패|만료"
            r"|수 없|초과|끊어|끊겼"
        ),
    ),
    (
        r"اتصال|خادم|الوصول|ملف|خدمة|قاعدة|صلاحية|إذن|الحقل|معلمة|مهلة|البيانات|المستخدم",
        (
            r"تعذ[رّ]|فشل|انتهت|رفض|مرفوض|غير موجود|غير صالح|غير متاح|غير معروف|لا يمكن|لا يستجيب"
            r"|ليس لديك|لا توجد|مفقود|تجاوز|انقطع"
        ),
    ),
    (
        r"שרת|בקשה|חיבור|גישה|קובץ|שירות|שדה|הרשאה|פרמטר",
        r"שגוי|לא תקינ|נדחתה|נדחה|אינו מגיב|לא נמצא|לא זמין|חסר|נכשל|אין",
    ),
    (
        r"सर्वर|अनुरोध|कनेक्शन|फ़ाइल|सेवा|अनुमति|पैरामीटर|फ़ील्ड",
        r"अमान्य|विफल|अस्वीकृत|उपलब्ध नहीं|नहीं मिल|नहीं है|समय समाप्त|उत्तर नहीं",
    ),
)
_BEFALL = "|".join(
    rf"(?:{thing}).{{0,{APART}}}?(?:{fate})|(?:{fate}).{{0,{APART}}}?(?:{thing})"
    for thing, fate in _PAIRS
)
# Said of nothing in particular, as programs do.
_PHRASES = r"""
    (?: sitzung \s (?: ist \s )? abgelaufen | session \s (?: a \s )? expiré | sesión \s (?: ha \s )?
      (?: expirado | caducado ) | sessão \s expir | sessione \s (?: è \s )? scaduta ) [.!]? $
  | (?: campo | parámetro | parâmetro | parametro ) \s
      (?: obligatorio | obrigatório | obbligatorio )
  | ein \s (?: \w+ \s )? fehler \s (?: aufgetreten | ist ) | etwas \s (?: ist \s )? schief
  | bitte \s .{0,30} erneut \s versuchen | versuchen \s sie \s es .{0,20} (?: erneut | später )
  | une \s erreur \s (?: \w+ \s )? (?: s'est | est ) | réessaye[zr]
  | (?: produjo | ocurrió | ocurrido | produzido ) \s un \s (?: \w+ \s )? error
  | error \s (?: interno | inesperado ) | (?: vuelva \s a \s intentar | inténtelo | reintent )
  | (?: ocorreu | houve ) \s um \s (?: \w+ \s )? erro | erro \s (?: interno | inesperado )
  | tente \s novamente | algo \s deu \s errado | algo \s salió \s mal
  | verificato \s un \s (?: \w+ \s )? errore | riprova(?:re | te )? \b | qualcosa \s è \s andato
  | fout \s opgetreden | probeer \s het .{0,20} opnieuw | er \s ging \s iets \s mis
  | noe \s gikk \s galt | något \s gick \s fel | noget \s gik \s galt | prøv \s (?: igjen | igen )
  | försök \s igen | wystąpił \s (?: \w+ \s )? błąd | coś \s poszło \s nie | spróbuj \s ponownie
  | bir \s hata \s oluştu | tekrar \s deneyin | bağlanılamadı
  | произошла \s (?: \w+ \s )? ошибка | внутренняя \s ошибка | попробуйте \s .{0,12} (?: позже
  | ещё | еще | снова ) | повторите \s (?: попытку | запрос ) | сталася \s (?: \w+ \s )? помилка
  | (?: エラー | 例外 | 問題 | 障害 ) が \s? (?: 発生 | 起き ) | もう一度お試し | 再試行して
  | (?: 发生 | 發生 | 出现 | 遇到 ) .{0,4} (?: 错误 | 錯誤 | 异常 ) | 稍[后後] (?: 再试 | 重试
  | 再試 ) | 请重试
  | 오류가 \s? 발생 | 에러가 \s? 발생 | 다시 \s? 시도
  | حدث \s خطأ | (?: المحاولة | حاول ) \s .{0,12} (?: لاحق | أخرى | مجدد )
  | אירעה \s שגיאה | נסה \s שוב | त्रुटि \s हुई | पुनः \s प्रयास | đã \s xảy \s ra \s lỗi
  | terjadi \s kesalahan
"""
BEFALLEN = re.compile(_BEFALL, re.IGNORECASE)
PHRASE = re.compile(_PHRASES, re.IGNORECASE | re.VERBOSE)
DATED = re.compile(
    r"\b(?:1[89]|20)\d\d\b(?![-/]\d)"
    r"|\b(?:jan(?:uar[yi]?|vier)?|feb(?:ruar[yi]?)?|mar(?:ch|s|zo|ço)|märz|apr(?:il|ile)|avril|abril"
    r"|may|mai|mayo|maio|maggio|june?|juni|juin|junio|junho|july|juli|juillet|julio|julho"
    r"|august|août|agosto|septemb\w+|settembre|setembro|octob\w+|oktober|ottobre|outubro"
    r"|novemb\w+|decemb\w+|dezember|décembre|diciembre|dezembro|dicembre|enero|janeiro|gennaio"
    r"|febrero|fevereiro|febbraio|février)\b(?! (?:be|have|not)\b)"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b"
    r"|\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?\b"
    r"|\b(?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?)\b|\d月\d|曜日|星期|周[一二三四五六日]"
    r"|(?:январ|феврал|апрел|июн|июл|август|сентябр|октябр|ноябр|декабр)\w+|يوم\s|عام\s\d",
    re.IGNORECASE,
)
"""A date as people write it, which a record has and a program's message has not."""
