"""The page of `count --html`: a tree of folders that opens, closes and is searched, and says what is in each."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import chromium
import pytest
from html_pages import ABOUT, ACTIVE, CURRENT, HEADING, STATUS, Q
from support import MARKUP, noted, ok, refused

in_browser = pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium here")
ROWS = "[...document.querySelectorAll('.space .row')].map(r => r.textContent)"
FILES = {"src/a.py": 40, "src/deep/b.py": 300, "src/deep/er/c.py": 20, "docs/d.md": 100, "e.txt": 5, "<b>&.txt": 1}


def of(name: str, tokens: int, share: str) -> str:
    return f"{name}{tokens}{share}"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree") / "project"
    for name, tokens in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(" a" * tokens, "ascii")
    return folder


@pytest.fixture(scope="module")
def page(tree: Path) -> Path:
    path = tree.parent / "tree.html"
    assert ok("count", "--tree", "--html", path, ".", cwd=tree) == b""
    return path


def test_html_implies_the_tree_and_the_page_is_no_text_of_its_folder(tree: Path, page: Path) -> None:
    for number in range(2):
        ok("count", "--html", "own.html", ".", cwd=tree)
        assert (tree / "own.html").read_bytes() == page.read_bytes(), f"run {number}"
    (tree / "own.html").unlink()


def test_what_a_tree_is_made_of_is_in_the_page_without_a_program(page: Path) -> None:
    text = page.read_text("ascii")
    assert '<h1><bdi id="title" class="data">project</bdi></h1>' in text
    assert "466 tokens, 6 files</span>" in text
    plain = re.search(r'<pre class="plain">(.*?)</pre>', text, re.DOTALL)
    assert plain and plain[1].splitlines()[1] == "         360 &#9500;&#9472;&#9472; src/"
    assert "&lt;b&gt;&amp;.txt" in plain[1]


def test_an_empty_folder_has_no_files(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ok("count", "--html", "x.html", "empty", cwd=tmp_path)
    assert "0 tokens, 0 files</span>" in (tmp_path / "x.html").read_text("ascii")


@pytest.mark.parametrize(
    "others", [["--json"], ["--csv"], ["--by", "ext"], ["--total"], ["-o", "y"], ["--records", "lines"], ["--chat"]]
)
def test_other_forms_are_refused(others: list[str]) -> None:
    assert "The page shows the tree of --tree." in refused("count", "--html", "x", *others, data=b"")


def test_levels_top_budget_and_several_encodings_are_in_the_page(tree: Path) -> None:
    path = tree.parent / "other.html"
    noted("count", "--tree=1", "--html", path, "-e", "gpt2", "-e", "o200k_base", ".", cwd=tree)
    assert "466 tokens, 4 rows</span>" in path.read_text("ascii")
    noted("count", "--html", path, "--price", "2", "--budget", "--window", "1000", "--top", "2", ".", cwd=tree)
    assert "466 tokens, 2 rows, 534 left, 0.000932 price</span>" in path.read_text("ascii")


@in_browser
def test_the_largest_come_first_and_arrow_keys_open_and_close(tab: chromium.Tab, page: Path) -> None:
    tab.open(page)
    whole: Any = tab.value(ROWS)
    assert [row.lstrip("\u25be\u25b8") for row in whole] == [
        of(name, tokens, share)
        for name, tokens, share in (
            (".", 466, "100%"), ("src/", 360, "77%"), ("deep/", 320, "69%"), ("b.py", 300, "64%"), ("er/", 20, "4%"),
            ("a.py", 40, "9%"), ("docs/", 100, "21%"), ("d.md", 100, "21%"), ("e.txt", 5, "1%"), ("<b>&.txt", 1, "<1%"),
        )
    ]  # fmt: skip
    assert "of all" in tab.value(ABOUT) and tab.value(HEADING) == "."
    tab.value(f"{Q}('#list').focus()")
    tab.press("ArrowDown")
    assert tab.value(HEADING) == "src/"
    tab.press("ArrowLeft")
    assert tab.value(f"{CURRENT}.getAttribute('aria-expanded')") == "false"
    assert len(tab.value(ROWS)) == len(whole) - 4
    tab.press("ArrowRight", "ArrowRight")
    assert tab.value(HEADING) == "deep/"
    assert tab.value(f"{CURRENT}.getAttribute('aria-level')") == "3"
    tab.press("ArrowLeft", "ArrowLeft")
    assert tab.value(HEADING) == "src/"
    tab.press("Enter")
    assert tab.value(ACTIVE) == "heading"
    tab.press("Escape")
    assert tab.value(ACTIVE) == "list"


@in_browser
def test_a_click_on_the_triangle_opens_and_on_the_row_describes(tab: chromium.Tab, page: Path) -> None:
    tab.open(page)
    tab.click("#row-4 .twist")
    assert "c.py" in "".join(tab.value(ROWS))
    assert tab.value(HEADING) == "."
    tab.click("#row-4 .data")
    assert tab.value(HEADING) == "er/"
    assert "./src/deep/er/" in tab.value(ABOUT)


@in_browser
def test_finding_shows_the_files_with_the_folders_above_them(tab: chromium.Tab, page: Path) -> None:
    tab.open(page)
    tab.type("#query", "C.PY")
    tab.wait(f"{STATUS} === '1 file'")
    assert [re.sub(r"^\W*|\d.*", "", row) for row in tab.value(ROWS)] == ["", "src/", "deep/", "er/", "c.py"]
    tab.type("#query", "none of them")
    tab.wait(f"{STATUS}.startsWith('No file')")


@in_browser
def test_the_map_and_the_largest_files_lead_to_what_they_name(tab: chromium.Tab, page: Path) -> None:
    tab.open(page)
    tiles: Any = tab.value(
        "[...document.querySelectorAll('.map button')].map(b => [b.title, ...Object.values(b.getBoundingClientRect().toJSON())])"
    )
    assert [tile[0] for tile in tiles][:2] == ["src/, 360 tokens", "docs/, 100 tokens"]
    areas = [width * height for _, _, _, width, height, *_ in tiles]
    assert areas[0] / areas[1] == pytest.approx(3.6, rel=0.05)
    tab.click(".map button")
    assert tab.value(HEADING) == "src/"
    tab.click(".largest li:nth-child(3) button")
    assert tab.value(HEADING) == "c.py"
    assert tab.value(f"{CURRENT}.textContent").startswith("c.py20")


@in_browser
@pytest.mark.parametrize("width", [320, 400])
def test_a_narrow_screen_stacks_both(tab: chromium.Tab, page: Path, width: int) -> None:
    tab.open(page)
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    assert tab.value("document.documentElement.scrollWidth") <= width


@in_browser
def test_names_are_text_whatever_they_hold(tab: chromium.Tab, tmp_path: Path) -> None:
    names = [text.replace("/", "|").replace("\0", "")[:60] for text in MARKUP]
    names += ["caf\udce9", "\u202eevil", "\x1b[2J", "{{data}}"]
    for name in names:
        (tmp_path / os.fsdecode(os.fsencode(name))).write_text("x", "ascii")
    path = tmp_path.parent / "hostile.html"
    noted("count", "--html", path, "--no-ignore", "--hidden", ".", cwd=tmp_path)
    tab.open(path)
    shown: list[str] = json.loads(json.dumps(tab.value(ROWS)))
    assert len(shown) == len(set(names)) + 1
    assert any("caf\u27e8e9\u27e9" in row for row in shown)
    assert not re.search("[\x1b\u202e]", "".join(shown))
    assert tab.value("document.querySelectorAll('b, img, script[src], svg').length") == 0
