"""The pages in a real browser: they render, answer to mouse and keyboard, say nothing in the console, ask for nothing.

Left out where there is no Chromium. `pytest -s` prints how long each page took until it was shown.
"""

from __future__ import annotations

import base64
import json
import sys
from itertools import pairwise
from pathlib import Path
from unicodedata import category

import chromium
import pytest
from html_pages import ABOUT, ACTIVE, CURRENT, HEADING, STATUS, Q, page
from support import HARD_ATOMS, MARKUP, ROOT, first_in_gate

from tokcli import get_encoding
from tokcli.analysis.vocabulary import not_self
from tokcli.render.visible import visible, visible_bytes

pytestmark = pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium here")


def vocabulary(folder: Path) -> Path:
    return page(folder, "inspect-ranks", "-e", "o200k_base")


def rows(tab: chromium.Tab) -> list[str]:
    """The rows of a grid that are there, each with a blank between its cells."""
    found: list[str] = tab.value(
        "[...document.querySelectorAll('.space .row')].map(r => [...r.children].map(c => c.textContent).join(' '))"
    )
    return found


# --- a vocabulary ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_vocabulary_of_200000_tokens_is_there_at_once_and_only_the_rows_in_sight(
    tab: chromium.Tab, folder: Path
) -> None:
    tab.open(vocabulary(folder))
    assert tab.value("document.getElementById('summary').textContent") == "200,000 tokens, 2 of them special"
    assert rows(tab)[:2] == ["0 ! 21 1 byte", '1 " 22 1 byte']
    assert len(rows(tab)) < 100
    tab.value(f"{Q}('#list').scrollTop = 1e9")
    tab.wait(f"{Q}('.space .row:last-child').textContent.startsWith('200018')")
    assert rows(tab)[-1].startswith("200018 <|endofprompt|>")


def test_a_click_opens_a_token_and_its_merges_lead_to_others_and_back(tab: chromium.Tab, folder: Path) -> None:
    tab.open(vocabulary(folder))
    tab.type("#query", "hello")
    tab.wait(f"{STATUS}.includes(' of 200,000')")
    row = tab.value("[...document.querySelectorAll('.space .row')].find(r => r.textContent.startsWith('24912')).id")
    tab.click(f"#{row} .text")
    tab.wait(f"{HEADING} === 'Token 24912'")
    assert "68 65 6c 6c 6f" in tab.value(ABOUT)
    assert "5 bytes, 5 characters" in tab.value(ABOUT)
    tree = tab.value(f"[...{Q}('.tree').querySelectorAll('a')].map(a => a.hash)")
    encoding = get_encoding("o200k_base")
    assert tree[0] == "#token-24912"
    left, right = encoding.tokenizer.parents(encoding.encode_single_token("hello")) or (0, 0)
    assert {f"#token-{left}", f"#token-{right}", f"#token-{encoding.encode_single_token('h')}"} < set(tree)
    tab.click(f".tree a[href='#token-{left}']")
    tab.wait(f"{HEADING} === 'Token {left}'")
    parts = tab.value(f"[...{Q}('.parts').querySelectorAll('a')].map(a => a.hash)")
    assert "#token-24912" in parts
    tab.value("history.back()")
    tab.wait(f"{HEADING} === 'Token 24912'")


@pytest.mark.parametrize(
    ("kind", "query", "needle", "first"),
    first_in_gate(
        [
            ("is", " world", b" world", " ·world 20 77 6f 72 6c 64 6 merged"),
            ("hex", "F09F 98", b"\xf0\x9f\x98", " ⟨f0 9f 98⟩ f0 9f 98 3 merged"),
            ("is", "\\n\\n\\x0a", b"\n\n\n", " ⏎⏎⏎ 0a 0a 0a 3 merged"),
            ("begins", "<|end", b"<|endoftext|>", " <|endoftext|> 3c 7c 65 6e 64"),
            ("id", "199999", b"<|endoftext|>", " <|endoftext|> 3c 7c 65 6e 64"),
        ],
        2,
    ),
)
def test_a_search_finds_tokens_by_text_id_and_bytes(
    tab: chromium.Tab, folder: Path, kind: str, query: str, needle: bytes, first: str
) -> None:
    tab.open(vocabulary(folder))
    tab.value(f"{Q}('#kind').value = '{kind}'")
    tab.type("#query", query)
    assert rows(tab)[0].startswith(f"{get_encoding('o200k_base').encode_single_token(needle)}{first}")


