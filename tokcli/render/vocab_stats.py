"""The statistics of a vocabulary as lines for people: counts, shares, and bars of lengths and scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from tokcli.engine.vocab_stats import Stats

BAR, SHORT_BAR = 40, 8  # columns of the longest bar, and of one where there is no room
LISTED = 12  # scripts that are named
_EIGHTHS = " ▏▎▍▌▋▊▉█"
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64, 128)  # the last of each class, in bytes


def lines(stats: Stats, width: int = 80) -> Iterator[Text]:
    """The lines of the view, those with bars for a screen of `width` columns."""
    mean = stats.bytes / stats.tokens if stats.tokens else 0
    yield Text(f"{stats.tokens} tokens, {stats.special} special, {stats.merges} merges")
    yield Text(
        f"{stats.bytes} bytes, {mean:.2f} a token; {stats.not_utf8} not UTF-8; {stats.with_space} begin with a space"
    )
    characters = max(sum(stats.kinds.values()), 1)
    yield Text("characters: " + ", ".join(f"{n / characters:.1%} {name}" for name, n in stats.kinds.items()))
    yield Text("")
    yield Text("bytes a token", "bold")
    yield from bars(length_classes(stats), width)
    yield Text("")
    yield Text("script of the first letter", "bold")
    listed = stats.scripts.most_common(LISTED)
    rest = sum(stats.scripts.values()) - sum(n for _, n in listed)
    yield from bars([*listed, *([("all others", rest)] if rest else [])], width)


def length_classes(stats: Stats) -> list[tuple[str, int]]:
    """How many tokens are of each class of lengths."""
    classes, before = [], 0
    for last in (*LENGTHS, max([*stats.lengths, LENGTHS[-1] + 1])):
        count = sum(n for length, n in stats.lengths.items() if before < length <= last)
        classes.append((str(last) if last == before + 1 else f"{before + 1}-{last}", count))
        before = last
    while classes and not classes[-1][1]:
        classes.pop()
    return classes


def bars(rows: Iterable[tuple[str, int]], width: int = 80) -> Iterator[Text]:
    """A bar for each row, as long as there is room.

    >>> [line.plain for line in bars([("one", 4), ("two", 1)])][1].rstrip()
    '  two  1  ██████████'
    """
    listed: Sequence[tuple[str, int]] = list(rows)
    most = max((n for _, n in listed), default=0) or 1
    wide, digits = max((len(name) for name, _ in listed), default=0), len(str(most))
    longest = min(BAR, max(width - wide - digits - 6, SHORT_BAR))
    for name, n in listed:
        full, part = divmod(n * longest * 8 // most, 8)
        yield Text.assemble(f"  {name:>{wide}}  {n:>{digits}}  ", ("█" * full + _EIGHTHS[part].strip(), "cyan"))
