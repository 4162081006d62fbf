"""What is said to people on standard error: errors with what to do next, and notes."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from tokcli.errors import MAX_QUOTED, InputError, TokcliError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import click

    from tokcli.engine.encoding import Encoding

MAX_WORD, MAX_LINE = 300, 900  # characters of a path, and of a message
SHOWN_NAMES = 8  # special tokens in a hint
MAX_SHOWN = 1 << 16  # characters of a message that are looked at
VOCABULARIES: list[str] = []  # those in use whose rules change texts, as the user named them: for hints
FILES: list[str] = []  # the arguments that name inputs: for hints
READINGS: dict[str, str] = {}  # words after an option with an optional value that are none, and why: for hints
_left_out: list[tuple[int, str]] = []  # how many records at a time, and the first of them; threads append
_as_text: list[tuple[str, int]] = []  # encodings, each with how many special tokens were text to it; threads append
_printed: dict[str, object] = {}  # notes of `print_note_once`, each with who printed it


def report(error: TokcliError, hinted: str = "") -> str:
    """Print an error to standard error, and what to do next unless `hinted` says the same; return what to do next."""
    from tokcli.cli.hints import hint_for

    hint = hint_for(error, VOCABULARIES, FILES, READINGS)
    print_error(str(error), "" if hint == hinted else hint)
    return hint


def print_error(what: str, hint: str = "") -> None:
    """Print `Error: what` and a line that says what to do next to standard error."""
    _print_for_people(f"Error: {what}", hint)


def print_note(text: str) -> None:
    """Print `Note: text`, which is neither data nor an error, to standard error."""
    _print_for_people(f"Note: {text}")


def print_note_once(text: str, kind: str = "") -> None:
    """Print a note as `print_note` does, unless it, or one of its kind, was printed in this run; threads may do so."""
    own = object()
    if _printed.setdefault(kind or text, own) is own:
        print_note(text)


def leave_out(records: int, example: str) -> None:
    """Take notice of records that --skip-invalid leaves out, of which `example` says where one is and what is wrong."""
    if records:
        _left_out.append((records, example))


def take_left_out() -> tuple[int, str]:
    """Return how many records were left out since the last call, and what is wrong with one of the first."""
    found = [_left_out.pop(0) for _ in range(len(_left_out))]
    return sum(records for records, _ in found), found[0][1] if found else ""


def take_as_text(encoding: str, number: int) -> None:
    """Take notice of special tokens of an encoding that are in a text, and are taken as text unasked."""
    _as_text.append((encoding, number))


def note_when_closed(context: click.Context, _: click.Parameter, is_quiet: bool) -> bool:
    """Print at the end of the run the notes that are certain only then, unless notes are suppressed."""
    if not (is_quiet or context.resilient_parsing):
        context.call_on_close(note_at_end)
    return is_quiet


def note_at_end() -> None:
    """Print what is known only at the end: how many records were left out, and special tokens taken as text."""
    found = [_as_text.pop(0) for _ in range(len(_as_text))]
    numbers = {name: sum(number for one, number in found if one == name) for name, _ in found}
    if numbers:
        number = max(numbers.values())
        is_one, differ = number == 1, len(set(numbers.values())) > 1
        of_each = ", ".join(f"{number:,} of {name}" for name, number in numbers.items())
        print_note(
            f"{number:,} special token{' ' if is_one else 's '}in the text {'is' if is_one else 'are'} taken as text"
            f"{f' ({of_each})' if differ else ''}; --special allow takes {'it' if is_one else 'them'} as special."
        )
    records, example = take_left_out()
    if records:
        print_note(f"left out {records:,} invalid record{'' if records == 1 else 's, such as'}: {example}")


def redraws() -> bool:
    """Return whether standard error is a terminal on which a line of progress can be drawn again in its place."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def progress_cells() -> int:
    """Return the width of a line of progress in cells: a row of the terminal but its last cell, after which it wraps.

    The terminal is asked each time, since people resize it; 80 cells where nothing tells the width.
    """
    widths = [int(columns)] if (columns := os.environ.get("COLUMNS", "")).isdecimal() else []
    with suppress(OSError, ValueError):
        widths.append(os.get_terminal_size(sys.stderr.fileno()).columns)
    return max(min(filter(None, widths), default=80), 2) - 1


