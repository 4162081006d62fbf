"""Whether an output gets colours, and which; this module does without rich, which pipes do not need."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from tokcli.render import console

if TYPE_CHECKING:
    from tokcli.cli.terminal.pager import ShownOn


def wants_color(output: ShownOn, color: console.Color) -> bool:
    """Return whether to colour what goes to an output."""
    return console.wants_color(sys.stdout if output.is_terminal else io.StringIO(), color, os.environ)


def colours(output: ShownOn, color: console.Color) -> console.ColorSystem | None:
    """Return the colour system of an output, such as "256"; None if it gets no colours."""
    return console.color_system(os.environ) if wants_color(output, color) else None


def is_for_people(output: ShownOn, color: console.Color) -> bool:
    """Return whether a view is laid out for people: on a terminal, or where colour is wanted."""
    return output.is_terminal or wants_color(output, color)
