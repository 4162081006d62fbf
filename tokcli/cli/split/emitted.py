"""`split --emit ENGINE`: the pattern as another regular expression engine reads it; no text is read."""

from __future__ import annotations

from tokcli.analysis.pattern.emit import emit
from tokcli.cli import streams
from tokcli.cli.json_stream import line
from tokcli.cli.split.lint import one_pattern
from tokcli.cli.split.split_options import SplitRequest
from tokcli.errors import InputError
from tokcli.render.visible import visible

_NAMED = 3  # obstacles in the error


def write(request: SplitRequest, output: streams.Output) -> None:
    """Write the pattern, or a JSON object; InputError names the parts that the engine cannot express."""
    pattern = one_pattern(request)
    engine = request.options.emit or ""
    made = emit(pattern.pat_str, engine)
    if made.obstacles:
        named = [f"{one.name} {visible(one.text)} at position {one.start}" for one in made.obstacles[:_NAMED]]
        more = f" and {len(made.obstacles) - _NAMED} more" if len(made.obstacles) > _NAMED else ""
        raise InputError(
            f"the pattern cannot be written for {made.engine}: {', '.join(named)}{more}",
            "--lint says which engines can run it.",
        )
    if request.options.as_json:
        output.write(line({"engine": engine, "name": made.engine, "pattern": pattern.pat_str, "emitted": made.pattern}))
    else:
        output.write(f"{made.pattern}\n".encode())