def fitted(parts: Sequence[str], cells: int) -> str:
    """Return parts joined by commas, without the second one, then the next, and so on, as far as they do not fit.

    Characters outside ASCII are taken for wide ones.

    >>> parts = ("1 of 4 MB", "300 MB/s", "0:01 left")
    >>> [fitted(parts, cells) for cells in (40, 20, 12, 8)]
    ['1 of 4 MB, 300 MB/s, 0:01 left', '1 of 4 MB, 0:01 left', '1 of 4 MB', '1 of ...']
    """
    held = list(parts)
    while len(held) > 1 and cells_at_most(", ".join(held)) > cells:
        del held[1]
    line = ", ".join(held)
    if cells_at_most(line) <= cells:
        return line
    while line and cells_at_most(line) + 3 > cells:
        line = line[:-1]
    return f"{line}..."[:cells]


def cells_at_most(text: str) -> int:
    """Return how many cells of a terminal a text takes at most."""
    return len(text) if text.isascii() else sum(2 - char.isascii() for char in text)


def show_download(received: int, total: int | None) -> None:
    """Show the progress of a download in bytes, on one line of standard error that is overwritten each time."""
    of = f" of {total / 1e6:,.1f}" if total else ""
    line = fitted((f"downloading the vocabulary: {received / 1e6:,.1f}{of} MB",), progress_cells())
    sys.stderr.write(f"\r{line}" + "\n" * (received == total))
    sys.stderr.flush()


def no_special_token(encoding: Encoding, name: str, more: Iterable[str] = ()) -> InputError:
    """Return the error for a name that is not one of the special tokens, or of `more`; its hint lists the first."""
    tokens = sorted({*encoding.special_tokens_set, *more})
    dots = ", ..." if len(tokens) > SHOWN_NAMES else ""
    return InputError(
        f"{encoding.name} has no special token {name!r}{did_you_mean(name, tokens)}",
        f"Its special tokens: {', '.join(tokens[:SHOWN_NAMES])}{dots}"
        if tokens
        else "It has no special tokens at all.",
    )


def _print_for_people(*lines: str) -> None:
    print_as_is("".join(f"{shown_to_people(line)}\n" for line in lines if line))


def print_as_is(text: str) -> None:
    """Write a text that has no characters of the data to standard error; a run goes on where that cannot be written."""
    with suppress(OSError, ValueError):  # nobody can read it
        sys.stderr.write(text)
        sys.stderr.flush()


def shown_to_people(text: str) -> str:
    """Return a text without characters that a terminal would act on, with long quotations, words and lines cut."""
    text = text[:MAX_SHOWN]
    if not (text.isascii() and text.isprintable()):
        try:
            from tokcli.render.visible import visible

            text = visible(text)
        except Exception:  # noqa: BLE001 - too little memory: whichever error that is, the message matters more
            return ascii(text[:MAX_LINE])[1:-1]
    text = re.sub(rf"'([^']{{{MAX_QUOTED}}})[^']+'", r"'\1...'", text)
    line = " ".join(map(_cut_word, text.split(" ")))
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}..."


def _cut_word(word: str) -> str:
    """Return a word cut to MAX_QUOTED characters; a path, whose end matters, to MAX_WORD. A colon at its end stays.

    What is quoted has been cut before.
    """
    limit = MAX_WORD if "/" in word or "'" in word else MAX_QUOTED
    colon = word[-1:] if word.endswith(":") else ""
    return word if len(word) - len(colon) <= limit else f"{word[:limit]}...{colon}"
