"""Ordinary text as agents read and write it: prose in many scripts, code, data, drawings."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping

PROSE: Mapping[str, tuple[str, ...]] = {
    "English": (
        "The depot opens at six, and the first van leaves before the rain does.",
        "Nobody had asked why the invoice was sent twice — once in May, once “again”.",
        "It’s 21 °C in the server room; that’s 3° above what the manual allows…",
    ),
    "French": (
        "Où est passée la livraison ? « Elle arrive demain », répondit-il : c’était faux !",
        "L’été dernier, l’entrepôt a traité 12\u202f480 colis ; cœur, œuvre, naïf, Noël, garçon.",
        "Ça coûte 14,90\u00a0€ — trop cher, à mon avis.",
    ),
    "Hebrew": (
        "המשלוח יצא מהמחסן בשעה שש בבוקר, והנהג עוד לא חזר.",
        "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ׃",
        "האם החשבונית (מס׳ 4711) נשלחה פעמיים? כן — ב־3 במאי וב־5 בו.",
    ),
    "Arabic": (
        "خرجت الشحنة من المستودع في السادسة صباحًا، ولم يعد السائق بعد.",
        "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ",
        "هل أُرسلت الفاتورة رقم ٤٧١١ مرتين؟ نعم؛ مرة في مايو ومرة في يونيو.",
    ),
    "Persian": (
        "نامه‌ها را می‌خواهم پیش از شنبه بفرستم؛ راننده‌ی ما هنوز برنگشته است.",
        "کتاب‌هایی که خریده‌ایم در انبار مانده‌اند.",
        "آیا این بسته‌بندی مناسب است؟ قیمت آن ۱۲٬۵۰۰ تومان است.",
    ),
    "Hindi": (
        "गोदाम सुबह छह बजे खुलता है, और पहली गाड़ी बारिश से पहले निकल जाती है।",
        "क्षत्रिय, ज्ञान, श्री, द्व — ये संयुक्ताक्षर हैं; र्‍य और क्‌ष अलग दिखते हैं।",
        "क्या चालान संख्या ४७११ दो बार भेजी गई? हाँ॥",
    ),
    "German": ("Übermäßig große Straßenschilder stören: „Das heißt Fußgängerzone“, sagte sie.",),
    "Russian": ("Склад открывается в шесть утра, а первый фургон уезжает до дождя — ёжик.",),
    "Greek": ("Η αποθήκη ανοίγει στις έξι το πρωί· ο οδηγός δεν γύρισε ακόμη;",),
    "Polish": ("Zażółć gęślą jaźń: magazyn otwiera się o szóstej, a kierowca wciąż nie wrócił.",),
    "Vietnamese": ("Kho mở cửa lúc sáu giờ sáng; tài xế vẫn chưa trở về, phải không?",),
    "decomposed": (
        "Cafe\u0301 nai\u0308f A\u030angstro\u0308m, tie\u0302\u0301ng Vie\u0323\u0302t.",
    ),
    "Thai": ("คลังสินค้าเปิดตอนหกโมงเช้า และรถคันแรกออกก่อนฝนตก",),
    "Tamil": ("கிடங்கு காலை ஆறு மணிக்குத் திறக்கிறது; ஓட்டுநர் இன்னும் திரும்பவில்லை.",),
    "Bengali": ("গুদাম সকাল ছয়টায় খোলে, আর চালক এখনও ফেরেনি। র‍্যাব, উৎসব।",),
    "Chinese": ("仓库早上六点开门，第一辆货车在下雨之前出发。“发票”寄了两次吗？（是的）",),
    "Japanese": (
        "倉庫は朝六時に開きます。ドライバーはまだ戻っていません！「請求書」を２回送った？",
    ),
    "Korean": ("창고는 아침 여섯 시에 문을 열고, 첫 번째 차는 비가 오기 전에 떠난다.",),
    "emoji": ("Done ✅ 👩🏽‍💻 pushed 3️⃣ fixes ❤️‍🔥 ⚠️ see #️⃣1 👨‍👩‍👧‍👦 🏳️‍🌈 🇫🇷 ☎️ 👍🏿 ✈️!",),
    "maths": (
        "∀ε>0 ∃δ>0: |x−a|<δ ⇒ |f(x)−f(a)|<ε; ∑ᵢ₌₁ⁿ i² = n(n+1)(2n+1)⁄6, 𝔼[X] ≈ 3×10⁻⁷, x̄ ≠ ŷ.",
    ),
}
"""By language or kind."""

CODE: Mapping[str, str] = {
    "Python": '''@dataclass(frozen=True)
class Route:
    """Where a van goes: `stops[0]` is the depot."""

    stops: list[tuple[float, float]]
    def __lt__(self, other: "Route") -> bool:
        return self.length < other.length and not (self.stops[-1] != other.stops[0])

async def main(path: Path, *, limit: int | None = None) -> dict[str, Any]:
    if (m := re.match(r"^(?P<id>[a-z]+)_\\d{3,}$", path.stem)) is None:
        raise ValueError(f"{path!r}: no id\\n")
    return {**{k: v for k, v in m.groupdict().items() if v}, "n": 0x1F << 3 | ~limit & 0b101}
''',
    "JavaScript": """export const seen = new Map(); // id → [first, last]
