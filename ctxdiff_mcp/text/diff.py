"""Two turns side by side, for a terminal."""

from __future__ import annotations

from ctxdiff_mcp.answers.diff import Change, Diff, Edit
from ctxdiff_mcp.gate.raw import raw
from ctxdiff_mcp.text.lines import Line, Style
from ctxdiff_mcp.text.shown import approx, masked, name, shown, snippet

_SIGNS: dict[str, tuple[str, Style]] = {"added": ("+", "added"), "evicted": ("−", "evicted")}


def diff_lines(answer: Diff) -> list[Line]:
    """The header, one line per changed block in the order of the new turn, and the rest counted."""
    changed = [change for change in answer.changes if change.kind != "unchanged"]
    lines = [*_scope(answer), _header(answer, len(changed))]
    lines += [_line(answer, change) for change in changed]
    if answer.counts.unchanged:
        moved = answer.counts.unchanged_moved
        note = f", {moved} of them moved" if moved else ""
        count = f"= {answer.counts.unchanged} unchanged blocks{note}"
        lines.append(Line(f"{count} · {answer.unchanged_tokens} tok", "dim"))
    if answer.same_agent_before is not None:
        turns = f"--turn {answer.same_agent_before} --turn {answer.turn_b}"
        lines.append(Line(f"these are turns of two agents; one agent's own step: {turns}", "warn"))
    return lines


def _scope(answer: Diff) -> list[Line]:
    """A line that tells the sides apart, where they differ in session or agent."""
    other_session = answer.run_a != answer.run_b
    if not other_session and answer.agent_a == answer.agent_b:
        return []
    sides = []
    for run, agent, turn in (
        (answer.run_a, answer.agent_a, answer.turn_a),
        (answer.run_b, answer.agent_b, answer.turn_b),
    ):
        session = [shown(raw(run.session_id)[:12])] if other_session else []
        sides.append(" · ".join([*session, *([name(agent)] if agent else []), f"turn {turn}"]))
    return [Line(f"── {sides[0]}  →  {sides[1]} ──")]


def _header(answer: Diff, changed: int) -> Line:
    tokens = f"+{answer.tokens_added} −{answer.tokens_evicted} tokens{approx(exact=answer.exact)}"
    turns = f"turn {answer.turn_a} → turn {answer.turn_b}"
    return Line(f"── {turns} · {changed} blocks changed · {tokens} ──")


def _line(answer: Diff, change: Change) -> Line:
    place = f"[{name(change.label)}·{change.block.role}]"
    if change.kind == "modified":
        return Line(f"~ {place} {edited(answer.edit(change, mask=masked))}", "modified")
    sign, style = _SIGNS[change.kind]
    text = snippet(answer.text(change))
    return Line(f"{sign} {place} {text}  {sign}{change.block.tokens} tok", style)


def edited(edit: Edit) -> str:
    """`equal[-deleted-]{+inserted+}equal`, with `…` where text is left out."""
    marks = {"equal": ("", ""), "delete": ("[-", "-]"), "insert": ("{+", "+}")}
    parts = []
    for piece in edit.pieces:
        before, after = marks[piece.op]
        front = "…" if piece.omitted_before else ""
        behind = "…" if piece.omitted_after else ""
        parts.append(f"{before}{front}{shown(piece.text)}{behind}{after}")
    return "".join(parts) + (" …" if edit.truncated else "")
