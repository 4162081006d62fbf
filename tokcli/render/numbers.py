"""Numbers as people read them: thousands grouped, a unit after each count, percent with one decimal, bars.

Programs read plain digits: JSON, CSV and tab-separated values never pass through here.
"""

from __future__ import annotations


def grouped(number: int) -> str:
    """Return a whole number with its thousands grouped.

    >>> grouped(199998)
    '199,998'
    """
    return f"{number:,}"


def counted(number: int, one: str, many: str = "") -> str:
    """Return a count with its unit, in the singular for 1; `many` is the plural if it is not `one` with an s.

    >>> counted(1, "token"), counted(199998, "token"), counted(0, "byte"), counted(2, "entry", "entries")
    ('1 token', '199,998 tokens', '0 bytes', '2 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(part: float, whole: float, *, signed: bool = False) -> str:
    """Return a share of a whole in percent, 0.0% if the whole is 0. With `signed`, a plus is written too.

    >>> percent(836, 1000), percent(1, 8, signed=True), percent(0, 0)
    ('83.6%', '+12.5%', '0.0%')
    """
    share = part / whole if whole else 0.0
    return f"{share:+.1%}" if signed else f"{share:.1%}"


_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(part: int, whole: int, cells: int) -> str:
    """Return a bar as long as a share of so many cells, to an eighth of one.

    >>> bar(1, 4, 10), bar(0, 0, 10)
    ('██▌', '')
    """
    full, eighths = divmod(part * cells * 8 // whole if whole else 0, 8)
    return "█" * full + _EIGHTHS[eighths].strip()
