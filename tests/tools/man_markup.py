"""Writes text for man pages: the part of Markdown that the manual's texts use, as macros of man(7)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

WIDTH = 78  # of the source's lines, which mandoc wants below 80
_SPAN = re.compile(
    r"`([^`]+)`|\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*|(?<![\w\-'])(--?[A-Za-z][\w-]*)|\[([^\]]+)\]\(([^)]+)\)"
)
# what man(7) has for signs that it would take for others
ESCAPES = {"\\": r"\e", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "-": r"\-", '"': r"\(dq"}
_NAME_OR_PATH = re.compile(r"(?<!\S)[^\s\\]*[_/|@=][^\s]*")
_NAME = re.compile(r"[A-Z][A-Z0-9]*\b")


def literal(text: str) -> str:
    """Text as it is typed: every sign is the ASCII one."""
    return "".join(ESCAPES.get(c, c if c.isascii() else f"\\[u{ord(c):04X}]") for c in text)


def word(text: str) -> str:
    """Words as they are typed, which are not hyphenated."""
    return " ".join(rf"\%{literal(part)}" for part in text.split(" "))


def prose(text: str) -> str:
    """Text with bold options and code, and italic names."""
    out, end = [], 0
    for match in _SPAN.finditer(text):
        out += [_plain(text[end : match.start()]), _span(match)]
        end = match.end()
    return "".join([*out, _plain(text[end:])])


def _plain(text: str) -> str:
    written = "".join(c if c in "'-\"" else literal(c) for c in text)
    return _NAME_OR_PATH.sub(r"\\%\g<0>", written)  # never hyphenated


def _span(match: re.Match[str]) -> str:
    code, strong, name, option, link, target = match.groups()
    if link:
        return prose(link) + (f" ({literal(target)})" if ":" in target else "")
    if strong:
        return rf"\fB{prose(strong)}\fR"
    return rf"\fI{word(name)}\fR" if name else rf"\fB{word(code or option)}\fR"


def value(shown: str) -> str:
    """How an option's value is shown: what stands for something in italics, what is typed in bold."""
    parts = re.split(r"([A-Z][A-Z0-9]*|[a-z0-9][a-z0-9-]*)", shown)
    return "".join(
        rf"\fI{part}\fR" if _NAME.fullmatch(part) else rf"\fB{word(part)}\fR" if part[:1].isalnum() else literal(part)
        for part in parts
    )


def filled(text: str) -> str:
    """A paragraph of prose as lines of source."""
    lines = textwrap.wrap(prose(" ".join(text.split())), WIDTH, break_long_words=False, break_on_hyphens=False)
    return "".join(f"{_guarded(line)}\n" for line in lines)


def code(text: str) -> str:
    """An indented block, as it is typed."""
    lines = textwrap.dedent(text).strip("\n").expandtabs().splitlines()
    return ".PP\n.RS 4\n.EX\n" + "".join(f"{_guarded(literal(line))}\n" for line in lines) + ".EE\n.RE\n"


def item(head: str, text: str) -> str:
    """A paragraph under a tag, which has markup of its own."""
    return f".TP\n{_guarded(head)}\n{filled(text)}"


def _guarded(line: str) -> str:
    return rf"\&{line}" if line.startswith((".", "'")) else line


def blocks(markdown: str) -> Iterator[str]:
    """The blocks of a text in Markdown: headings, paragraphs, code, lists, tables of which the first row is a heading."""
    text = re.sub(r"<!--.*?-->\n?", "", markdown, flags=re.DOTALL)
    for part in re.findall(r"^```(?s:.*?)^```$|(?:^(?!```).+\n?)+", text, re.MULTILINE):
        yield from _block(part.strip("\n"))


def _block(text: str) -> Iterator[str]:
    lines = text.splitlines()
    if text.startswith("```"):
        yield code("\n".join(lines[1:-1]))
    elif heading := re.fullmatch(r"(#+) (.*)", lines[0]):
        yield f".SH {literal(heading[2].upper())}\n" if heading[1] == "#" else f".SS {prose(heading[2])}\n"
        if lines[1:]:
            yield from _block("\n".join(lines[1:]))
    elif text.startswith("|"):
        for line in lines[2:]:
            first, *rest = (cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")))
            yield item(prose(first), "; ".join(rest))
    elif re.match(r"[-*] ", text):
        for point in re.split(r"^[-*] ", text, flags=re.MULTILINE)[1:]:
            yield f".IP \\(bu 2\n{filled(point)}"
    elif all(line.startswith("    ") for line in lines):
        yield code(text)
    else:
        yield f".PP\n{filled(text)}"
