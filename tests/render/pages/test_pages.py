"""Pages stand alone, allow nothing but themselves, and take nothing that they show for HTML; chromium looks at them."""

from __future__ import annotations

import array
import base64
import hashlib
import html
import json
import re
import zlib
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from gguf_files import bert
from support import MARKUP, ROOT, ok, refused

from tokcli import get_encoding
from tokcli.cli import pages
from tokcli.cli.main import run

FORMATS = ROOT / "tests" / "data" / "formats"


class Parsed(HTMLParser):
    """A page taken apart: its tags with their attributes, and what stands in its scripts and styles."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.text = page.read_bytes().decode("ascii")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style", "title") and data.strip():
            self.blocks.append((*self.tags[-1], data))

    @property
    def head(self) -> Any:
        return json.loads(next(text for _, attributes, text in self.blocks if attributes.get("id") == "head"))

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The packed columns, unpacked once more: bytes, or lists of numbers."""
        packed = next(text for _, attributes, text in self.blocks if attributes.get("id") == "data")
        data = zlib.decompress(base64.b64decode(packed), -15)
        found: dict[str, Any] = {}
        for name, kind, count in self.head["columns"]:
            size = count if kind == "bytes" else 4 * count
            part, data = data[:size], data[size:]
            if kind != "bytes":
                mixed = bytes(part[place * count + item] for item in range(count) for place in range(4))
                part = array.array("f" if kind == "floats" else "I", mixed).tolist()
            found[name] = part
        assert data == b""
        return found

    def tokens(self) -> list[bytes]:
        columns = self.columns
        ends = [sum(columns["lengths"][: n + 1]) for n in range(len(columns["lengths"]))]
        return [columns["tokens"][begin:end] for begin, end in zip([0, *ends], ends)]


def made(folder: Path, *arguments: str | Path) -> Parsed:
    """The page of a command, run in this process: a new one for each would take most of the time.

    That of encode has no box to type in, whose vocabulary would take most of the rest.
    """
    boxless = ["--no-box"] if arguments[0] == "encode" else []
    assert run([*map(str, arguments), *boxless, "--html", str(folder / "page.html")]) == 0
    return Parsed(folder / "page.html")