@pytest.mark.parametrize(("kind", "query"), [("contains", "no token has this"), ("hex", "xyz"), ("id", "200000")])
def test_a_search_may_find_nothing_and_says_so(tab: chromium.Tab, folder: Path, kind: str, query: str) -> None:
    tab.open(vocabulary(folder))
    tab.value(f"{Q}('#kind').value = '{kind}'")
    tab.type("#query", query)
    assert rows(tab) == []
    assert tab.value(STATUS) in ("0 of 200,000 tokens", "Not hexadecimal, or not a number.")


def test_searches_agree_with_the_vocabulary(tab: chromium.Tab, folder: Path) -> None:
    tab.open(vocabulary(folder))
    tokens = get_encoding("o200k_base").tokenizer.token_bytes().values()
    tab.type("#query", "ing")
    assert tab.value(STATUS) == f"{sum(b'ing' in token.lower() for token in tokens):,} of 200,000 tokens"
    tab.click("#case")
    assert tab.value(STATUS) == f"{sum(b'ing' in token for token in tokens):,} of 200,000 tokens"
    tab.type("#query", "")
    tab.value(f"{Q}('#query').value = ''; {Q}('#query').dispatchEvent(new Event('input'))")
    tab.value(f"{Q}('#filter').value = 'broken'; {Q}('#filter').dispatchEvent(new Event('input'))")
    broken = 0
    for token in tokens:
        try:
            token.decode()
        except UnicodeDecodeError:
            broken += 1
    assert tab.value(STATUS) == f"{broken:,} of 200,000 tokens"


def test_a_vocabulary_can_be_walked_without_a_mouse(tab: chromium.Tab, folder: Path) -> None:
    tab.open(vocabulary(folder))
    tab.value(f"{Q}('#query').focus()")
    tab.press("ArrowDown", "ArrowDown", "ArrowDown")
    assert tab.value(ACTIVE) == "list"
    assert tab.value(f"{Q}('#list').getAttribute('aria-activedescendant')") == "row-2"
    tab.press("End")
    assert tab.value(f"{CURRENT}.firstChild.textContent") == "200018"
    tab.press("Home", "PageDown", "Enter")
    tab.wait(f"{HEADING}.startsWith('Token ')")
    assert tab.value(ACTIVE) == "heading"
    tab.press("Tab", "Escape")
    assert tab.value(ACTIVE) == "list"


def test_tokens_that_their_own_text_does_not_give_are_found_and_say_what_it_gives(
    tab: chromium.Tab, folder: Path
) -> None:
    tab.open(vocabulary(folder), "#token-3413")
    assert "encodes as" in tab.value(ABOUT)
    links = "[...document.querySelectorAll('#about dd a')].map(a => a.hash)"
    assert tab.value(links) == ["#token-357", "#token-6"]
    tab.value(f"{Q}('#filter').value = 'reencoded'; {Q}('#filter').dispatchEvent(new Event('input'))")
    tab.wait(f"{STATUS}.startsWith('12 of')")
    encoding = get_encoding("o200k_base")
    assert [int(row.split()[0]) for row in rows(tab)] == [
        n for n, _ in not_self(encoding, sorted(encoding.tokenizer.token_bytes()))
    ]
    tab.value("location.hash = '#token-24912'")
    tab.wait(f"{ABOUT}.includes('24912')")
    assert "encodes as" not in tab.value(ABOUT)


