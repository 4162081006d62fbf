"""What each shell sends when it asks, and the form in which it takes the answer; the other half is in scripts.py.

An answer begins with a line for the script: the paths that the shell is to add ("file", "folder" or "none"), and what
each shell needs more. Each other line is one thing that may be typed.
"""

from __future__ import annotations

from collections.abc import Callable

from tokcli.cli.completion.answer import Offer
from tokcli.cli.completion.typed import Word, quoted, words_of

LISTING = "63"  # COMP_TYPE where bash shows what there is, and inserts nothing
Asked = Callable[[list[str], str], Offer]  # of the words after the program's name, and the one being typed


def for_bash(asked: Asked, line: str, replaced: str, kind: str, columns: str) -> list[str]:
    """Answer bash: it sends the line, the end of it that a match replaces, how it was asked, and the screen's width.

    The second line is what of the replaced text is before a path, the third what of the path is before that text.
    """
    *words, current = words_of(line)
    found = Offer(paths="file") if current.follows else asked(_values(words[1:]), current.value)
    typed = current.value[found.prefix :]
    fit = [value for value in found.values if _begins(value.text, typed, found.any_case)]
    kept, quote = _state(line[: len(line) - len(replaced)], current)
    texts = [(current.value[: found.prefix] + value.text)[kept:] for value in fit]
    if not found.paths:  # else bash puts quotes around what needs them
        texts = [quoted(text, quote) for text in texts]
    if kind == LISTING and any(value.help for value in fit):
        widest = max(map(len, texts))
        texts = [f"{text:{widest}}  {value.help}"[: int(columns) - 1] for text, value in zip(texts, fit, strict=True)]
    first = f"{found.paths or 'none'} {'nospace' if found.is_list else ''}".rstrip()
    return [first, current.value[kept : found.prefix], current.value[found.prefix : kept], *texts]


def for_zsh(asked: Asked, *typed: str) -> list[str]:
    """Answer zsh: it sends words as they were typed, and adds what it completes after a part of the last word.

    The first line also has how many characters that part has, and after a list's element "list"; where the case of
    values is ignored, "case". Colons are escaped, and separate a value from its description.
    """
    *words, current = (words_of(word)[-1] for word in typed)
    found = asked(_values(words), current.value)
    raw, prefix = typed[-1], current.value[: found.prefix]
    length = next((n for n in range(len(raw) + 1) if words_of(raw[:n])[-1].value == prefix), 0)
    notes = f"{' list' * found.is_list}{' case' * found.any_case}"
    lines = [f"{_escaped(value.text)}{f':{value.help}' * bool(value.help)}" for value in found.values]
    return [f"{found.paths or 'none'} {length}{notes}", *lines]


def for_fish(asked: Asked, *typed: str) -> list[str]:
    """Answer fish: it sends the words, the last one as it was typed, and takes whole words with a tab before the help.

    The second line is what of the word is before a path.
    """
    *words, last = typed
    current = words_of(last)[-1]
    found = asked(words, current.value)
    prefix = current.value[: found.prefix]
    return [found.paths or "none", prefix, *(f"{prefix}{value.text}\t{value.help}" for value in found.values)]


SHELLS: dict[str, Callable[..., list[str]]] = {"bash": for_bash, "zsh": for_zsh, "fish": for_fish}


def _values(words: list[Word]) -> list[str]:
    return [word.value for word in words if not word.follows]


def _state(line: str, current: Word) -> tuple[int, str]:
    """Return how many characters of the current word's value a line up to some place in it has, and the open quote."""
    word = words_of(line)[-1]
    return (len(word.value), word.quote) if current.value.startswith(word.value) else (0, "")


def _begins(text: str, typed: str, any_case: bool) -> bool:
    return text.lower().startswith(typed.lower()) if any_case else text.startswith(typed)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")
