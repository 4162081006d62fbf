"""Decides when to use colour, and makes the rich console that prints for people.

The environment is an argument. Choosing and sanitizing what is printed is left to the callers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console

Color: TypeAlias = Literal["auto", "always", "never"]
ColorSystem: TypeAlias = Literal["standard", "256", "truecolor"]
_IN_ASCII = str.maketrans("─━│├└█▉▊▋▌▍▎▏…▶◀«»", "--||`#####   ~><<>")


def make_console(file: IO[str], color: Color, *, environment: Mapping[str, str], width: int | None = None) -> Console:
    """Return a console that writes to `file` and interprets nothing in what it prints: no markup, emoji or highlights.

    With `color` "auto", `wants_color` decides. `width` is in screen cells; None takes COLUMNS, else the width of the
    terminal, else 80. If the file is not a terminal, lines of text are not wrapped: their reader may do that.
    """
    from rich.console import Console

    colored = wants_color(file, color, environment)
    return Console(
        file=file,
        width=width,
        color_system=color_system(environment) if colored else None,
        no_color=not colored,  # explicit, since rich would let NO_COLOR override --color=always
        force_terminal=colored,  # otherwise rich would drop colours that were asked for in a pipe
        force_interactive=False,
        force_jupyter=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=not file.isatty(),
        _environ=environment,
    )


def wants_color(file: IO[str], color: Color, environment: Mapping[str, str]) -> bool:
    """Return whether to use colour: as `color` says, or for "auto" as NO_COLOR, FORCE_COLOR or the terminal says.

    The two variables count, in this order, if they are not empty, whatever their value (no-color.org, force-color.org).
    Otherwise a terminal gets colours unless TERM is `dumb` or `unknown`.

    >>> import io
    >>> [wants_color(io.StringIO(), "auto", environment) for environment in ({}, {"FORCE_COLOR": "1"})]
    [False, True]
    """
    if color != "auto":
        return color == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return file.isatty() and environment.get("TERM") not in ("dumb", "unknown")


def has_shapes(environment: Mapping[str, str], *, is_coerced: bool) -> bool:
    """Return whether to draw lines and bars with characters outside ASCII, as the locale says; if none is set, yes.

    If the locale is C, Python may have set LC_CTYPE itself (PEP 538): it `is_coerced`, and says nothing.

    >>> [has_shapes({"LANG": name}, is_coerced=False) for name in ("C", "de_DE.ISO-8859-1", "C.UTF-8", "")]
    [False, False, True, True]
    """
    names = ("LC_ALL", "LANG") if is_coerced else ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next(filter(None, map(environment.get, names)), "utf-8")
    return "utf" in locale.lower()


def without_shapes(data: bytes) -> bytes:
    """Return lines of a view in which lines, bars and marks are ASCII of the same width.

    >>> without_shapes("a│·b ├─ c".encode()).decode()
    'a|·b |- c'
    """
    return data.decode("utf-8", "surrogateescape").translate(_IN_ASCII).encode("utf-8", "surrogateescape")


def color_system(environment: Mapping[str, str]) -> ColorSystem:
    """Return the largest set of colours that COLORTERM and TERM promise; 16 colours if they say nothing.

    >>> color_system({"TERM": "xterm-256color"}), color_system({"TERM": "xterm", "COLORTERM": "truecolor"})
    ('256', 'truecolor')
    """
    term = environment.get("TERM", "").lower()
    if environment.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return "truecolor"
    return "256" if "256color" in term or "kitty" in term else "standard"
