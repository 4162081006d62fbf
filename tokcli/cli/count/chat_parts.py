"""`count --chat --by role|message|tool`: a row for each part of the requests, one for what is in none, the total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokcli.cli.count.budget import lines_of, members_of
from tokcli.cli.count.chat_tally import KEYS, ChatPart, ChatTally
from tokcli.cli.count.csv_lines import csv_line
from tokcli.cli.json_stream import JsonStream, line, path_members
from tokcli.render.visible import visible

if TYPE_CHECKING:
    from tokcli.cli.count.count_options import CountOptions
    from tokcli.cli.streams import Output

OVERHEAD = "(overhead)"


def write_parts(asked: CountOptions, output: Output, tally: ChatTally, total: int, *, inputs: int) -> None:
    """Write the parts of the requests in the form that was asked for."""
    names = KEYS[asked.by or ""]
    parts = tally.parts()
    if asked.jsonl:
        for part in parts:
            output.write(line({**_members(names, part, inputs), "exact": tally.marks()["exact"]}))
    elif asked.csv:
        output.write(csv_line(["tokens", *names, *(["path"] if inputs > 1 else [])], is_terminal=output.is_terminal))
        for part in parts:
            values: list[str | int] = [part.tokens, *part.names, *([part.path] if inputs > 1 else [])]
            output.write(csv_line(values, is_terminal=output.is_terminal))
    elif asked.as_json:
        stream = JsonStream(output)
        with stream.object():
            with stream.array("parts"):
                for part in parts:
                    stream.value(_members(names, part, inputs))
            alone = {"count": total} if inputs == 1 else {}
            more = {**members_of(asked, total), **tally.marks()}
            stream.members(overhead=tally.overhead, total=total, **alone, **more)
    else:
        _write_table(asked, output, tally, total, parts, inputs)


def _members(names: Sequence[str], part: ChatPart, inputs: int) -> dict[str, object]:
    path = path_members(part.path) if inputs > 1 and part.path else {}
    return {"tokens": part.tokens, **dict(zip(names, part.names, strict=True)), **path}


def _write_table(
    asked: CountOptions, output: Output, tally: ChatTally, total: int, parts: list[ChatPart], inputs: int
) -> None:
    """Write a line for each part, as `count` does for each of many inputs; names cannot pass for lines of their own."""
    rows = [(part.tokens, _label(part, inputs)) for part in parts]
    if tally.overhead:
        rows.append((tally.overhead, OVERHEAD))
    left = tally.number_of_parts > len(parts)
    rows.append((total, f"total ({len(parts)} of {tally.number_of_parts} rows)" if left else "total"))
    group = "," if output.is_terminal else ""
    width = max(len(f"{tokens:{group}}") for tokens, _ in rows)
    output.write("".join(f"{tokens:>{width}{group}} {name}\n" for tokens, name in rows).encode())
    output.write(lines_of(asked, total, width, for_people=output.is_terminal))


def _label(part: ChatPart, inputs: int) -> str:
    names = part.names[:1] if len(part.names) > 1 and part.names[0] == part.names[-1] else part.names
    return visible(" ".join([f"{part.path}:"] * (inputs > 1 and bool(part.path)) + [*names]))
