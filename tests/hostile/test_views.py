"""What is shown to people cannot act: texts, tokens, patterns and names that mean harm, in every view at every width."""

from __future__ import annotations

import html.parser
import json
import os
import re
import unicodedata
from base64 import b64encode
from pathlib import Path

import pytest
from support import MARKUP, on_terminal, run_tokcli

ESCAPES = "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x07 \x1b[2J\x1b[31m\x9b31m\x90q\x9c\x1bP\x85"
HIDDEN = "\u202eabc\u2066\u2069\u200f\u200b\u200d\ufeff\u2028\u2029\u00ad\U000e0041\ufff9\u061c\u180e"
HOSTILE = f"{ESCAPES}{HIDDEN}\x00\x08\r\x7f\t<b>&amp;]]></script>" + "a\u0301" * 3 + "e" + "\u0301" * 40 + "🙂שלום"
NAME = "n\x1b]0;t\x07\u202e\x9b[2J</script>.tiktoken"
PATTERN = "\x1b\\]8;;x\x07|\u202e+|\x9b|[\u2066\u200b]|(?P<n>a)|<[^>]*>|(?s:.)"
SPECIAL = "<|\x1b[2J\u202e\x9b|>"
# the codes for colours, which are ours, and the marks that keep what is written from right to left in its place
OURS = re.compile("\x1b\\[[0-9;]*m|[\u2068\u2069]")


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a vocabulary whose name, pattern, tokens and special token mean harm."""
    path = tmp_path_factory.mktemp("views") / NAME.replace("/", "∕")
    tokens = [bytes([value]) for value in range(256)]
    tokens += [b"\xe2\x80", b"\xf0\x9f", b"aa", b"aaaa"]
    tokens += [part.encode() for part in ("\x1b]", "\x1b]8", "\u202e", "<b", "<b>", "\u2066", "\x9b")]
    path.write_bytes(b"".join(b"%b %d\n" % (b64encode(t), rank) for rank, t in enumerate(dict.fromkeys(tokens))))
    sidecar = {"pat_str": PATTERN, "special_tokens": {SPECIAL: 5000}}
    Path(f"{path}.json").write_text(json.dumps(sidecar))
    return path


def acting(shown: str) -> list[str]:
    """Return the characters that would act on a terminal or hide there, and stand in what was shown."""
    shown = OURS.sub("", shown)
    return sorted(
        {f"U+{ord(c):04X}" for c in shown if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    )


TEXT_VIEWS = [
    ["encode", "--visualise"],
    ["encode", "--visualise", "--ids"],
    ["encode", "--visualise=merges"],
    ["encode", "--compare", "gpt2,{e}"],
    ["split", "--table"],
    ["split", "--stats"],
    ["split", "--why", "3"],
    ["split", "--why", "41"],
    ["split", "--diff", "gpt2"],
    ["split", "--diff", PATTERN[:-8] + "|(?s:..?)"],
    ["split"],
    ["count", "--tree"],
]
OTHER_VIEWS = [
    ["split", "--lint"],
    ["inspect-ranks", "\\x1b]8", "--id", "4", "--hex", "e280"],
    ["inspect-ranks", SPECIAL],
    ["inspect-ranks", "--grep", "."],
    ["inspect-ranks", "--longest", "9"],
    ["inspect-ranks", "--not-utf8"],
    ["inspect-ranks", "--not-self"],
    ["inspect-ranks", "--stats"],
    ["inspect-ranks", "--merges"],
    ["inspect-ranks", "--diff", "{e}", "gpt2"],
]


@pytest.mark.parametrize("columns", ["80", "20", "1"])
@pytest.mark.parametrize("view", TEXT_VIEWS, ids=" ".join)
def test_no_text_acts_on_a_terminal(vocabulary: Path, tmp_path: Path, view: list[str], columns: str) -> None:
    text = tmp_path / "t\x1b]0;x\x07\u202e.txt"
    text.write_text(HOSTILE)
    arguments = [a.replace("{e}", str(vocabulary)) for a in view]
    own = [] if "--compare" in view else ["-e", str(vocabulary)]
    special = [] if view[0] == "count" else ["--special", "text"]
    status, shown = on_terminal(*arguments, *own, *special, str(text), env={"COLUMNS": columns, "TOKCLI_OFFLINE": "1"})
    assert status == 0
    assert shown.strip()
    assert not acting(shown.decode())


@pytest.mark.parametrize("columns", ["80", "2"])
@pytest.mark.parametrize("view", OTHER_VIEWS, ids=" ".join)
def test_no_vocabulary_acts_on_a_terminal(vocabulary: Path, view: list[str], columns: str) -> None:
    arguments = [a.replace("{e}", str(vocabulary)) for a in view]
    own = [] if "--diff" in view else ["-e", str(vocabulary)]
    status, shown = on_terminal(*arguments, *own, env={"COLUMNS": columns, "TOKCLI_OFFLINE": "1"})
    assert status == 0
    assert not acting(shown.decode())


@pytest.mark.parametrize("columns", ["0", "-5", "1", "2", "40", "1000000", "99999999999999999999", "x", "٣", "1e9", ""])
def test_a_width_that_makes_no_sense_is_none(vocabulary: Path, columns: str) -> None:
    for view in (["encode", "--visualise", "--ids"], ["split", "--table"], ["encode", "--compare", "gpt2,p50k_base"]):
        status, shown = on_terminal(*view, "-t", "it's a שלום 🙂\n 世界", "--special", "text", env={"COLUMNS": columns})
        assert status == 0, shown
        assert len(shown) < 100_000
        if view[0] == "encode" and columns[:2] not in ("10", "99"):
            assert max(len(OURS.sub("", line)) for line in shown.decode().split("\n")) <= 80


HARMS = [
    ["encode", "-e", "{h}", "-t", "a"],
    ["encode", "-m", "{h}", "-t", "a"],
    ["encode", "{h}"],
    ["encode", "--pattern", "({h}", "-t", "a"],
    ["encode", "--allow-special", "{h}", "-t", "a"],
    ["encode", "--records", "jsonl", "--field", "{h}", "-t", '{"a": "b"}'],
    ["encode", "--compare", "gpt2,{h}", "-t", "a"],
    ["encode", "--{h}"],
    ["{h}"],
    ["decode", "-t", "{h}"],
    ["split", "--why", "0", "--pattern", "{h}", "-t", "é"],
    ["split", "--diff", "({h}", "-t", "a"],
    ["split", "--lint", "--pattern", "({h}"],
    ["split", "--pattern-file", "{h}", "-t", "a"],
    ["inspect-ranks", "{h}"],
    ["inspect-ranks", "--hex", "{h}"],
    ["inspect-ranks", "--grep", "({h}"],
    ["inspect-ranks", "--diff", "{h}", "gpt2"],
    ["train", "{h}", "--vocab-size", "300", "-o", "x.tiktoken"],
    ["count", "--files0-from", "{h}"],
]


@pytest.mark.parametrize("arguments", HARMS, ids=" ".join)
def test_no_error_acts_on_a_terminal(tmp_path: Path, arguments: list[str]) -> None:
    harm = "\x1b]8;;x\x07\u202e\x9b[2J\u2028\udcff"
    ran = run_tokcli(*(os.fsencode(a.replace("{h}", harm)) for a in arguments), cwd=tmp_path)
    assert ran.status == 2
    assert not acting(ran.err)
    assert len(ran.err.splitlines()) <= 5
    assert "internal" not in ran.err


class Scripts(html.parser.HTMLParser):
    """Collects the tags of a page, the attributes that act, and the texts of its scripts by their type."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.title = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "title":
            self.title = self.title or data


