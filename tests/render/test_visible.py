"""Claims about the sanitizer: nothing of the data acts on a terminal, and `escape` can be read back."""

from __future__ import annotations

import subprocess
import sys

import pytest
import unicodedata2
from hypothesis import example, given
from hypothesis import strategies as st

from tokcli.errors import InputError
from tokcli.render import glyphs
from tokcli.render import visible as module
from tokcli.render.visible import escape, unescape, visible, visible_bytes

ANY_TEXT = st.text(st.characters(exclude_categories=[]))  # lone surrogates too
FORBIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

ATTACKS = [
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;http://example.com\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]0;title\x07",
    "\x9b31m C1 introducer",
    "\x9d0;title\x9c",
    "abc\rxyz",
    "abc\b\b\bxyz",
    "\x00\x7f\x0b\x0c",
    "user\u202etxt.exe",
    "\u2066isolate\u2069 \u200e\u200f\u061c",
    "zero\u200bwidth\u200c\u200d\u2060\ufeff\u00ad",
    "tags \U000e0041\U000e007f",
    "line\u2028paragraph\u2029",
    "lone \ud800 \udfff",
    "noncharacters \ufffe\uffff\ufdd0\U0010ffff",
    "private \ue000\U000f0000",
    "fillers \u115f\u1160\u3164\uffa0\u034f\u17b4\u180b\ufe0f\U000e0100\u2800",
]


def assert_inert(text: str) -> None:
    bad = {f"U+{ord(char):04X}" for char in text if unicodedata2.category(char) in FORBIDDEN}
    assert not bad


@given(ANY_TEXT, st.booleans())
def test_visible_leaves_no_character_that_acts_or_hides(text: str, spaces: bool) -> None:
    assert_inert(visible(text, spaces=spaces))


@given(st.binary(), st.booleans())
def test_visible_bytes_leaves_no_character_that_acts_or_hides(data: bytes, spaces: bool) -> None:
    assert_inert(visible_bytes(data, spaces=spaces))


@given(ANY_TEXT | st.binary())
def test_escape_leaves_no_character_that_acts_or_hides(data: str | bytes) -> None:
    assert_inert(escape(data))
    assert not any(unicodedata2.category(char) == "Zs" and char != " " for char in escape(data))


@pytest.mark.parametrize("attack", ATTACKS, ids=ascii)
def test_an_attack_shows_and_does_not_act(attack: str) -> None:
    for text in (visible(attack), visible(attack, spaces=True), escape(attack)):
        assert_inert(text)
    in_bytes = attack.encode("utf-8", "surrogatepass")
    assert_inert(visible_bytes(in_bytes))
    assert_inert(escape(in_bytes))


@pytest.mark.slow
@pytest.mark.no_cover
def test_every_code_point_is_inert_in_both_forms() -> None:
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        for text in (visible(char), escape(char)):
            assert not FORBIDDEN & {unicodedata2.category(shown) for shown in text}, hex(code)


def test_bidi_and_zero_width_characters_are_named() -> None:
    for code in (0x061C, 0x200B, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF):
        assert visible(chr(code)) == f"⟨U+{code:04X}⟩"
        assert escape(chr(code)) == f"\\u{code:04x}"


@given(ANY_TEXT, st.booleans())
def test_visible_twice_is_visible_once(text: str, spaces: bool) -> None:
    once = visible(text, spaces=spaces)
    assert visible(once, spaces=spaces) == once


@given(st.text("aé你🙂 [red]⏎·◌⟨"))
def test_printable_text_is_not_changed(text: str) -> None:
    assert visible(text) == text


def test_the_controls_of_text_have_symbols() -> None:
    assert visible("a\nb\tc\rd\x1be\x7f\x00") == "a⏎b→c␍d␛e␡␀"


def test_spaces_are_dots_where_asked_and_other_spaces_are_named() -> None:
    assert visible("a b\u00a0c\u3000") == "a b\u00a0c\u3000"
    assert visible("a b\u00a0c\u3000", spaces=True) == "a·b⟨U+00A0⟩c⟨U+3000⟩"


