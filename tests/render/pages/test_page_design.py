"""What a reader of the pages sees and does first: one test for each promise, in a real browser."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import chromium
import pytest
from html_pages import ABOUT, CURRENT, HEADING, STATUS, Q, page
from support import ROOT

from tokcli import get_encoding

pytestmark = pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium here")

TEXT = "Hello hello HELLO, pay $12345 for \u00c4pfel and \u00e4pfel\n"
ENCODE, SPLIT = ("encode", "-t", TEXT), ("split", "-t", TEXT)
COMPARED = ("encode", "--compare", "o200k_base,gpt2", "-t", "Hello \u4f60\u597d world")
VOCABULARY = ("inspect-ranks", "-q", "-e", ROOT / "tests/data/formats/bpe.model")
each_page = pytest.mark.parametrize(
    "command", [ENCODE, COMPARED, SPLIT, VOCABULARY], ids=["encode", "compare", "split", "inspect-ranks"]
)
each_text = pytest.mark.parametrize("command", [ENCODE, SPLIT], ids=lambda command: command[0])
FRAMES = "done => (function next(left) { left ? requestAnimationFrame(() => next(left - 1)) : done(); })(40)"
LINKED = f"{Q}('#about .tree ul a')"


def resize(tab: chromium.Tab, width: int, height: int = 800) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)


def style(tab: chromium.Tab, selector: str, *names: str) -> list[str]:
    found: list[str] = tab.value(
        f"(style => {json.dumps(names)}.map(name => style[name]))(getComputedStyle({Q}({json.dumps(selector)})))"
    )
    return found


@each_page
def test_the_first_one_is_chosen_without_a_click_and_arrow_keys_move_on(
    tab: chromium.Tab, folder: Path, command: tuple[str, ...]
) -> None:
    tab.open(page(folder, *command))
    first = tab.value(HEADING)
    assert first.split()[0] in ("Token", "Piece")
    assert "bytes" in tab.value(ABOUT)
    assert tab.value(f"{CURRENT} !== null")
    tab.value(f"{Q}('[tabindex=\"0\"]').focus()")
    key = "ArrowDown" if command is VOCABULARY else "ArrowRight"
    tab.press(key)
    assert tab.value(HEADING) != first
    tab.press({"ArrowDown": "ArrowUp", "ArrowRight": "ArrowLeft"}[key])
    assert tab.value(HEADING) == first


@each_page
def test_a_narrow_screen_stacks_all_and_nothing_is_wider_than_it(
    tab: chromium.Tab, folder: Path, command: tuple[str, ...]
) -> None:
    tab.open(page(folder, *command))
    for width in (320, 360, 400):
        resize(tab, width)
        assert tab.value("document.documentElement.scrollWidth") <= width
        wide = "[...document.querySelectorAll('body *')].filter(e => !e.closest('.unseen, .skip, .grid, .tree'))"
        assert tab.value(f"{wide}.filter(e => e.getBoundingClientRect().right > innerWidth + 1).length") == 0
        panels = tab.value(
            "[...document.querySelectorAll('main > .panel:not([hidden]), .sides .panel')].map(e => e.getBoundingClientRect().toJSON())"
        )
        assert [panel["left"] for panel in panels] == [panels[0]["left"]] * len(panels)
        assert panels[0]["bottom"] <= panels[1]["top"]
    resize(tab, 1280)
    assert tab.value(f"{Q}('aside').getBoundingClientRect().left > innerWidth / 2")


def test_a_table_scrolls_in_itself_where_it_has_no_room_and_takes_all_of_it_where_it_has(
    tab: chromium.Tab, folder: Path
) -> None:
    tab.open(page(folder, *VOCABULARY))
    resize(tab, 320)
    assert tab.value(f"{Q}('#list').scrollWidth > {Q}('#list').clientWidth")
    widths = []
    for width in (1280, 1920):
        resize(tab, width)
        assert tab.value(f"{Q}('#list').scrollWidth === {Q}('#list').clientWidth")
        row, text, code = (tab.value(f"{Q}('.space .row {cell}').clientWidth") for cell in ("", ".text", ".code"))
        assert row == tab.value(f"{Q}('#list').clientWidth")
        widths.append(text + code)
    assert widths[1] > 1.5 * widths[0] > 0


def test_a_toggle_that_is_on_is_not_taken_for_the_focus(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, *ENCODE))
    looks = ("backgroundColor", "borderTopColor", "outlineStyle")
    off, on = style(tab, "#ids", *looks), style(tab, "#spaces", *looks)
    assert on[2] == off[2] == "none"
    assert on[0] != off[0]
    assert tab.value(f"getComputedStyle({Q}('#spaces'), '::before').content") == '"\u2713"'
    tab.value(f"{Q}('#copy').focus()")
    tab.press("Tab")
    tab.value(f"{Q}('#ids').focus({{focusVisible: true}})")
    focused = style(tab, "#ids", *looks)
    assert focused[2] == "solid"
    assert focused[:2] == off[:2]


@pytest.mark.parametrize("command", ["encode", "split"])
def test_the_title_and_the_heading_name_the_file_and_nothing_in_its_name_acts(
    tab: chromium.Tab, folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a <b>& \u202ec.txt").write_text("hello")
    monkeypatch.chdir(folder)
    tab.open(page(folder, command, "a <b>& \u202ec.txt"))
    heading = "a <b>& \u27e8U+202E\u27e9c.txt"
    assert tab.value("document.querySelector('h1').textContent") == heading
    assert tab.value("document.title").startswith(f"{heading}: ")
    assert tab.value("document.title").endswith(" of o200k_base - tokcli")


@each_text
def test_find_ignores_case_says_how_many_hits_there_are_and_enter_goes_to_the_next(
    tab: chromium.Tab, folder: Path, command: tuple[str, ...]
) -> None:
    tab.open(page(folder, *command))
    tab.type("#query", "hello")
    assert tab.value(STATUS).startswith("3 hits")
    seen = []
    for _ in range(4):
        tab.press("Enter")
        seen.append((tab.value(STATUS), tab.value(f"{CURRENT}.textContent").strip("\u00b7")))
    assert [status for status, _ in seen] == ["Hit 1 of 3", "Hit 2 of 3", "Hit 3 of 3", "Hit 1 of 3"]
    assert [text for _, text in seen[:2]] == ["Hello", "hello"]
    tab.click("#previous")
    assert tab.value(STATUS) == "Hit 3 of 3"
    tab.click("#case")
    assert tab.value(STATUS).startswith("1 hit;")
    tab.click("#case")
    tab.type("#query", "\u00c4PFEL")
    assert tab.value(STATUS).startswith("2 hits")
    tab.type("#query", "hello hello")  # over several tokens
    assert tab.value(STATUS).startswith("1 hit;")
    assert tab.value("document.querySelectorAll('.hit').length") >= 2
    tab.type("#query", "goodbye")
    assert tab.value(STATUS) == "No hits"


@pytest.mark.parametrize(
    ("text", "query", "hits"),
    [
        ("aXaXa", "axa", [[0, 3]]),
        ("\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u03c3\u03bf\u03c6\u03cc\u03c2", "\u03c3", [[0, 2], [4, 6], [12, 14], [15, 17], [23, 25]]),
        ("\U00010400\U00010428", "\U00010428", [[0, 4], [4, 8]]),
        ("a.b a+b", ".", [[1, 2]]),
        ("\u212a k", "K", [[0, 3], [4, 5]]),
        ("\u20ac\U0001f600x\u20acX", "x", [[7, 8], [11, 12]]),
    ],
)  # fmt: skip
def test_hits_are_counted_in_bytes_whatever_their_case(
    tab: chromium.Tab, folder: Path, text: str, query: str, hits: list[list[int]]
) -> None:
    tab.open(page(folder, *ENCODE))
    found = (
        "((text, query, broken) => { const found = []; const bytes = new TextEncoder().encode(text);"
        " const hay = new Uint8Array([...bytes, ...(broken ? [0xff, 0xe2, 0x82] : [])]);"
        " new Haystack(hay).each(new TextEncoder().encode(query), true, (...hit) => { found.push(hit); });"
        " return found; })"
    )
    for broken in ("false", "true"):
        assert tab.value(f"{found}({json.dumps(text)}, {json.dumps(query)}, {broken})") == hits


def test_the_text_of_a_page_of_pieces_has_the_colours_of_its_legend_which_filters_and_explains(
    tab: chromium.Tab, folder: Path
) -> None:
    tab.open(page(folder, *SPLIT))
    look = "getComputedStyle({}).backgroundColor"
    for number, text in ((3, "123"), (4, "\u00b7$")):
        piece = f"[...document.querySelectorAll('.token')].find(t => t.textContent === {json.dumps(text)})"
        shown = tab.value(look.format(piece))
        assert shown == tab.value(look.format(f"{Q}('#alternative-{number} .alternative')"))
    assert "1 to 3 digits" in tab.value(f"{Q}('#alternative-3').innerText")
    assert "2 pieces, 5 bytes" in tab.value(f"{Q}('#alternative-3').innerText")
    assert "\\p{N}{1,3}" in tab.value(f"{Q}('#alternative-3').innerText")
    tab.click("#alternative-3 button")
    assert tab.value("document.getElementById('shown').textContent").startswith("2 of ")
    faded = tab.value("document.querySelectorAll('.token.faded').length")
    assert faded == tab.value("document.querySelectorAll('.token').length") - 2
    tab.click("#all")
    assert tab.value("document.querySelectorAll('.token.faded').length") == 0


def test_alternatives_differ_in_more_than_their_colour(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, *SPLIT))
    looks = [
        str(style(tab, f"#alternative-{number} .alternative", "backgroundImage", "backgroundSize", "borderTopStyle"))
        for number in range(1, 8)
    ]
    kinds = [look.replace(part, "") for look in looks for part in [look[look.find("rgb") : look.find(")") + 1]]]
    assert len(set(kinds)) == 7


@each_text
def test_an_id_leads_to_its_merges_and_the_back_button_back(
    tab: chromium.Tab, folder: Path, command: tuple[str, ...]
) -> None:
    tab.open(page(folder, *command))
    first = tab.value(HEADING)
    tab.click(".token:nth-of-type(1)")
    tab.press("ArrowRight")  # " hello", which was merged of others
    chosen = tab.value(HEADING)
    linked = tab.value(f"{LINKED}.hash")
    tab.click("#about .tree ul a")
    tab.wait(f"{HEADING} === 'Token {linked.removeprefix('#token-')}'")
    assert tab.value("location.hash") == linked
    tab.value("history.back()")
    tab.wait(f"{HEADING} === {json.dumps(chosen)}")
    tab.value("history.forward()")
    tab.wait(f"location.hash === {json.dumps(linked)}")
    tab.value(f"{Q}('#text').focus()")
    tab.press("Home")
    assert tab.value(HEADING) == first
    assert tab.value("location.hash") == ""


def test_a_link_of_a_vocabulary_chooses_the_row_of_its_token_which_can_be_shown_if_a_search_hides_it(
    tab: chromium.Tab, folder: Path
) -> None:
    tab.open(page(folder, *VOCABULARY), "#token-300")
    assert tab.value(f"{CURRENT}.firstChild.textContent") == "300"
    tab.click("#about .tree ul a")
    tab.wait(f"{HEADING} !== 'Token 300'")
    assert tab.value(f"'Token ' + {CURRENT}.firstChild.textContent") == tab.value(HEADING)
    tab.value(f"{Q}('#kind').value = 'id'")
    tab.type("#query", "301")
    assert tab.value(f"{Q}('#elsewhere').hidden") is False
    tab.click("#reset")
    assert tab.value(f"'Token ' + {CURRENT}.firstChild.textContent") == tab.value(HEADING)


@each_text
def test_a_page_is_printed_whole_without_its_tools(tab: chromium.Tab, folder: Path, command: tuple[str, ...]) -> None:
    tab.open(page(folder, *command))
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert style(tab, ".tools", "display") == ["none"]
    assert style(tab, "#text", "overflowY", "display") == ["visible", "block"]
    assert style(tab, ".token", "printColorAdjust") == ["exact"]


@each_page
def test_nothing_moves_where_less_motion_is_preferred(
    tab: chromium.Tab, folder: Path, command: tuple[str, ...]
) -> None:
    tab.open(page(folder, *command))
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    moving = "[...document.querySelectorAll('*')].filter(e => parseFloat(getComputedStyle(e).transitionDuration) > 0)"
    assert tab.value(f"{moving}.length") == 0


def test_a_long_piece_is_shown_by_its_beginning(tab: chromium.Tab, folder: Path) -> None:
    (folder / "long").write_text("\u00e4" * 50_000)
    tab.open(page(folder, "split", folder / "long"))
    assert tab.value(f"{CURRENT}.textContent") == "\u00e4" * 2000 + "\u27e8and 96,000 bytes\u27e9"
    assert "100,000 bytes, 50,000 characters" in tab.value(ABOUT)


def test_encodings_are_compared_side_by_side_and_tokens_of_the_same_bytes_are_framed(
    tab: chromium.Tab, folder: Path
) -> None:
    tab.open(page(folder, *COMPARED))
    assert tab.value("[...document.querySelectorAll('.sides h2')].map(e => e.textContent)") == ["o200k_base", "gpt2"]
    facts = tab.value("[...document.querySelectorAll('.sides .facts')].map(e => e.textContent)")
    counts = [len(get_encoding(name).encode(COMPARED[-1])) for name in ("o200k_base", "gpt2")]
    assert [int(fact.split()[0]) for fact in facts] == counts
    assert facts[1].endswith(f"(+{100 * (counts[1] - counts[0]) / counts[0]:.1f}%)")
    assert tab.value(HEADING) == f"Token {get_encoding('o200k_base').encode('Hello')[0]} of o200k_base"
    framed = "[...document.querySelectorAll('.hit')].map(e => e.id + e.textContent)"
    assert tab.value(framed) == ["1-item-0Hello"]
    tab.click("#\\30 -item-2")  # the Chinese word: a token of one encoding, bytes of the other
    tokens = get_encoding("gpt2").decode_tokens_bytes(get_encoding("gpt2").encode("\u4f60\u597d"))
    assert len(tab.value(framed)) == len(tokens) > 1
    tab.click("#\\31 -item-0")
    assert tab.value(HEADING).endswith(" of gpt2")
    assert tab.value(framed) == ["0-item-0Hello"]
    assert tab.value("document.querySelectorAll('[aria-selected=true]').length") == 1
    tab.type("#query", "WORLD")
    tab.press("Enter")
    assert tab.value(f"{CURRENT}.id + {CURRENT}.textContent").endswith("\u00b7world")
    assert tab.value(STATUS) == "Hit 1 of 1"


def test_a_tokenizer_that_changes_the_text_is_compared_by_the_bytes_that_it_read(
    tab: chromium.Tab, folder: Path
) -> None:
    tab.open(page(folder, "encode", "--compare", f"gpt2,{VOCABULARY[-1]}", "-t", "Hello"))
    assert tab.value("document.querySelector('.hit').textContent") == "\u00b7Hello"  # the space is its own


def test_the_next_hit_is_in_sight_however_far_it_is(tab: chromium.Tab, folder: Path) -> None:
    lines = (ROOT / "tokcli" / "render" / "visible.py").read_text()
    for name, more in (("one", lines), ("two", lines), ("three", "")):
        (folder / name).write_text(f"the needle of {name}\n{more}")
    tab.open(page(folder, "encode", folder / "one", folder / "two", folder / "three"))
    resize(tab, 1000, 600)
    tab.click("#ids")
    tab.type("#query", "needle")
    for number in (1, 2, 3, 1):
        tab.press("Enter")
        assert tab.value(STATUS) == f"Hit {number} of 3"
        tab.value(f"new Promise({FRAMES})")
        current, panel = (
            tab.value(f"{element}.getBoundingClientRect().toJSON()") for element in (CURRENT, f"{Q}('#text')")
        )
        assert panel["top"] < current["top"] < current["bottom"] <= panel["bottom"]


@pytest.mark.parametrize("name", ["wordpiece.tokenizer.json", "bpe.model"])
def test_pieces_of_a_tokenizer_without_a_single_pattern_are_told_apart(
    tab: chromium.Tab, folder: Path, name: str
) -> None:
    text = "hello world, 123 <x> \u20ac\u00a3"  # several of these are unknown, and have one token
    tab.open(page(folder, "split", "-q", "-e", ROOT / "tests/data/formats" / name, "-t", text))
    assert tab.value("[...document.querySelectorAll('.token')].map(e => e.textContent).join('')") == text.replace(
        " ", "\u00b7"
    )
    colours = tab.value("[...document.querySelectorAll('.token')].map(e => getComputedStyle(e).backgroundColor)")
    assert all(left != right for left, right in pairwise(colours))
    assert tab.value("document.getElementById('legend-heading').textContent") == "What cuts the text"
    assert "alternative" not in tab.value(ABOUT)
