"""`split --lint`: what is wrong with the pattern itself, and which other programs would read it; no text is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcli.cli import records, screen, streams
from tokcli.cli.options import Request
from tokcli.engine.pretokenizer_parts import described, single_pattern
from tokcli.errors import CheckFailed, InputError

if TYPE_CHECKING:
    from tokcli.engine.pattern_flavours import Reading
    from tokcli.engine.pattern_lint import Report


def write(request: Request, output: streams.Output) -> None:
    """Lines for people, the same in a pipe, or a JSON object; CheckFailed where the pattern has an error."""
    from tokcli.engine.pattern_flavours import readings
    from tokcli.engine.pattern_lint import lint

    given = request.options
    if given["files"] or given["text"] is not None or given["files0_from"]:
        raise InputError("--lint looks at the pattern, and a text was given", "Leave the text out, or use --stats.")
    pattern = single_pattern(request.encoding)
    if pattern is None:
        parts = "; ".join(described(request.encoding))
        raise InputError(f"{request.encoding.name}: no single pattern cuts its text", f"It has {parts}.")
    report, read = lint(pattern.pat_str), readings(pattern.pat_str)
    if given["as_json"]:
        output.write(records.dump(_json(pattern.pat_str, report, read)).encode() + b"\n")
    else:
        _show(request, report, read, output)
    errors = sum(finding.severity == "error" for finding in report.findings)
    if errors:
        raise CheckFailed(f"the pattern has {errors} error{'s' * (errors > 1)}")


def _show(request: Request, report: Report, read: list[Reading], output: streams.Output) -> None:
    from rich.text import Text

    from tokcli.cli.split_table import pattern_lines
    from tokcli.render import split_lint
    from tokcli.render.split_table import Painter

    pattern = single_pattern(request.encoding)
    color = request.options["color"]
    for line in pattern_lines(request, Painter(screen.colours(output, color))):
        output.write(f"{line}\n".encode())
    lines = [
        *split_lint.report_lines(pattern.pat_str if pattern else "", report),
        Text(""),
        *split_lint.flavour_lines(read),
    ]
    for shown in [Text(""), *lines]:
        screen.show_hanging(output, color, shown)


def _json(pat_str: str, report: Report, read: list[Reading]) -> dict[str, Any]:
    """Members: pattern, findings, tried and flavours; positions are of characters in the pattern, from 0."""
    return {
        "pattern": pat_str,
        "findings": [
            {
                "severity": finding.severity,
                "check": finding.check,
                "alternative": finding.alternative,
                "start": finding.start,
                "end": finding.end,
                "what": finding.what,
                "example": finding.example,
            }
            for finding in report.findings
        ],
        "tried": {"classes": report.classes, "length": report.length, "texts": report.texts},
        "flavours": [
            {
                "name": reading.name,
                "verdict": reading.verdict,
                "objections": [
                    {
                        "syntax": objection.feature.text,
                        "feature": objection.feature.name,
                        "position": objection.feature.start,
                        "verdict": objection.verdict,
                        "why": objection.why or None,
                    }
                    for objection in reading.objections
                ],
            }
            for reading in read
        ],
    }
