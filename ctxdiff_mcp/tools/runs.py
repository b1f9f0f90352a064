"""ctxdiff_runs: which runs are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.tools.arguments import CURSOR, Values, limit
from ctxdiff_mcp.tools.lines import call, plural
from ctxdiff_mcp.tools.paging import list_rows
from ctxdiff_mcp.tools.tool import Context, Tool

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.runs import RunRow

MOST_NAMES = 4
MOST_UNREADABLE = 10


def answer(context: Context, values: Values) -> str:
    """The runs, newest first, and what could not be read."""
    from ctxdiff_mcp.answers.runs import runs  # noqa: PLC0415  the server starts without it

    found = runs(context.source)
    env = context.envelope()
    if not found.is_read:
        env.say("not all files are read yet: ask again, each list reads on")
    elif not found.rows:
        env.say("no runs: the runs folder holds no readable .ctrace file")
    if found.rows:
        env.say(f"{plural(len(found.rows), 'run')}, newest first")
    if not found.complete:
        env.say("the folder holds more files than are looked at; start with a smaller one")
    if found.unreadable:
        bad = found.unreadable
        shown = [f"{env.name(one.name)} ({one.reason})" for one in bad[:MOST_UNREADABLE]]
        rest = f" and {len(bad) - len(shown):,} more" if len(bad) > len(shown) else ""
        env.say(f"not readable: {', '.join(shown)}{rest}")
    list_rows(
        env,
        found.rows,
        cursor=values.number("cursor"),
        limit=values.number("limit"),
        noun="runs",
        show=lambda row, _: env.offer(_line(env, row)),
        more=lambda at: call("ctxdiff_runs", env, None, cursor=at),
    )
    if found.rows:
        env.close(f"next: {call('ctxdiff_explain', env, found.rows[0].run)} explains the newest")
    return env.finish()


def _line(env: Envelope, row: RunRow) -> str:
    facts = [f"- {env.name(row.run.name)}: {plural(row.turns, 'turn')}"]
    if row.started_at is not None:
        facts.append(f"started {row.started_at}")
    if env.policy.hides_names:
        return ", ".join([*facts, plural(len(row.agents), "agent")])
    facts.append(f"project {env.word(row.project.text)}, {env.word(row.provider.text)}")
    for word, group in (("models", row.models), ("agents", row.agents)):
        if group:
            spelled = [env.word(name.text) for name in group[:MOST_NAMES]]
            rest = f" +{len(group) - MOST_NAMES}" if len(group) > MOST_NAMES else ""
            facts.append(f"{word} {' '.join(spelled)}{rest}")
    return ", ".join(facts)


TOOL = Tool(
    name="ctxdiff_runs",
    title="List recorded agent runs",
    description=(
        "List the recorded runs of LLM agents (traces), newest first, with handle, project, "
        "provider, models, agents and number of turns. Call it first, unless `latest` will do. "
        "Give a handle as `run` to the other tools; handles stay valid while the file is there. "
        "Files that cannot be read are named with the reason."
    ),
    arguments=(limit(20, 100, "runs"), CURSOR),
    answer=answer,
)