def test_a_combining_character_without_a_base_gets_a_dotted_circle() -> None:
    assert visible("\u0301") == "◌\u0301"
    assert visible("a\u0301") == "a\u0301"
    assert visible("\n\u0301") == "⏎◌\u0301"
    assert visible(" \u0301", spaces=True) == "·◌\u0301"
    assert visible("\u093f") == "◌\u093f"  # a spacing mark, as when a pattern splits "हि"
    assert visible_bytes(b"\xff\xcc\x81") == "⟨ff⟩◌\u0301"


def test_a_tower_of_marks_is_broken_into_storeys() -> None:
    tower = visible("a" + "\u0301" * 1000)
    assert max(map(len, tower.split("◌"))) <= 9
    assert tower.count("\u0301") == 1000


def test_what_is_no_whole_character_is_shown_as_its_bytes() -> None:
    assert visible_bytes("🙂".encode()[:2]) == "⟨f0 9f⟩"
    assert visible_bytes(b"a\xff\xfeb\x80") == "a⟨ff fe⟩b⟨80⟩"
    assert visible_bytes(b"\xed\xa0\x80") == "⟨ed a0 80⟩"  # a surrogate is no character
    assert visible_bytes(b"\xc0\x80") == "⟨c0 80⟩"  # nor is an overlong form


@given(st.text())
def test_visible_bytes_of_utf8_is_visible_of_the_text(text: str) -> None:
    assert visible_bytes(text.encode()) == visible(text)


@given(st.binary())
@example(b"\\x41 \xf0\x9f\x99")
def test_unescape_gives_back_the_bytes(data: bytes) -> None:
    assert unescape(escape(data)) == data


@given(ANY_TEXT)
@example("\ud83d\ude00 \udc80")
def test_unescape_gives_back_the_text(text: str) -> None:
    assert unescape(escape(text)).decode("utf-8", "surrogatepass") == text


@given(st.text())
def test_text_and_its_utf8_are_escaped_alike(text: str) -> None:
    assert escape(text) == escape(text.encode())


@given(ANY_TEXT | st.binary())
def test_escaped_data_is_one_line_in_every_sense(data: str | bytes) -> None:
    assert len(escape(data).splitlines()) <= 1
    assert "\t" not in escape(data)


def test_escapes_are_the_documented_ones() -> None:
    assert escape("a b\n\r\t\\\x00\x1b\x7f") == r"a b\n\r\t\\\x00\x1b\x7f"
    assert escape("é\u0085\u00a0\u202e\U000e0001🙂") == r"é\u0085\u00a0\u202e\U000e0001🙂"
    assert escape(b"\xc3\xa9\x85\xf0\x9f") == r"é\x85\xf0\x9f"


@pytest.mark.parametrize("bad", ["\\", "\\q", "\\x4", "\\xg0", "\\u12", "\\U00110000", "\\N", "\\X41", "\\\n"])
def test_an_unknown_escape_is_an_error_that_names_its_place(bad: str) -> None:
    with pytest.raises(InputError, match=r"^not an escape at character 5: "):
        unescape("ab\\\\c" + bad)


def test_an_error_about_an_escape_is_inert_itself() -> None:
    with pytest.raises(InputError) as caught:
        unescape("\\\x1b[31m\u202e")
    assert_inert(str(caught.value))


def test_long_lines_take_time_in_proportion() -> None:
    line = "x\x1b[31m\u202e\u0301" * 100_000
    assert len(visible(line)) > len(line)
    assert len(escape(line)) > len(line)


def test_the_caches_are_bounded() -> None:
    for code in range(0x4E00, 0x4E00 + 10_000):
        visible(chr(code))
        escape(chr(code))
        glyphs.cells_of(chr(code))
    held = {**vars(module), **vars(glyphs)}
    caches = [each for each in held.values() if hasattr(each, "cache_info")]
    assert len(caches) == 6
    assert all(cache.cache_info().currsize <= 4096 for cache in caches)


def test_the_sanitizer_does_not_load_rich() -> None:
    program = "import sys, tokcli.render.visible; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
