"""Healthy conversations, invented, in several domains and languages.

Each holds what looks like a fault and is none: a null error, a search that found nothing, a page
about errors, failing tests, a log with an error in it, an answer that repeats a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.analyzers.wire import Ask, Call, Got, Said, Say, User, grown


@dataclass(frozen=True)
class Script:
    """A healthy conversation."""

    name: str
    system: str
    tools: tuple[str, ...]
    said: tuple[Said, ...]

    def calls(self) -> list[Call]:
        return grown(self.said, system=self.system, tools=self.tools)


def talk(name: str, system: str, tools: Sequence[str], *rows: Any) -> Script:
    """A script from rows: a text is the user's, `(tool, q, result)` a call, `-text` an answer."""
    said: list[Said] = []
    for number, row in enumerate(rows):
        if isinstance(row, tuple):
            tool, query, result = row
            said.append(Ask(f"{name}_{number}", tool, (("q", query), ("limit", 5))))
            said.append(Got(f"{name}_{number}", result, tool))
        elif row.startswith("-"):
            said.append(Say(row[1:]))
        else:
            said.append(User(row))
    return Script(name, system, tuple(tools), tuple(said))


CLINIC = talk(
    "clinic",
    "You book rooms and staff for the Brackwater clinic. Theatres close at 18:00. A cleaning slot"
    " takes 40 minutes. Never move a patient without the ward's consent. Answer in two sentences.",
    ("find_slot", "staff_on_duty", "patient_card", "book_room"),
    "Which theatre is free on Thursday after lunch?",
    (
        "find_slot",
        "Thursday after 13:00",
        (
            '[{"theatre": "T2", "from": "13:20", "to": "15:40", "cleaning_done": true}, {"theatre": "T5",'
            ' "from": "14:00", "to": "17:10", "cleaning_done": false}]'
        ),
    ),
    "-Theatre 2 is free from 13:20 to 15:40 and theatre 5 from 14:00, which still has to be cleaned.",
    "Who is on duty in anaesthesia then?",
    (
        "staff_on_duty",
        "anaesthesia Thursday",
        (
            '{"date": "2026-09-17", "on_duty": [{"name": "Dr Oyelaran", "until": "16:30"}, {"name":'
            ' "N. Hauge", "until": "19:00"}], "error": null}'
        ),
    ),
    "-Dr Oyelaran is there until 16:30, N. Hauge until 19:00.",
    "Good. The patient is number 7741; does the card say anything about latex?",
    (
        "patient_card",
        "7741",
        (
            "Patient 7741. Allergies: penicillin (rash, 2019). Latex: none known. Last anaesthesia 2024"
            " without complications; intubation was difficult (grade 3), a video laryngoscope was used."
        ),
    ),
    "-No latex allergy is known, but intubation was difficult in 2024 and needed a video laryngoscope.",
    "Book theatre 2 from half past one, with Dr Oyelaran.",
    (
        "book_room",
        "T2 13:30 Oyelaran 7741",
        '{"booking": "BR-2291", "theatre": "T2", "start": "13:30", "end": "15:30", "ok": true}',
    ),
    "-Booked as BR-2291: theatre 2 from 13:30 to 15:30 with Dr Oyelaran.",
    "What should I tell the ward about the tube?",
    "-Tell them that the airway was graded 3 in 2024 and that a video laryngoscope has to be ready.",
)
DEPOT = talk(
    "depot",
    "Du planst die Werkstatt des Betriebshofs Eichenau. Ein Drehgestell darf höchstens 480.000 km"
    " laufen. Bremsbeläge unter 6 mm werden getauscht. Antworte knapp und auf Deutsch.",
    ("fahrzeugakte", "lager", "auftrag_anlegen", "handbuch"),
    "Wie viel hat Zug 612 auf dem vorderen Drehgestell?",
    (
        "fahrzeugakte",
        "612",
        (
            "Fahrzeug 612, Baujahr 2011. Drehgestell vorn: 466.120 km seit Revision. Drehgestell hinten:"
            " 201.900 km. Bremsbelag links 7,4 mm, rechts 5,8 mm. Letzter Befund: Türfehler, behoben."
        ),
    ),
    "-Das vordere Drehgestell hat 466.120 km, es fehlen noch 13.880 km bis zur Grenze.",
    "Und die Beläge?",
    "-Links 7,4 mm, rechts 5,8 mm: der rechte muss getauscht werden.",
    "Haben wir welche da?",
    (
        "lager",
        "Bremsbelag 612",
        "Artikel;Bestand;Platz\nBB-612-R;14;C04\nBB-612-L;0;C05\nBB-612-S;3;C11",
    ),
    "-Vom rechten Belag liegen 14 Stück auf C04.",
    "Steht im Handbuch etwas zum Anziehmoment?",
    (
        "handbuch",
        "Anziehmoment Bremsbelag",
        (
            "Kapitel 8, Fehler und Abhilfe. Meldung »Fehler 31: Zeitüberschreitung« bedeutet, dass der"
            " Drehmomentschlüssel nicht gekoppelt ist. Bolzen M20 werden mit 410 Nm angezogen, nach 50 km"
            " wird nachgezogen."
        ),
    ),
    "-Die M20-Bolzen werden mit 410 Nm angezogen und nach 50 km nachgezogen.",
    "Dann leg den Auftrag für morgen an.",
    (
        "auftrag_anlegen",
        "612 Bremsbelag rechts",
        '{"auftrag": "W-30418", "fahrzeug": 612, "termin": "2026-10-02", "status": "offen"}',
    ),
    "-Auftrag W-30418 ist für den 2. Oktober angelegt.",
    "Danke. Wann ist das Drehgestell fällig, bei 900 km am Tag?",
    "-Nach gut 15 Tagen, also Mitte Oktober.",
)
COMPILER = talk(
    "compiler",
    "You maintain lumen, a Go library for spectrometers. Run the tests after each edit. Explain a"
    " cause before you change anything. Do not touch generated files. Keep answers short.",
    ("open_file", "grep", "apply_patch", "go_test"),
    "TestDrift fails on main. Find out why.",
    (
        "go_test",
        "./drift",
        (
            "=== RUN   TestDrift\n    drift_test.go:41: got 0.0312, want 0.0300\n--- FAIL: TestDrift"
            " (0.00s)\n=== RUN   TestZero\n--- PASS: TestZero (0.00s)\nFAIL\nFAIL\tlumen/drift\t0.412s"
        ),
    ),
    (
        "open_file",
        "drift/drift.go",
        (
            'package drift\n\nimport "errors"\n\nvar ErrShort = errors.New("series too short: timeout")\n\n'
            "func Slope(ys []float64) (float64, error) {\n\tif len(ys) < 2 {\n\t\treturn 0, ErrShort\n\t}\n"
            "\treturn (ys[len(ys)-1] - ys[0]) / float64(len(ys)), nil\n}\n"
        ),
    ),
    "-The slope is divided by the number of points; it must be the number of steps, one less.",
    "Right. Where else is it used?",
    (
        "grep",
        "Slope(",
        (
            "drift/drift.go:7:func Slope(ys []float64) (float64, error) {\ncmd/report.go:88:\ts, err :="
            ' drift.Slope(ys)\ncmd/report.go:90:\t\treturn fmt.Errorf("no such channel: %w", err)'
        ),
    ),
    "-Only in cmd/report.go, line 88, which wraps the error.",
    "Change it.",
    ("apply_patch", "drift/drift.go steps", "ok: 1 hunk applied"),
    (
        "go_test",
        "./...",
        "ok  \tlumen/drift\t0.402s\nok  \tlumen/cmd\t0.118s\n?   \tlumen/gen\t[no test files]",
    ),
    "-Done: Slope divides by len(ys)-1 and all tests pass.",
    "Does anything still mention the old way?",
    ("grep", "float64(len(ys))", "no matches"),
    "-No, nothing does.",
    "Then note it in the changelog.",
    ("apply_patch", "CHANGELOG.md", "ok: 1 hunk applied"),
    "-Noted under Fixed.",
    "What was the wrong value in the failing test?",
    "-It got 0.0312 where 0.0300 was wanted.",
)
ARCHIVE = talk(
    "archivo",
    "Eres la guía del archivo municipal de Valdeluz. Cita siempre la signatura. Los expedientes de"
    " menos de 50 años no se prestan. Responde en español y en pocas frases.",
    ("buscar", "ficha", "reservar", "horario"),
    "Busco planos del mercado viejo.",
    (
        "buscar",
        "planos mercado viejo",
        (
            '{"total": 2, "resultados": [{"sig": "PL-118/3", "fecha": 1911, "titulo": "Mercado, alzado'
            ' norte"}, {"sig": "PL-118/7", "fecha": 1926, "titulo": "Mercado, cubierta"}], "errores": []}'
        ),
    ),
    "-Hay dos: PL-118/3, el alzado norte de 1911, y PL-118/7, la cubierta de 1926.",
    "¿En qué estado está el de la cubierta?",
    (
        "ficha",
        "PL-118/7",
        (
            "Signatura PL-118/7. Tinta sobre tela, 92 x 61 cm. Restaurado en 1998 tras una fuga de agua;"
            " falta la esquina inferior. Escala 1:50. Firmado: I. Ferrer. Copia digital: no disponible."
        ),
    ),
    "-Fue restaurado en 1998 y le falta la esquina inferior; mide 92 x 61 cm, escala 1:50.",
    "¿Y hay fotos de las obras?",
    ("buscar", "fotos obras mercado", '{"total": 0, "resultados": []}'),
    "-No consta ninguna foto de las obras.",
    "¿Cuándo puedo verlo?",
    (
        "horario",
        "sala de planos",
        "Lunes a jueves, 9:00-14:00. Viernes cerrado por inventario hasta el 30 de noviembre.",
    ),
    "-De lunes a jueves, de 9 a 14 horas.",
    "Resérvame el martes a las diez.",
    ("reservar", "martes 10:00 PL-118/7", '{"reserva": "R-5530", "sala": "planos", "puesto": 4}'),
    "-Reservado: R-5530, puesto 4.",
    "¿Quién firma el plano?",
    "-Lo firma I. Ferrer.",
)
SUPPORT = talk(
    "support",
    "You answer operators of the Halvard ferry booking system. Quote ids exactly. Only the shift lead"
    " may cancel a sailing. If a record is missing say so. One paragraph per answer.",
    ("get_booking", "search_log", "list_sailings", "send_notice"),
    "Why did booking HB-70118 fail last night?",
    (
        "search_log",
        "HB-70118",
        (
            "2026-11-02 21:14:07 INFO  booking HB-70118 created\n2026-11-02 21:14:09 ERROR payment gateway"
            " timed out after 15 s\n2026-11-02 21:14:31 INFO  retry 1 accepted, reference 88120"
        ),
    ),
    "-The gateway timed out once, and the retry at 21:14:31 was accepted under reference 88120.",
    "So it is valid?",
    (
        "get_booking",
        "HB-70118",
        (
            '{"id": "HB-70118", "status": "confirmed", "vehicles": 2, "passengers": 5, "sailing": "S-0412",'
            ' "payments": [{"ref": "88119", "status": "failed", "error": "timeout"}, {"ref": "88120",'
            ' "status": "captured"}]}'
        ),
    ),
    "-Yes: it is confirmed for sailing S-0412 with 5 passengers and 2 vehicles.",
    "Is there an earlier sailing with room?",
    (
        "list_sailings",
        "before S-0412",
        (
            '[{"id": "S-0409", "dep": "06:10", "free_lanes": 0}, {"id": "S-0411", "dep": "09:45",'
            ' "free_lanes": 3}]'
        ),
    ),
    "-S-0411 at 09:45 has three free lanes.",
    "Tell them about it.",
    ("send_notice", "HB-70118 S-0411 09:45", "queued"),
    "-The notice about S-0411 is queued.",
    "Has anybody else had that time-out?",
    ("search_log", "gateway timed out", "No entries for the last 24 hours."),
    "-Nobody else in the last 24 hours.",
    "How many vehicles were on that booking?",
    "-Two vehicles.",
)
SCRIPTS = (CLINIC, DEPOT, COMPILER, ARCHIVE, SUPPORT)
