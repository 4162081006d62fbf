"""Every character is shown as Unicode 16.0 says, whatever Unicode the running Python has, and by native code alike."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate

import pytest
import unicodedata2
from support import PLANES, ROOT, first_in_gate

from tokcli.cli.json_stream import dump
from tokcli.cli.split.native_pieces import printed_pieces
from tokcli.engine import backend
from tokcli.engine.stream.utf8 import SplitText
from tokcli.engine.unicode.properties import is_printable
from tokcli.render import glyphs, palette
from tokcli.render.native_lines import TokenLines, TokenRows, stacks
from tokcli.render.stacks.comparison import stack_lines
from tokcli.render.stacks.grid import placed_tokens, segments
from tokcli.render.tokens import coloured_rows, plain_boundaries, plain_rows
from tokcli.render.visible import escape, visible

needs_native = pytest.mark.skipif(backend.native() is None, reason="it is about native code")
TOOL = ROOT / "tests" / "tools" / "make_glyphs.py"
LONG_ID = 2**32 - 1  # wider than most characters, so that blanks tell how wide those are
WIDTH = 40


def characters_of(plane: int) -> list[str]:
    """Return the characters of a plane in any order."""
    found = [chr(p) for p in range(plane << 16, (plane + 1) << 16) if not 0xD800 <= p <= 0xDFFF]
    random.Random(plane).shuffle(found)
    return found


@pytest.mark.parametrize("plane", PLANES)
def test_only_characters_with_a_shape_in_unicode_16_are_shown(plane: int) -> None:
    for char in characters_of(plane):
        category, kind = unicodedata2.category(char), glyphs.kind_of(char)
        if kind in (glyphs.PLAIN, glyphs.MARK):
            assert category[0] not in "CZ"
        if kind == glyphs.SPACE:
            assert category == "Zs"
        assert glyphs.is_mark(char) == (category[0] == "M")
        assert is_printable(char) == (char == " " or category[0] not in "CZ")
        assert glyphs.is_rtl(char) == (unicodedata2.bidirectional(char) in ("R", "AL", "AN"))
        shown = visible(char)
        assert shown in (char, f"◌{char}") or shown.startswith("⟨U+") or (plane == 0 and char < "\x80")


@pytest.mark.parametrize("plane", first_in_gate([0, 1, 2, 3, 14]))
def test_a_character_is_as_wide_as_rich_has_it(plane: int) -> None:
    pytest.importorskip("rich._unicode_data")  # before rich 14.3, there was one table
    from rich.cells import get_character_cell_size

    for char in characters_of(plane):
        shown = visible(char)
        assert glyphs.cell_len(shown) == sum(get_character_cell_size(c, "16.0.0") for c in shown), hex(ord(char))


@pytest.mark.parametrize(
    ("form", "path"),
    [("python", "tokcli/engine/unicode/tables_glyphs.py"), ("native", "tokcli/engine/native/views/glyph_tables.h")],
)
@pytest.mark.slow
def test_the_tables_are_those_that_the_tool_writes(form: str, path: str) -> None:
    made = subprocess.check_output([sys.executable, str(TOOL), form], cwd=ROOT).decode()
    assert made == (ROOT / path).read_text()


def as_text(tokens: Sequence[bytes]) -> tuple[bytes, array[int]]:
    return b"".join(tokens), array("Q", accumulate(map(len, tokens)))


def lines_of(tokens: Sequence[bytes], spaces: bool) -> tuple[str, str]:
    lines = TokenLines(spaces=spaces)
    made = lines.add(*as_text(tokens)) + lines.end()
    expected = plain_boundaries([(token, 0) for token in tokens], spaces=spaces)
    return made.decode(), "".join(f"{line}\n" for line in expected)


def plain_rows_of(tokens: Sequence[bytes]) -> tuple[str, str]:
    rows = TokenRows(WIDTH, (), ids=True)
    made = rows.add(*as_text(tokens), array("I", [LONG_ID]) * len(tokens)) + rows.end()
    return made.decode(), "".join(f"{line}\n" for line in plain_rows([(token, LONG_ID) for token in tokens], WIDTH))


def isolated_rows_of(tokens: Sequence[bytes]) -> tuple[str, str]:
    """The rows of tokens in colours, which are left out: only directions are compared."""
    rows = TokenRows(WIDTH, palette.CODES["256"], ids=False, isolate=True)
    made = rows.add(*as_text(tokens), array("I", bytes(4 * len(tokens)))) + rows.end()
    expected = coloured_rows([(token, 0) for token in tokens], WIDTH, isolate=True)
    return re.sub("\x1b\\[[0-9;]*m", "", made.decode()), "".join(f"{row.plain}\n" for row in expected)


def stacks_of(tokens: Sequence[bytes]) -> tuple[str, str]:
    text = b"\n".join(tokens)
    spans = array("Q", [0, len(text)])
    made = b"".join(stacks(text, [("a ", spans)], WIDTH, (), isolate=True))
    placed = [("a ", segments(placed_tokens(spans), len(text)))]
    return made.decode(), "".join(f"{line}\n" for line in stack_lines(text, placed, WIDTH, (), isolate=True))


def pieces_of(tokens: Sequence[bytes], is_json: bool, printed: Callable[[str], str]) -> tuple[str, str]:
    texts = [token.decode() for token in tokens]
    made = printed_pieces(SplitText.of(list(map(str.encode, texts))), b"\n", is_json=is_json).decode()
    return made, "\n".join(map(printed, texts))


WAYS: dict[str, Callable[[Sequence[bytes]], tuple[str, str]]] = {
    "lines with spaces": lambda tokens: lines_of(tokens, True),
    "escapes": lambda tokens: pieces_of(tokens, False, escape),
    "JSON": lambda tokens: pieces_of(tokens, True, dump),
    "lines": lambda tokens: lines_of(tokens, False),
    "rows": plain_rows_of,
    "coloured rows": isolated_rows_of,
    "stacks": stacks_of,
}


@needs_native
@pytest.mark.parametrize("way", first_in_gate(WAYS, 3))
@pytest.mark.parametrize("plane", PLANES)
def test_native_code_shows_every_character_as_the_sanitizer_does(plane: int, way: str) -> None:
    tokens = [f"{char} a{char}{char}".encode() for char in characters_of(plane)]  # alone and on another character
    made, expected = (shown.splitlines() for shown in WAYS[way](tokens))
    differing = [pair for pair in zip(made, expected, strict=True) if pair[0] != pair[1]]
    assert not differing[:3]


def test_ascii_needs_no_table() -> None:
    code = (
        "import sys; from tokcli.render.visible import *; visible('a\\n\\x1b'); escape('a\\x7f'); print(*sys.modules)"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code]).decode().split()
    assert "tokcli.render.glyphs" in loaded
    assert not {"tokcli.engine.unicode.tables_glyphs", "rich"} & set(loaded)
