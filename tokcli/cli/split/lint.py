"""`split --lint`: what is wrong with the pattern itself, and which other programs could run it; no text is read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.text import Text

from tokcli.analysis.pattern.flavours import Reading, readings
from tokcli.analysis.pattern.lint import Report, lint
from tokcli.analysis.pieces.described import described
from tokcli.cli import streams
from tokcli.cli.json_stream import line as json_line
from tokcli.cli.split.on_screen import pattern_lines
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.terminal import pager, screen
from tokcli.cli.terminal.colours import colours
from tokcli.engine import backend
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.pretokenizers.program_compiler import why_regex
from tokcli.errors import CheckFailed, InputError
from tokcli.render.colours import Painter
from tokcli.render.numbers import counted
from tokcli.render.split import lint as split_lint
from tokcli.render.visible import visible


def write(request: SplitRequest, output: streams.Output) -> None:
    """Write lines for people, the same to a pipe, or a JSON object; CheckFailed where the pattern has an error."""
    pattern = one_pattern(request)
    report, read = lint(pattern.pat_str), readings(pattern.pat_str)
    if request.options.as_json:
        output.write(json_line(_json(pattern.pat_str, report, read)))
    else:
        _show(request, pattern.pat_str, report, read, output)
    errors = sum(finding.severity == "error" for finding in report.findings)
    if errors:
        raise CheckFailed(f"the pattern has {counted(errors, 'error')}")
    note_regex(request, pattern)


def one_pattern(request: SplitRequest) -> PreTokenizer:
    """Return the pattern that cuts the text; InputError where no single one does."""
    pattern = request.encoding.tokenizer.pretokenizer
    if pattern is None:
        parts = "; ".join(described(request.encoding))
        raise InputError(f"{request.encoding.name}: no single pattern cuts its text", f"It has {parts}.")
    return pattern


def note_regex(request: SplitRequest, pattern: PreTokenizer) -> None:
    """Print a note where native code leaves the pattern to `regex`."""
    if backend.is_native() and not pattern.is_known and (why := why_regex(pattern.pat_str)):
        request.note(f"native code does not match this ({visible(why)}); the regex package does, and is slower.")


def _show(request: SplitRequest, pat_str: str, report: Report, read: list[Reading], output: streams.Output) -> None:
    color, width = request.options.color, screen.width(output) if output.is_terminal else None
    with pager.paged(output, wanted=not request.options.watch) as shown:
        for row in pattern_lines(request, Painter(colours(output, color)), width):
            shown.write(f"{row}\n".encode())
        lines = [*split_lint.report_lines(pat_str, report), Text(""), *split_lint.flavour_lines(read)]
        for line in [Text(""), *lines]:
            screen.show_hanging(shown, color, line)


def _json(pat_str: str, report: Report, read: list[Reading]) -> dict[str, Any]:
    """Return the members pattern, findings, tried and flavours; positions count characters of the pattern, from 0."""
    return {
        "pattern": pat_str,
        "findings": list(map(asdict, report.findings)),
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
