"""`ctxdiff-mcp import`: a log of calls becomes a trace."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ctxdiff_capture.importers.base import ImportReport, import_log
from ctxdiff_capture.recorder.redact import SECRETS
from tqdm import tqdm

from ctxdiff_mcp.cli.output import PROBLEM_CHARS, write_json, write_lines
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import cut, shown

MOST_NAMED = 100
"""Bad lines that are named without `--json`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The log, where the trace goes, and the form of the report."""
    parser.add_argument("log", type=Path, metavar="LOG.jsonl", help="one model call per line")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the trace (LOG.ctrace)")
    parser.add_argument(
        "--redact", choices=[SECRETS], help="store credentials as tags: [secret:aws-key#1]"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Write the good lines; 1 when a line was bad, the first of them named on stderr.

    Raises:
        ImportFailed: the log cannot be read, or the trace exists already.
    """
    target: Path = args.out or args.log.with_suffix(".ctrace")
    size = args.log.stat().st_size if args.log.is_file() else None
    with tqdm(total=size, unit="B", unit_scale=True, file=sys.stderr, disable=None) as bar:
        report = import_log(args.log, target, progress=bar.update, redact=args.redact)
    for error in report.errors[:MOST_NAMED]:
        where = f"{shown(str(args.log))}:{error.line}"
        print(f"{where}: {cut(error.problem, PROBLEM_CHARS)}", file=sys.stderr)
    if len(report.errors) > MOST_NAMED:
        print(
            f"{len(report.errors) - MOST_NAMED:,} more bad lines; --json has all", file=sys.stderr
        )
    if args.json:
        write_json({"trace": str(target), **_fields(report)})
    else:
        write_lines([Line(_summary(report, target), "bad" if report.errors else "good")])
    return 1 if report.errors else 0


def _summary(report: ImportReport, target: Path) -> str:
    counts = f"{report.calls} calls, {report.sessions} sessions, {len(report.errors)} bad lines"
    return f"{counts} → {shown(str(target)) if report.calls else 'no trace written'}"


def _fields(report: ImportReport) -> dict[str, object]:
    return {"calls": report.calls, "sessions": report.sessions, "errors": report.errors}
