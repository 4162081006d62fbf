"""`count --max`, `--budget` and `--price`: what exceeds, what is left, what it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import failed, noted, ok, refused

from tokcli.registry.models.lookup import window_of_model

# --- what is left, what it costs ---------------------------------------------------------------------------------------


def test_what_is_left_of_a_window() -> None:
    assert ok("count", "--budget", "-m", "gpt-4o", "-t", "hello world") == b"127998\n"
    assert ok("count", "--budget", "--window", "10", "-t", "hello world") == b"8\n"
    assert ok("count", "--budget", "--window", "1", "-t", "hello world") == b"-1\n"
    assert ok("count", "--budget", "--window", "10", "-m", "gpt-4", "-t", "hello world") == b"8\n"
    made = json.loads(ok("count", "--budget", "--window", "10", "--price", "2.5", "--json", "-t", "hello world"))
    assert (made["count"], made["left"], made["price"]) == (2, 8, 5e-06)
    assert ok("count", "--budget", "--window", "10", "--price", "2.5", "-t", "hello world") == b"8\n0.000005\n"
    assert ok("count", "--price", "0", "-t", "hello world") == b"0\n"


def test_several_inputs_have_one_budget(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello world")
    (tmp_path / "b").write_text("hello")
    arguments = ("count", "--budget", "--window", "10", "--price", "1", "a", "b")
    assert ok(*arguments, cwd=tmp_path) == b"2 a\n1 b\n3 total\n7 left\n0.000003 price\n"
    made = json.loads(ok(*arguments, "--json", cwd=tmp_path))
    assert (made["total"], made["left"], made["price"]) == (3, 7, 3e-06)
    assert ok(*arguments, "--total", cwd=tmp_path) == b"7\n0.000003\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--budget"],
        ["--budget", "-m", "text-similarity-ada-001"],
        ["--window", "10"],
        ["--budget", "--window", "0"],
        ["--price", "-1"],
        ["--price", "nan"],
        ["--price", "inf"],
        ["--price", "x"],
        ["--budget", "--window", "9", "--jsonl"],
        ["--budget", "--window", "9", "-e", "gpt2", "-e", "o200k_base"],
        ["--chat", "--records", "lines"],
        ["--chat", "--special", "allow"],
        ["--chat", "--allow-special", "<|endoftext|>"],
    ],
)
def test_budgets_that_mean_nothing_are_refused(arguments: list[str]) -> None:
    refused("count", *arguments, "-t", "[]")


def test_dated_and_fine_tuned_versions_have_the_window_of_their_model() -> None:
    assert window_of_model("gpt-4o-2024-08-06") == window_of_model("gpt-4o") == 128_000
    assert window_of_model("gpt-4o-2024-11-20") == window_of_model("ft:gpt-4o-2024-08-06:org::id") == 128_000
    assert window_of_model("gpt-3.5") == window_of_model("ft:gpt-3.5-turbo") == 16_385
    assert window_of_model("gpt-3.5-turbo-0301") == 4_096
    assert ok("count", "--budget", "-m", "claude-opus-4-6", "--estimate", "-q", "-t", "x") == b"999999\n"


# --- what is estimated ---------------------------------------------------------------------------------------------------


def test_a_model_whose_tokenizer_is_not_public_is_estimated_on_request(tmp_path: Path) -> None:
    given = ("count", "-m", "claude-sonnet-4-5", "--estimate")
    text = "hello big world " * 50
    known = int(ok("count", "-t", text))
    made = json.loads(ok(*given, "--json", "-t", text))
    marks = {"count": round(known * 1.18), "exact": False, "low": round(known * 1.1), "high": round(known * 1.3)}
    row = {"tokens": marks["count"], "bytes": len(text), "path": "--text"}
    assert made == {"files": [row], "total": marks["count"], **marks}
    ran = noted(*given, "-t", text)
    assert int(ran.out) == made["count"]
    assert "estimate" in ran.err and "1.18" in ran.err
    for name in ("a", "b"):
        (tmp_path / name).write_text(text)
    both = json.loads(ok(*given, "--json", "--price", "1", "a", "b", cwd=tmp_path))
    assert [row["tokens"] for row in both["files"]] == [made["count"]] * 2
    assert (both["total"], both["price"]) == (2 * made["count"], 2 * made["count"] / 1e6)
    assert both["low"] < both["total"] < both["high"]
    lines = [
        json.loads(line)
        for line in ok(*given, "--records", "lines", "--json", data=f"{text}\n\n".encode()).splitlines()
    ]
    assert [line["count"] for line in lines] == [made["count"], 0]
    request = json.dumps([{"role": "user", "content": text}]).encode()
    chat = json.loads(ok(*given, "--chat", "--by", "role", "--json", data=request))
    assert sum(part["tokens"] for part in chat["parts"]) + chat["overhead"] == chat["total"] > made["count"]
    assert not chat["exact"] and chat["low"] < chat["total"] < chat["high"]
    assert failed(*given, "-q", "--max", "10", "-t", text, status=1)


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        ("claude-3-5-sonnet-20241022", 1.18),
        ("claude-sonnet-4-20250514", 1.18),
        ("claude-haiku-4-5", 1.18),
        ("anthropic/claude-opus-4.6", 1.18),
        ("claude-opus-4-7", 1.53),
        ("claude-opus-4-7-20260416", 1.53),
        ("claude-sonnet-5", 1.53),
        ("Claude-Opus-5", 1.53),
    ],
)
def test_the_factor_is_that_of_the_tokenizer_of_the_version(model: str, factor: float) -> None:
    assert json.loads(ok("count", "-m", model, "--estimate", "--json", "-t", "x " * 999 + "x"))["count"] == round(
        1000 * factor
    )


@pytest.mark.parametrize("model", ["claude-2.1", "claude-instant-1.2", "claude-next", "grok-4", "nova-pro"])
def test_a_model_that_nobody_has_measured_is_not_estimated(model: str) -> None:
    assert "no measured factor" in refused("count", "-m", model, "--estimate", "-t", "x")


def test_an_estimate_is_none_where_the_tokenizer_is_public() -> None:
    given = ("--json", "-t", "hello world")
    assert ok("count", "-m", "gpt-4o", "--estimate", *given) == ok("count", "-m", "gpt-4o", *given)


@pytest.mark.parametrize("more", [["--exact-only"], ["--add-special-tokens"]])
def test_estimates_that_mean_nothing_are_refused(more: list[str]) -> None:
    refused("count", "-m", "claude-3-opus", "--estimate", "-q", *more, "-t", "x")
    refused("count", "--estimate", "-t", "x")


# --- what exceeds ------------------------------------------------------------------------------------------------------


def test_what_exceeds_is_named_first(tmp_path: Path) -> None:
    for name, text in {"a": "x", "b": "hello big world", "c": "hello world"}.items():
        (tmp_path / name).write_text(text)

    def error(*arguments: str, data: bytes = b"") -> str:
        return failed("count", *arguments, status=1, data=data, cwd=tmp_path).err

    assert error("--max", "2", "a", "b", "c") == "Error: b: 3 tokens, more than --max 2\n"
    assert error("--max", "0", "a", "b", "c") == "Error: a: 1 token, more than --max 0\n"
    assert error("--max", "0", "a") == "Error: 1 token, more than --max 0\n"
    assert error("--max", "5", "a", "b", "c") == "Error: total: 6 tokens, more than --max 5\n"
    assert error("--max", "1", "c") == "Error: 2 tokens, more than --max 1\n"
    lines = b"x\n\nhello big world\nhello world\n"
    assert error("--max", "1", "--records", "lines", data=lines) == (
        "Error: standard input: record 3: 3 tokens, more than --max 1\n"
    )
    assert error("-q", "--max", "5", "--chat", data=b"[{}]") == "Error: 6 tokens, more than --max 5\n"
    assert ok("count", "--max", "6", "a", "b", "c", cwd=tmp_path).endswith(b"6 total\n")