def test_a_vocabulary_without_merges_shows_scores(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, "inspect-ranks", "-e", ROOT / "tests/data/formats/unigram.model"), "#token-20")
    assert "score" in tab.value(ABOUT)
    assert "Merged into 0 tokens" in tab.value(ABOUT)


# --- a text ----------------------------------------------------------------------------------------------------------

SAMPLE = "I'll pay $12345\n\U0001f468\u200d\U0001f469 \u4f60\u597d\n\u0627\u0644\u0633\u0644\u0627\u0645 12 x\n"


def test_a_text_stands_there_in_colours_that_change_with_each_token(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, "encode", "-t", SAMPLE))
    encoding = get_encoding("o200k_base")
    expected = [visible_bytes(token, spaces=True) for token in encoding.decode_tokens_bytes(encoding.encode(SAMPLE))]
    tokens = "[...document.querySelectorAll('.token')]"
    assert [text.removesuffix("\n") for text in tab.value(f"{tokens}.map(t => t.textContent)")] == expected
    assert any("⟨" in text for text in expected)
    colours = tab.value(f"{tokens}.map(t => getComputedStyle(t).backgroundColor)")
    assert all(left != right for left, right in pairwise(colours))
    assert len(set(colours)) == 7  # the seventh is that of the chosen one


def test_pointing_and_clicking_show_a_token_and_arrow_keys_the_next(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, "encode", "-t", SAMPLE))
    tab.click("#item-1")
    assert tab.value(HEADING) == "Token 2777"
    about = tab.value(ABOUT)
    for fact in ("20 70 61 79", "4–8", "4 bytes, 4 characters", "Merges"):
        assert fact in about
    tab.press("ArrowRight")
    assert tab.value(HEADING) == "Token 548"
    tab.press("End")
    assert tab.value(f"{CURRENT}.textContent") == "⏎\n"
    tab.press("Home", "Enter")
    assert tab.value(ACTIVE) == "heading"
    tab.press("Escape", "ArrowDown")
    assert tab.value(f"{CURRENT}.textContent").startswith("⟨")


def test_a_text_is_searched_copied_and_shown_otherwise(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, "encode", "-t", SAMPLE))
    tab.type("#query", "\u597d")
    tab.press("Enter")
    assert "\u597d" in tab.value(f"{CURRENT}.textContent")
    tab.value(f"{Q}('#kind').value = 'id'")
    tab.type("#query", "2777")
    tab.click("#next")
    assert tab.value(STATUS) == "Hit 1 of 1"
    tab.click("#spaces")
    assert tab.value(f"{CURRENT}.textContent") == " pay"
    tab.click("#ids")
    assert tab.value(f"getComputedStyle({CURRENT}, '::after').content") == '"2777"'
    tab.click("#copy")
    tab.wait(f"{STATUS} === 'Copied 19 ids.'")


@pytest.mark.slow
def test_a_text_of_a_megabyte_has_elements_only_near_the_sight(tab: chromium.Tab, folder: Path) -> None:
    (folder / "long").write_text("".join(f"line {n}: def f(x): return x * {n}\n" for n in range(30_000)))
    tab.open(page(folder, "encode", folder / "long"))
    tab.wait(f"{Q}('#item-0') !== null")
    assert tab.value("document.querySelectorAll('.token').length") < 10_000
    tab.value(f"{Q}('#text').focus()")
    tab.press("End")
    assert tab.value(f"{CURRENT}.getBoundingClientRect().bottom <= innerHeight")
    assert tab.value("document.querySelectorAll('.token').length") < 20_000
    tab.type("#query", "line 15000:")
    tab.press("Enter")
    assert tab.value(f"{CURRENT}.textContent") == "line"


# --- pieces ----------------------------------------------------------------------------------------------------------