for await (const [i, row] of rows.entries()) {
  const key = `${row.id}-${i ?? 0}`;
  if (!(key in cache) && row?.tags?.[0] !== undefined || i >= 1e3) seen.set(key, [i, i]);
  el.innerHTML = `<li class="item" data-n='${i}'><b>${row.name}</b>&nbsp;<del>old</del></li>`;
}
const Page: React.FC<Props> = ({ items }) => (<>{items.map((x) => <Card key={x} {...x} />)}</>);
""",
    "Rust": """impl<'a, T: Ord + Clone> Iterator for Windows<'a, T> where T: 'static {
    type Item = &'a [T];
    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.v.split_at_checked(self.n)?; // |x| x + 1
        match rest { [] => None, [x, ..] if *x <= T::default() => { self.v = rest; Some(head) }
            _ => unreachable!("{:?}", vec![1u8; 3].iter().map(|&b| b as char).collect::<String>()) }
    }
}
""",
    "shell": """#!/usr/bin/env bash
set -euo pipefail; IFS=$'\\n\\t'
for f in "${@:-*.log}"; do [[ -f $f ]] && grep -nE '^\\[(WARN|ERROR)\\]' "$f" | awk -F: '{s[$2]++} END {for (k in s) print k, s[k]}'; done
curl -fsSL "https://example.org/v1/items?limit=20&after=${AFTER:-0}" | jq -r '.[] | "\\(.id)\\t\\(.name)"' > "$out" 2>&1 || exit $?
""",
    "SQL": 'SELECT c.id, count(*) FILTER (WHERE o.total >= 100) AS n FROM "customer" c LEFT JOIN o ON o.c = c.id -- [all]\nGROUP BY 1 HAVING count(*) <> 0;\n',
    "C++": "template <typename T, size_t N> constexpr auto sum(const std::array<T, N>& a) -> T { return [&]<size_t... I>(std::index_sequence<I...>) { return (a[I] + ...); }(std::make_index_sequence<N>{}); } /* |N| <= 64 */\n",
    "HTML": '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tours</title><style>a:hover>b{color:#c00}</style></head><body><svg viewBox="0 0 9 9"><mask id="m"><path d="M0 0h9v9z"/></mask></svg><p>It &lt;works&gt;</p></body></html>\n',
    "Markdown": """## Findings

1. **Cache**: read `0` of *12,480* tokens — see [the page](https://example.org/a_(b)?x=1#y).
   - [x] reproduced
   - [ ] fixed
2. ~~Window~~ | Table | n |
|:--|--:|
| `a|b` | 3 |

> Quoted. <br> Footnote[^1], $O(n^2)$, <https://example.org>.

```diff
@@ -1,2 +1,2 @@
-old <line>
+new [line]
```
""",
    "log": """2026-11-30T10:00:01.123Z [WARN] worker-3: retry 2/5 <GET /v1/items> in 0.25s {trace_id=4bf92f35}
Traceback (most recent call last):
  File "/srv/app/main.py", line 41, in <module>
    main()
KeyError: 'depot'
""",
    "drawing": """┌──────────┬────┐   ├── src
│ route    │  n │   │   ├── main.rs
╞══════════╪════╡   │   └── lib.rs
│ harbour  │ 12 │   └── Cargo.toml   ████▒▒░░ 61 %  ▁▂▃▅▇  ⣾ ✓ ✗ → ⇒ ■ ●
└──────────┴────┘
""",
}


def document(rng: random.Random) -> str:
    """A JSON document as tools return it."""
    rows = [
        {
            "id": f"{rng.getrandbits(64):016x}",
            "name": rng.choice(PROSE["English"]),
            "ok": rng.random() < 0.5,
            "score": round(rng.random(), 4),
            "tags": ["<none>", "a|b", "[x]", None],
        }
        for _ in range(rng.randint(1, 6))
    ]
    return json.dumps({"rows": rows, "next": None}, indent=rng.choice((None, 2)))


def passage(rng: random.Random) -> str:
    """A few lines of one kind."""
    kinds: tuple[Callable[[], str], ...] = (
        lambda: " ".join(rng.choices(rng.choice(list(PROSE.values())), k=4)),
        lambda: rng.choice(list(CODE.values())),
        lambda: document(rng),
    )
    return rng.choice(kinds)()


def mixed(rng: random.Random, chars: int) -> str:
    """Text of that length, of all kinds."""
    parts: list[str] = []
    size = 0
    while size < chars:
        parts.append(passage(rng) + "\n\n")
        size += len(parts[-1])
    return "".join(parts)[:chars]