COMMANDS = [("encode", "-t", "hello world"), ("split", "-t", "it's 2024"), ("inspect-ranks", "-e", "r50k_base")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_page_runs_one_script_and_one_style_by_their_hashes_and_names_no_address(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    page = made(tmp_path, *command)
    policy = next(a["content"] or "" for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    running = {tag: text for tag, a, text in page.blocks if tag == "style" or (tag == "script" and "type" not in a)}
    assert len([1 for tag, a, _ in page.blocks if tag == "script" and "type" not in a]) == 1
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        digest = base64.b64encode(hashlib.sha256(running[tag].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    addresses = [a[name] for _, a in page.tags for name in ("src", "href", "action", "data", "style") if name in a]
    assert addresses == ["#main"]
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(", running["style"])
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|fetch\(|XMLHttp", running["script"]
    )
    assert not [a for _, a in page.tags if any(name.startswith("on") for name in a)]


@pytest.mark.parametrize("text", MARKUP)
@pytest.mark.parametrize("command", ["encode", "split"])
def test_no_text_changes_what_the_page_is_made_of(tmp_path: Path, command: str, text: str) -> None:
    harmless = made(tmp_path, command, "-t", "x")
    page = made(tmp_path, command, "-t", text)
    assert page.tags == harmless.tags
    found = page.tokens()
    assert b"".join(found[place] for place in page.columns["sequence"]) == text.encode()


@pytest.mark.parametrize("text", MARKUP)
def test_names_patterns_and_tokens_of_files_do_not_either(tmp_path: Path, text: str) -> None:
    name = text.replace("/", "\u2215")
    ranks = [bytes([byte]) for byte in range(256)] + [text.encode()]
    lines = [b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(ranks)]
    (tmp_path / f"{name}.tiktoken").write_bytes(b"".join(lines))
    (tmp_path / name).write_bytes(b"x")
    (tmp_path / "plain.tiktoken").write_bytes(b"".join(lines[:256]))
    (tmp_path / "x").write_bytes(b"x")
    vocabularies = ("-q", "--pattern", f"{re.escape(text)}|.", "-e", tmp_path / f"{name}.tiktoken")
    plain = ("-q", "--pattern", "y|.", "-e", tmp_path / "plain.tiktoken")
    for command in ("encode", "split"):
        page = made(tmp_path, command, *vocabularies, tmp_path / name)
        assert [tag for tag, _ in page.tags] == [tag for tag, _ in made(tmp_path, command, *plain, tmp_path / "x").tags]
    page = made(tmp_path, "inspect-ranks", *vocabularies)
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in made(tmp_path, "inspect-ranks", *plain).tags]
    assert page.tokens()[-1] == text.encode()


def test_bytes_that_are_no_text_are_in_the_pages_as_they_are(tmp_path: Path) -> None:
    data = b"\xff\xfeab\xf0\x9f \x80\xed\xa0\x80"
    (tmp_path / "data").write_bytes(data)
    page = made(tmp_path, "encode", "--errors", "bytes", tmp_path / "data")
    found = page.tokens()
    assert b"".join(found[place] for place in page.columns["sequence"]) == data
    assert made(tmp_path, "split", "--errors", "bytes", tmp_path / "data").columns["text"] == data


def test_the_page_of_pieces_says_which_alternative_made_each_and_its_tokens(tmp_path: Path) -> None:
    page = made(tmp_path, "split", "--pattern", "[a-z]+|[0-9]|\\s", "-t", "ab 1")
    columns = page.columns
    assert page.head["alternatives"] == ["[a-z]+", "[0-9]", "\\s"]
    assert (columns["text"], columns["pieces"], columns["alternatives"]) == (b"ab 1", [2, 1, 1], [1, 3, 2])
    assert [columns["ids"][place] for place in columns["sequence"]] == [378, 220, 16]


def test_the_parents_of_each_token_of_a_page_make_it(tmp_path: Path) -> None:
    page = made(tmp_path, "inspect-ranks", "-e", "r50k_base")
    columns, data = page.columns, {}
    at = 0
    for place, length in enumerate(columns["lengths"]):
        data[place] = columns["tokens"][at : at + length]
        at += length
    encoding = get_encoding("r50k_base")
    assert dict(zip(columns["ids"], data.values())) == dict(encoding.tokenizer.token_bytes())
    merged = [place for place, left in enumerate(columns["left"]) if left]
    assert len(merged) == 50256 - 256
    assert all(data[columns["left"][p] - 1] + data[columns["right"][p] - 1] == data[p] for p in merged)
    assert [columns["ids"][place] for place, flag in enumerate(columns["special"]) if flag] == [50256]


def test_tokens_in_a_text_come_with_all_that_merged_into_them(tmp_path: Path) -> None:
    page = made(tmp_path, "encode", "-t", "hello")
    found = page.tokens()
    assert set(found) == {b"hello", b"hell", b"he", b"ll", b"h", b"e", b"l", b"o"}


@pytest.mark.parametrize(
    "file", sorted(FORMATS.glob("*.model")) + sorted(FORMATS.glob("*.tokenizer.json")), ids=lambda p: p.name
)
def test_every_kind_of_vocabulary_has_its_pages(tmp_path: Path, file: Path) -> None:
    vocabulary = made(tmp_path, "inspect-ranks", "-e", file).columns
    assert ("scores" in vocabulary) == (file.suffix == ".model" or "unigram" in file.name)
    page = made(tmp_path, "encode", "-q", "-e", file, "-t", "hello world")
    ids = [page.columns["ids"][place] for place in page.columns["sequence"]]
    assert ids == [int(number) for number in ok("encode", "-q", "-e", file, "-t", "hello world").split()]
    assert made(tmp_path, "split", "-q", "-e", file, "-t", "hello world").columns["text"] == b"hello world"


def test_a_normalized_text_says_where_its_tokens_stood(tmp_path: Path) -> None:
    columns = made(tmp_path, "encode", "-q", "-e", FORMATS / "bpe.model", "-t", "hello").columns
    assert columns["begins"][0] == 0
    assert columns["ends"][-1] == 5


def test_where_places_are_not_known_the_page_says_none(tmp_path: Path) -> None:
    page = made(tmp_path, "encode", "-q", "-e", bert(tmp_path / "x.gguf"), "-t", "HELLO")  # it is made lower case
    assert page.head["places"] == "unknown"
    assert "begins" not in page.columns
    assert [page.columns["ids"][place] for place in page.columns["sequence"]] == [4]


def test_a_model_of_minbpe_has_its_merges_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "x.model").write_text("minbpe v1\n\n0\n97 98\n256 99\n")
    page = made(tmp_path, "encode", "-q", "-e", tmp_path / "x.model", "-t", "abc")
    assert set(page.tokens()) == {b"abc", b"ab", b"a", b"b", b"c"}


def test_the_limit_of_tokens_holds_for_the_page_of_each_input(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("one two three four")
    page = made(tmp_path, "encode", "-n", "2", tmp_path / "a", tmp_path / "b")
    assert [entry["tokens"] for entry in page.head["inputs"]] == [2, 2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("encode", "-t", "a", "--json"),
        ("encode", "-t", "a", "-o", "ids"),
        ("split", "--records", "lines", "-t", "a"),
    ],
)
def test_what_is_no_part_of_a_page_is_refused_with_it(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert refused(*arguments, "--html", tmp_path / "page.html").startswith("Error: --html cannot be combined with ")
    assert not list(tmp_path.iterdir())


def test_a_page_is_whole_or_not_there_and_never_its_own_input(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"ok\xff")
    refused("encode", text, "--html", tmp_path / "page.html")
    assert "is also an input" in refused("encode", "--errors", "replace", text, "--html", text)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]
    assert text.read_bytes() == b"ok\xff"


def test_more_tokens_than_a_browser_can_show_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_TOKENS", 3)
    for command in ("encode", "split"):
        assert run([command, "-t", "one two three four", "--html", str(tmp_path / "page.html")]) == 2
    assert run(["encode", "-n", "3", "-t", "one two three four", "--html", str(tmp_path / "page.html")]) == 0


def test_a_page_can_go_into_a_pipe() -> None:
    assert ok("encode", "-t", "a", "--no-box", "--html", "-").startswith(b"<!DOCTYPE html>")


def test_the_page_of_200000_tokens_is_small(tmp_path: Path) -> None:
    made(tmp_path, "inspect-ranks", "-e", "o200k_base")
    assert (tmp_path / "page.html").stat().st_size < 3_000_000


@pytest.mark.parametrize("command", ["encode", "split"])
def test_a_page_is_called_by_what_it_shows(tmp_path: Path, command: str) -> None:
    def heading(*arguments: str | Path, stdin: bytes = b"", cwd: Path = tmp_path) -> str:
        path = tmp_path / "page.html"
        boxless = ["--no-box"] if command == "encode" else []
        ok(command, *arguments, *boxless, "--html", path, data=stdin, cwd=cwd)
        title = re.search(r"<title>(.*)</title>", path.read_text("ascii"))
        name = re.search(r'<bdi id="title" class="data">(.*)</bdi></h1>', path.read_text("ascii"))
        assert title and name and title[1].startswith(f"{name[1]}: ")
        return html.unescape(name[1])

    for name in ("one", "two"):
        (tmp_path / name).write_text("x")
    assert heading("-t", "hello\n world") == '"hello world"'
    assert heading("-t", "word " * 30) == '"word word word word word word word word\u2026"'
    assert heading(stdin=b"hello") == "standard input"
    assert heading(tmp_path / "one") == str(tmp_path / "one")
    assert heading(tmp_path / "one", tmp_path / "two") == f"{tmp_path / 'one'} and 1 more"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "three").write_text("x")
    assert heading(tmp_path / "folder") == str(tmp_path / "folder")
    assert heading("-r", cwd=tmp_path / "folder") == heading(".", cwd=tmp_path / "folder") == "folder"


@pytest.mark.parametrize(("command", "unit"), [("encode", "token"), ("split", "piece")])
def test_a_page_says_what_it_is_about_without_javascript(tmp_path: Path, command: str, unit: str) -> None:
    made(tmp_path, command, "-t", "</pre><b>two\nlines")
    text = (tmp_path / "page.html").read_text("ascii")
    assert re.search(rf'<span id="summary">\d {unit}s, ', text)
    shown = re.search(r'<noscript>.*<pre class="plain">(.*)</pre>\n</noscript>', text, re.DOTALL)
    assert shown
    assert html.unescape(shown[1]).replace("\u2502", "") == "</pre><b>two\u23ce\nlines"


def test_without_javascript_a_page_shows_the_beginning_of_a_long_text(tmp_path: Path) -> None:
    page = made(tmp_path, "encode", "-t", "a b" * 20_000)
    assert page.text.count("&#9474;") == pages.MOST_PLAIN