def test_pieces_stand_in_a_table_and_an_alternative_filters_it(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, "split", "-e", "cl100k_base", "-t", "I'll pay $12345\n"))
    tab.click("#as-table")
    assert rows(tab)[:4] == ["0 a2 I 40  1 1", "1 a1 'll 3358  3 3", "2 a2 ·pay 2343  4 4", "3 a4 ·$ 400  2 2"]
    buttons = tab.value(f"[...{Q}('#pattern').querySelectorAll('button')].map(b => b.textContent)")
    assert buttons == [f"a{number}" for number in range(1, 9)]
    tab.click("#pattern li:nth-child(3) button")
    assert [row.split()[2] for row in rows(tab)] == ["123", "45"]
    assert tab.value("document.getElementById('shown').textContent") == "2 of 7 pieces"
    tab.click("#list .space .row")
    assert tab.value(HEADING) == "Piece 4"
    assert "\\p{N}{1,3}" in tab.value(f"{Q}('#pattern [aria-current]').innerText")
    tab.click("#all")
    tab.type("#query", "pay")
    assert len(rows(tab)) == 1
    tab.value(f"{Q}('#list').focus()")
    tab.press("ArrowDown", "Enter")
    assert tab.value(HEADING) == "Piece 2"
    assert tab.value(ACTIVE) == "heading"


def test_a_tokenizer_without_one_pattern_names_the_parts_that_cut_its_text(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, "split", "-q", "-e", ROOT / "tests/data/formats/bpe.model", "-t", "hello world"))
    assert "bpe: no pre-tokenizer" in tab.value("document.getElementById('pattern').innerText")
    tab.click("#as-table")
    assert {row.split()[1] for row in rows(tab)} == {"-"}


# --- all pages -------------------------------------------------------------------------------------------------------

EACH = [("encode", "-t", SAMPLE), ("split", "-t", SAMPLE), ("inspect-ranks", "-e", "o200k_base")]


@pytest.mark.parametrize("text", first_in_gate(MARKUP, 3))
def test_nothing_in_a_text_acts_and_all_of_it_is_shown(tab: chromium.Tab, folder: Path, text: str) -> None:
    tab.open(page(folder, "encode", "-t", text))
    elements = tab.value("document.querySelectorAll('script, img, b, i').length")
    shown = tab.value("[...document.querySelectorAll('.token')].map(t => t.textContent).join('')")
    encoding = get_encoding("o200k_base")
    tokens = encoding.decode_tokens_bytes(encoding.encode(text))
    assert shown == "".join(visible_bytes(token, spaces=True) for token in tokens)
    assert elements == 2  # the page's own: its program, and the head of its data
    tab.open(page(folder, "split", "-t", text))
    assert tab.value("[...document.querySelectorAll('.token')].map(t => t.textContent).join('')") == "".join(
        visible(piece, spaces=True) for piece in encoding.split(text)
    )


@pytest.mark.parametrize("command", ["encode", "split"])
def test_an_empty_text_has_an_empty_page(tab: chromium.Tab, folder: Path, command: str) -> None:
    tab.open(page(folder, command, "-t", ""))
    assert tab.value("document.getElementById('summary').textContent").startswith("0 ")
    tab.value(f"{Q}('[tabindex=\"0\"]').focus()")
    tab.press("ArrowDown", "End", "Enter", "Home")
    tab.type("#query", "x")
    tab.press("Enter")
    assert tab.value("document.querySelectorAll('.token, .space .row').length") == 0


def test_nothing_in_the_name_or_the_tokens_of_a_vocabulary_acts(tab: chromium.Tab, folder: Path) -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [text.encode() for text in MARKUP]
    name = "".join(MARKUP).replace("/", "\u2215")[:60]
    lines = [b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens)]
    (folder / f"{name}.tiktoken").write_bytes(b"".join(lines))
    asked = ("inspect-ranks", "-q", "--pattern", "gpt2", "-e", folder / f"{name}.tiktoken")
    tab.open(page(folder, *asked), f"#token-{len(tokens) - 1}")
    assert visible(name) in tab.value("document.getElementById('name').textContent")
    shown = tab.value("[...document.querySelectorAll('.space .text')].map(t => t.textContent)")
    assert shown[-len(MARKUP) :] == [visible(text, spaces=True) for text in MARKUP]