@pytest.mark.parametrize("command", [["encode"], ["split"], ["inspect-ranks"]], ids=" ".join)
def test_a_page_has_the_same_tags_whatever_its_data(vocabulary: Path, tmp_path: Path, command: list[str]) -> None:
    pages = []
    for text, encoding in (("a", "gpt2"), ("".join(MARKUP) + HOSTILE, str(vocabulary))):
        page = tmp_path / "p.html"
        given = [] if command == ["inspect-ranks"] else ["-t", text.replace("\0", ""), "--special", "text"]
        ran = run_tokcli(*command, *given, "-e", encoding, "--html", page)
        assert ran.status == 0, ran.err
        pages.append(page.read_text("ascii"))
        page.unlink()
    harmless, harmful = map(Scripts, pages)
    # but for the policy, all tags and attributes are the same: those of the data are none
    assert [one for one in harmful.tags if one[0] != "meta"] == [one for one in harmless.tags if one[0] != "meta"]
    assert len(harmful.tags) == len(harmless.tags)
    assert "default-src 'none'" in str(harmful.tags)
    assert not any(name.startswith("on") for _, attributes in harmful.tags for name, _ in attributes)
    assert not acting(harmful.title)


def test_a_picture_has_no_markup_of_the_data(vocabulary: Path, tmp_path: Path) -> None:
    import xml.etree.ElementTree as ET

    text = "".join(MARKUP) + HOSTILE.replace("\0", "")
    ran = run_tokcli(
        "encode", "--visualise", "--ids", "-t", text, "--special", "text", "-e", vocabulary, "--svg", tmp_path / "p.svg"
    )
    assert ran.status == 0, ran.err
    made = (tmp_path / "p.svg").read_text()
    assert not acting(made)
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(made).iter()}
    assert tags <= {"svg", "style", "defs", "clipPath", "rect", "text", "circle", "g"}
