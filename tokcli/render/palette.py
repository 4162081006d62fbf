"""The escape sequences of our colours as plain strings, for views that do without rich (30 ms to load).

colours.py has the same colours as rich's styles; a test compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcli.render.console import ColorSystem

# kind of terminal -> the escape sequences that begin the colours of tokens, in turn
CODES: dict[ColorSystem, tuple[str, ...]] = {
    "standard": tuple(f"\x1b[30;{number}m" for number in (106, 43, 46, 103, 47, 101)),
    "256": tuple(f"\x1b[38;5;16;48;5;{number}m" for number in (74, 178, 36, 221, 175, 166)),
    "truecolor": tuple(
        f"\x1b[38;2;0;0;0;48;2;{colour}m"
        for colour in ("86;180;233", "230;159;0", "0;158;115", "240;228;66", "204;121;167", "213;94;0")
    ),
}
BOLD = "\x1b[1m"
END = "\x1b[0m"
