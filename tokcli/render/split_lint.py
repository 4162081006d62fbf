"""What is wrong with a pattern, and which programs read it, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from tokcli.engine.pattern import place
from tokcli.engine.pattern_flavours import Objection, Reading
from tokcli.engine.pattern_lint import Finding, Report
from tokcli.render.split_table import style_of
from tokcli.render.split_why import shorten
from tokcli.render.visible import visible

_SEVERITY_STYLE = {"error": "bold red", "warning": "bold yellow", "note": "bold"}


def report_lines(pat_str: str, report: Report) -> Iterator[Text]:
    """The findings, the worst first, and what was tried."""
    order = ("error", "warning", "note")
    for finding in sorted(report.findings, key=lambda found: order.index(found.severity)):
        yield from _finding(pat_str, finding)
    if not report.findings:
        yield Text(
            "Nothing wrong was found: every text tried is taken, each alternative reached, no repeat backtracks badly."
        )
    characters = f"{report.length} character{'s' * (report.length > 1)}"
    yield Text(
        f"Tried: {report.texts:,} texts, all of up to {characters} of the {report.classes} classes of characters that "
        "the pattern can tell apart, and longer ones made for alternatives that those did not reach.",
        "dim",
    )


def _finding(pat_str: str, finding: Finding) -> Iterator[Text]:
    line = Text(finding.severity, _SEVERITY_STYLE[finding.severity])
    line.append(": ", "none")
    if finding.alternative:
        line.append(finding.alternative, style_of(finding.alternative))
        line.append(" ")
    line.append(visible(finding.what), "not bold")
    if finding.example is not None:
        line.append(f": “{shorten(visible(finding.example, spaces=True))}”")
    yield line
    if finding.alternative:
        yield Text(f"  at position {finding.start}. {visible(place(pat_str, finding.start))}", "dim")


def flavour_lines(readings: Sequence[Reading]) -> Iterator[Text]:
    """Which programs read the pattern as it is read here, and what the others have against it."""
    alike = [reading.name for reading in readings if reading.verdict == "alike"]
    yield Text("Which flavour is this?", "bold")
    yield Text(f"It means the same to: {', '.join(alike)}." if alike else "No other program is sure to read it so.")
    for reading in readings:
        if reading.objections:
            said = "refuses it" if reading.verdict == "refuses" else "reads it otherwise"
            yield Text(f"{reading.name} {said}")
            for objection in reading.objections:
                yield _objection(objection)


def _objection(objection: Objection) -> Text:
    feature = objection.feature
    line = Text("    ")
    line.append(shorten(visible(feature.text)), "bold")
    line.append(f" at position {feature.start} ({feature.name}): ")
    refused = ["refused"] if objection.verdict == "refuses" else []
    line.append(", ".join([*refused, *([objection.why] if objection.why else [])]))
    return line
