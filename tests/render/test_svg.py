"""Claims about pictures: well-formed, self-contained, their texts inert and as wide as on a screen."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.text import Text
from support import ok, refused

from tokcli.errors import InputError
from tokcli.render.svg import MAX_LINES, make_svg
from tokcli.render.tokens import coloured_rows

HOSTILE = "</text><script>alert(1)</script>&{x} {unique_id}\x1b[31m\u202e\x00"
NAMESPACE = "{http://www.w3.org/2000/svg}"


def picture(*tokens: str, title: str = "title") -> str:
    rows = coloured_rows([(token.encode(), 1) for token in tokens], 60, ids=True, isolate=True)
    return make_svg(rows, title, width=60, environment={})


def test_nothing_in_a_picture_is_fetched_and_nothing_runs() -> None:
    made = picture(HOSTILE, "http://example.com/x.js", title=HOSTILE)
    root = ElementTree.fromstring(made)
    assert {element.tag.removeprefix(NAMESPACE) for element in root.iter()} <= {
        "svg", "style", "defs", "clipPath", "rect", "text", "g", "circle"
    }  # fmt: skip
    assert not re.search(r"@font-face|@import|href|\son\w+=", re.sub(r"<text.*?</text>", "", made, flags=re.DOTALL))
    assert all(place.startswith("#") for place in re.findall(r"url\(([^)]*)\)", made))
    assert {address for address in re.findall(r'https?://[^\s"<]*', made) if "w3.org" not in address} == {
        "http://example.com/x.js"  # as text
    }


def test_the_data_is_shown_as_on_a_screen() -> None:
    texts = "".join(ElementTree.fromstring(picture(HOSTILE, "日本", "مرحبا")).itertext())
    for wanted in ("</text><script>alert(1)</script>", "{unique_id}␛[31m", "⟨U+202E", "⟩␀", "日本", "مرحبا"):
        assert wanted in texts
    assert "\u2068" not in texts


def test_wide_characters_have_the_room_of_their_cells() -> None:
    made = picture("ab", "日本")
    lengths = {text: float(room) for room, text in re.findall(r'textLength="([^"]*)"[^>]*>([^<]+)</text>', made)}
    assert lengths["日本"] == 2 * lengths["ab"] == pytest.approx(48.8)


def test_too_many_lines_are_refused() -> None:
    with pytest.raises(InputError, match="a picture has at most 1,000 lines"):
        make_svg([Text("x")] * (MAX_LINES + 1), "x", width=60, environment={})
    assert make_svg([Text("x")] * MAX_LINES, "x", width=60, environment={}).startswith("<svg")


def test_the_command_writes_a_picture_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    assert ok("encode", "--visualise", "--ids", "--svg", file, "-t", "hello world") == b""
    texts = "".join(ElementTree.fromstring(file.read_text("utf-8")).itertext())
    assert all(wanted in texts for wanted in ("hello", "·world", "24912", "2375", "o200k_base"))
    before = file.read_bytes()
    assert "a picture has at most 1,000 lines" in refused(
        "encode", "--visualise", "--svg", file, "-t", "x\n" * (MAX_LINES + 1)
    )
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
