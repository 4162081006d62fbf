"""TOKCLI_MODELS names a file of models beside those that ship: its lines are a table's, and are read strictly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import noted, ok, refused

VOCABULARY = Path(__file__).parents[2] / "data" / "formats" / "byte-level.tokenizer.json"
EXAMPLE = """\
# ours
[Acme]
source: the wiki 2026-11
gpt2            1024   acme-{7b,13b}
                       acme-chat
./{file}  ?  acme-file:latest
openai-community/gpt2 ? gpt-4o
closed ? acme-cloud
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "mine.json").write_bytes(VOCABULARY.read_bytes())
    (tmp_path / "models").write_text(EXAMPLE.replace("{file}", "mine.json"))
    return {"TOKCLI_MODELS": str(tmp_path / "models")}


def test_the_models_of_a_user_are_known_and_come_first(env: dict[str, str]) -> None:
    for name in ("acme-7b", "ACME_13B", "acme/acme-chat", "acme-7b-GGUF"):
        assert ok("encode", "-m", name, "-t", "hello", env=env) == ok("encode", "-e", "gpt2", "-t", "hello")
    assert ok("count", "-m", "acme-7b", "--budget", "-t", "hello", env=env) == b"1023\n"
    ran = noted("encode", "-m", "acme-file:latest", "-t", "hello", env=env)
    assert ran.out == ok("encode", "-e", VOCABULARY, "-t", "hello")
    assert ran.err.endswith("mine.json\n")
    assert "openai-community/gpt2: no such file" in refused("count", "-m", "gpt-4o", "--offline", "-t", "x", env=env)
    assert "not public" in refused("count", "-m", "acme-cloud", "-t", "x", env=env)
    assert "did you mean 'acme-7b'" in refused("count", "-m", "acme-8b", "-t", "x", env=env)
    (listed,) = json.loads(ok("inspect-ranks", "--models", "^acme-7b$", "--json", env=env))["models"]
    assert (listed["group"], listed["source"], listed["date"]) == ("Acme", "the wiki", "2026-11")


def test_a_note_has_the_path_of_a_users_file_as_it_is_typed(env: dict[str, str], tmp_path: Path) -> None:
    ran = noted("encode", "-m", "acme-file:latest", "-t", "hello", env={"TOKCLI_MODELS": "models"}, cwd=tmp_path)
    assert ran.err == "Note: acme-file:latest: the tokenizer of ./mine.json\n"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("gpt2 x acme", "expected TOKENIZER WINDOW NAME"),
        ("gpt2 0 acme", "expected TOKENIZER WINDOW NAME"),
        ("gpt2 -1 acme", "expected TOKENIZER WINDOW NAME"),
        ("gpt2 ٣ acme", "expected TOKENIZER WINDOW NAME"),
        ("gpt2 1024", "expected TOKENIZER WINDOW NAME"),
        ("gpt2 1024 acme/7b", "is no name of a model"),
        ("gpt2 1024 {,acme}", "does not begin with a letter"),
        ("gpt2 1024 acme{", "is no name of a model"),
        ("gpt2 1024 x" + "{a,b}" * 60, "stands for more than 1000 names"),
        ("nosuch 1024 acme", "'nosuch' is no encoding, no file in"),
        ("../nosuch.json 1024 acme", "'../nosuch.json' is no encoding"),
        ("closed:x 1024 acme", "'closed:x' is no encoding"),
        ("  acme", "names that belong to no row"),
        ("[tokenizers]\nacme acme", "expected the name of a tokenizer and its repository"),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_its_place(tmp_path: Path, line: str, what: str) -> None:
    (tmp_path / "models").write_text(f"# ours\n\n{line}\n")
    words = refused("count", "-m", "acme", "-t", "x", env={"TOKCLI_MODELS": str(tmp_path / "models")})
    assert words.startswith(f"Error: {tmp_path}/models:{3 + line.count(chr(10))}: ")
    assert what in words


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    for name in (tmp_path, tmp_path / "nosuch", "/dev/null"):
        assert str(name) in refused("count", "-m", "gpt-4o", "-t", "x", env={"TOKCLI_MODELS": str(name)})
    (tmp_path / "bytes").write_bytes(b"gpt2 1 \xff\n")
    assert "not UTF-8 at byte 7" in refused(
        "count", "-m", "x", "-t", "x", env={"TOKCLI_MODELS": str(tmp_path / "bytes")}
    )
    (tmp_path / "long").write_bytes(b"#" * (1 << 20) + b"\n")
    assert "1048577 bytes" in refused("count", "-m", "x", "-t", "x", env={"TOKCLI_MODELS": str(tmp_path / "long")})
    assert ok("count", "-m", "gpt-4o", "-t", "x", env={"TOKCLI_MODELS": ""}) == b"1\n"
    assert ok("count", "-t", "x", env={"TOKCLI_MODELS": "/dev/null"}) == b"1\n"
