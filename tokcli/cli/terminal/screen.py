"""Tables and coloured lines for people, made by rich and written as bytes to an `Output`."""

from __future__ import annotations

import io
import os

from rich.color import ColorSystem
from rich.console import RenderableType
from rich.text import Text

from tokcli.cli.terminal.colours import colours
from tokcli.cli.terminal.pager import ShownOn
from tokcli.render import console

WIDTH_OF_PIPES = 80  # cells of a line where nothing tells how many there are
MIN_WIDTH = 20  # cells of a line, however far it is indented
MAX_WIDTH = 1 << 20  # cells of a line: COLUMNS may be any number


def width(output: ShownOn | None) -> int:
    """Return the width of a line in cells: COLUMNS, else that of the terminal, else (in a pipe, a file) 80."""
    if not os.environ.get("COLUMNS") and not (output is not None and output.is_terminal):
        return WIDTH_OF_PIPES
    return min(console.make_console(io.StringIO(), "never", environment=os.environ).width, MAX_WIDTH)


def show_hanging(output: ShownOn, color: console.Color, line: Text) -> None:
    """Write a line; on a terminal, the rest of a long line continues below it with the same indent."""
    if line.no_wrap or not output.is_terminal:
        show(output, color, line)
        return
    indent = len(line.plain) - len(line.plain.lstrip(" "))
    room = max(width(output) - indent, MIN_WIDTH)
    made = console.make_console(io.StringIO(), "never", environment=os.environ, width=room)
    for part in line[indent:].wrap(made, room):
        part.rstrip()
        show(output, color, Text(" " * indent).append_text(part))


def show(output: ShownOn, color: console.Color, what: RenderableType, *, wrap: bool = False) -> None:
    """Write a table (`wrap`: fitted into the width of the screen) or a line, which the terminal itself wraps."""
    system = colours(output, color)
    if system is not None and not wrap and isinstance(what, Text) and (quick := styled(what, system)) is not None:
        output.write(quick.encode())
        return
    colored: console.Color = "always" if system else "never"
    text = io.StringIO()
    made = console.make_console(text, colored, environment=os.environ, width=width(output))
    made.print(what, soft_wrap=not wrap)
    output.write(text.getvalue().encode())


def styled(line: Text, system: console.ColorSystem) -> str | None:
    """Return a line as rich writes it, in a third of the time; None where its styles overlap or are given by name."""
    known = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "truecolor": ColorSystem.TRUECOLOR}
    plain, at = line.plain, 0
    parts: list[str] = []
    for start, end, style in line.spans:
        if start < at or isinstance(style, str):
            return None
        parts += plain[at:start], style.render(plain[start:end], color_system=known[system])
        at = end
    return None if line.style else "".join(parts) + plain[at:] + "\n"
