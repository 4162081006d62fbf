"""What lint found in a pattern, and which regular expression engines read the pattern alike, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from tokcli.analysis.pattern.flavours import Objection, Reading
from tokcli.analysis.pattern.lint import Finding, Report
from tokcli.engine.pretokenizers.rewrite import place
from tokcli.render.colours import style_of
from tokcli.render.numbers import counted
from tokcli.render.split.excerpts import quoted, shorten
from tokcli.render.visible import visible

# No colours: red and yellow are hard to read on a black or on a white background
_SEVERITY_STYLE = {"error": "bold reverse", "warning": "bold underline", "note": "bold"}
_ORDER = tuple(_SEVERITY_STYLE)


def report_lines(pat_str: str, report: Report) -> Iterator[Text]:
    """Yield the findings, the worst first, and what was tried to find them."""
    for finding in sorted(report.findings, key=lambda found: _ORDER.index(found.severity)):
        yield from _finding(pat_str, finding)
    if not report.findings:
        yield Text(
            "No problem was found: the pattern matches every text tried, every alternative wins somewhere, "
            "and no repeat backtracks badly."
        )
    of = "some" if any(finding.check == "time" for finding in report.findings) else "all"
    yield Text(
        f"Tried: {counted(report.texts, 'text')}, {of} of up to {counted(report.length, 'character')} from the "
        f"{counted(report.classes, 'class', 'classes')} of characters that the pattern can tell apart, and longer "
        "texts made for alternatives that those did not reach."
    )


def _finding(pat_str: str, finding: Finding) -> Iterator[Text]:
    """Yield the line of a finding and, if it is about one alternative, its place in the pattern."""
    line = Text.assemble((finding.severity, _SEVERITY_STYLE[finding.severity]), ": ")
    if finding.alternative:
        line.append(finding.alternative, style_of(finding.alternative))
        line.append(" ")
    line.append(visible(finding.what))
    if finding.example is not None:
        line.append(f": {quoted(finding.example)}")
    yield line
    if finding.alternative:
        yield Text(f"  at position {finding.start}. {visible(place(pat_str, finding.start))}")


def flavour_lines(readings: Sequence[Reading]) -> Iterator[Text]:
    """Yield which engines read the pattern as tokcli does, and for each of the others what it reads differently."""
    alike = [reading.name for reading in readings if reading.verdict == "alike"]
    yield Text("Which engines read it the same way?", "bold")
    yield Text(f"The same in: {', '.join(alike)}." if alike else "No other engine is sure to read it the same way.")
    for reading in readings:
        if reading.objections:
            verdict = "Rejected by" if reading.verdict == "refuses" else "Interpreted differently by"
            yield Text(f"{verdict} {reading.name}")
            for objection in reading.objections:
                yield _objection(objection)


def _objection(objection: Objection) -> Text:
    """Return the line of one feature that an engine rejects or interprets differently."""
    feature = objection.feature
    line = Text("    ")
    line.append(shorten(visible(feature.text)), "bold")
    line.append(f" at position {feature.start} ({feature.name}): ")
    rejected = ["rejected"] if objection.verdict == "refuses" else []
    line.append(", ".join([*rejected, *([objection.why] if objection.why else [])]))
    return line