@pytest.mark.parametrize("command", EACH, ids=lambda c: c[0])
def test_everything_that_can_be_used_has_a_name_and_a_role(
    tab: chromium.Tab, folder: Path, command: tuple[str, ...]
) -> None:
    tab.open(page(folder, *command))
    nodes = [node for node in tab.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes]
    usable = {"button", "link", "searchbox", "combobox", "checkbox", "grid", "listbox", "option", "columnheader"}
    assert [pair for pair in named if pair[0] in usable and not pair[1].strip()] == []
    roles = {role for role, _ in named}
    assert {"main", "heading", "searchbox", "complementary", "status"} <= roles
    assert {"listbox", "option"} <= roles or {"grid", "row", "gridcell", "columnheader"} <= roles
    tab.press("Tab")
    assert tab.value("document.activeElement.className") == "skip"


@pytest.mark.parametrize("command", EACH, ids=lambda c: c[0])
def test_a_page_is_dark_where_that_is_preferred(tab: chromium.Tab, folder: Path, command: tuple[str, ...]) -> None:
    tab.open(page(folder, *command))
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    seen = []
    for preferred in ("light", "dark"):
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": preferred}])
        seen.append(tab.value(colours))
    assert seen == [["rgb(255, 255, 255)", "rgb(26, 28, 31)"], ["rgb(22, 24, 28)", "rgb(240, 242, 245)"]]


def test_what_is_visible_is_the_same_as_in_a_terminal(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, "encode", "-t", SAMPLE))
    # what Python's Unicode does not know yet, the browser's may
    texts = [chr(code) for code in range(sys.maxunicode + 1) if category(chr(code)) not in ("Cn", "Cs", "Co")]
    texts = ["".join(texts[at : at + 400]) for at in range(0, len(texts), 400)] + ["a" + "\u0301" * 20]
    texts += [text for text in HARD_ATOMS if all(category(char) != "Cn" for char in text)]
    for spaces in (True, False):
        shown = tab.value(f"{json.dumps(texts)}.map(text => visible(text, {json.dumps(spaces)}))")
        assert shown == [visible(text, spaces=spaces) for text in texts]


def test_bytes_that_are_no_text_are_the_same_as_in_a_terminal(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, "encode", "-t", SAMPLE))
    tokens = sorted(get_encoding("o200k_base")._mergeable_ranks, key=hash)[:20_000]
    tokens += [
        b"\xed\xa0\x80",
        b"\xc0\x80a",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82a\xf0\x9f\x99",
        b"\xff\xfe",
        b"\xe0\x80\x80",
    ]
    known = [token for token in tokens if all(category(char) != "Cn" for char in token.decode("utf-8", "ignore"))]
    hexes = json.dumps([token.hex() for token in known])
    shown = tab.value(f"{hexes}.map(digits => visibleBytes(fromHex(digits), true))")
    assert shown == [visible_bytes(token, spaces=True) for token in known]


def test_even_a_script_that_got_into_a_page_would_not_run(browser: chromium.Browser, folder: Path) -> None:
    """The policy of the page is in force: what is in it beside its own program neither runs nor loads."""
    original = page(folder, "encode", "-t", SAMPLE)
    foreign = (
        '<script>window.ran = 1</script><img src="https://example.com/x" onerror="window.ran = 1">'
        '<link rel="stylesheet" href="https://example.com/y"><svg onload="window.ran = 1"></svg>'
    )
    changed = folder / "changed.html"
    changed.write_text(original.read_text("ascii").replace("<noscript>", foreign + "<noscript>"))
    tab = chromium.Tab(browser)
    tab.open(changed)
    assert tab.value("window.ran ?? 0") == 0
    assert "Content Security Policy" in json.dumps(tab.complaints())
    assert len(tab.requests()) == 3
    assert [event["blockedReason"] for event in tab.told("Network.loadingFailed")] == ["csp", "csp"]
    assert tab.value("(() => { try { document.body.innerHTML = 'x'; } catch { return 'refused'; } })()") == "refused"
