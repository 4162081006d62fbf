"""Patterns that mean harm: wherever they come from, they end within the time limit, and take no more memory than texts do."""

from __future__ import annotations

import contextlib
import json
import resource
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import refused

from tokcli.cli.inspect_ranks.search import found_in
from tokcli.engine.base.time_limit import run_within, seconds_allowed, time_limit
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.pretokenizers.repeats import MAX_STATES, states
from tokcli.engine.stream.chunks import BLOCK_BYTES, read_chunks
from tokcli.engine.stream.parallel import ordered
from tokcli.errors import InputError, PatternError, PatternTimeoutError, VocabularyError
from tokcli.registry.encodings import load_encoding

# The exception that ends a compilation may come while coverage holds its lock, which nothing would release then.
pytestmark = [pytest.mark.clock, pytest.mark.no_cover]

BYTES = {bytes([value]): value for value in range(256)}
BACKTRACKS = r"(?:a|aa)+b|."
LONG = "|".join(f"x{number}y" for number in range(120_000))  # 1 MB, which `regex` compiles in some 10 s
REPEATS = [
    "(?:(?:a{1000}b){1000}c){1000}",
    "(?:a{1000}){1000}",
    "a{1000000}",
    "[ab]{999999999999}|.",
    "(?:(?:(?:(?:(?:a{9}){9}){9}){9}){9}){9}",
    "(?x)(?:(?:a{1000} # )\n b){1000}c){1000}",
    "(?:" * 30 + "a" + ")+" * 30,
    "(?:y(?:x|" * 20 + "a" + ")+)+" * 20,
    "(?P<n>" + "(" * 20 + "a|b" + "){2}" * 20 + ")",
    "(?:x|" * 40 + "a" + "){1,2}+" * 40,
    "(?x)" + "(?: # )\n" * 30 + "a" + ") +" * 30,
]


def tiktoken(folder: Path, pattern: str) -> Path:
    path = folder / "own.tiktoken"
    path.write_bytes(b"".join(b"%b %d\n" % (b64encode(token), rank) for token, rank in BYTES.items()))
    path.with_suffix(".tiktoken.json").write_text(json.dumps({"pat_str": pattern, "special_tokens": {}}))
    return path


def minbpe(folder: Path, pattern: str) -> Path:
    path = folder / "own.model"
    path.write_text(f"minbpe v1\n{pattern}\n0\n97 98\n")
    return path


def tokenizer_json(folder: Path, pattern: str) -> Path:
    path = folder / "tokenizer.json"
    splitter = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "pre_tokenizer": splitter, "model": model}))
    return path


FILES = [tiktoken, minbpe, tokenizer_json]


@pytest.mark.parametrize("write", FILES)
def test_the_limit_of_the_call_holds_for_matching_a_pattern_of_any_file(
    tmp_path: Path, write: Callable[[Path, str], Path]
) -> None:
    encoding = load_encoding(write(tmp_path, BACKTRACKS))
    for seconds in (0.2, 0.4):
        began = time.process_time()
        with time_limit(seconds), pytest.raises(PatternTimeoutError, match=f"more than {seconds} s"):
            encoding.encode_ordinary("a" * 80)
        assert time.process_time() - began < seconds + 1  # of this process: the machine may be busy


@pytest.mark.parametrize("write", FILES)
def test_the_option_holds_for_matching_a_pattern_of_any_file(
    tmp_path: Path, write: Callable[[Path, str], Path]
) -> None:
    began = time.process_time()
    said = refused("count", "-e", write(tmp_path, BACKTRACKS), "--timeout", "0.3", "-t", "a" * 80)
    assert "pattern: more than 0.3 s at" in said
    assert "--timeout" in said
    assert time.process_time() - began < 4


@pytest.mark.parametrize("write", [tiktoken, minbpe])
def test_a_pattern_of_a_megabyte_ends_at_the_limit_and_its_file_is_named(
    tmp_path: Path, write: Callable[[Path, str], Path]
) -> None:
    path = write(tmp_path, LONG)
    began = time.process_time()
    with time_limit(1), pytest.raises(PatternTimeoutError, match="more than 1 s to compile") as caught:
        load_encoding(path)
    assert time.process_time() - began < 3
    assert caught.value.where == str(path)


def test_a_time_limit_whose_exception_gets_lost_holds_all_the_same() -> None:
    """Python drops what is raised in a finalizer: a pattern was once compiled for ten minutes under a limit of 1 s."""
    lost = 0

    def work() -> None:
        nonlocal lost
        while True:
            try:
                while True:
                    pass
            except BaseException:
                if lost == 2:
                    raise
                lost += 1

    with pytest.raises(TimeoutError):
        run_within(0.1, work)
    assert lost == 2


@pytest.mark.parametrize("pattern", REPEATS)
def test_repeats_that_explode_are_refused_at_once(pattern: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    with pytest.raises(PatternError, match="states"):
        PreTokenizer(pattern)
    assert time.process_time() - began < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


@pytest.mark.parametrize("write", FILES)
def test_a_file_whose_repeats_explode_is_named(tmp_path: Path, write: Callable[[Path, str], Path]) -> None:
    path = write(tmp_path, REPEATS[0])
    with pytest.raises((PatternError, VocabularyError)) as caught:
        load_encoding(path)
    assert f"{path.name}: " in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{1,1000}){1,1000})|.",
        r"\p{N}{1,3}|(?s:.)",
        "(?:ab){1000}|(?s:.)",
        r"[{]{3}|a\{9999999}|(?s:.)",
        "(?:a)+" * 200 + "|(?s:.)",
        "(?x) (?: a # ( \n )+ " + "(?: b [#] c # ) \n )+" * 40 + "|(?s:.)",
        "(?:" * 60 + "a" + ")*" * 60 + "a|(?s:.)",
    ],
)
def test_repeats_that_do_not_explode_are_taken(pattern: str) -> None:
    assert "".join(PreTokenizer(pattern).split("aab1{{{")) == "aab1{{{"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(?:ab){1000}", 2000),
        ("(?P<n>a(b{2}c)+){5}", 20),
        (r"\{9}a{3}", 6),
        ("a{3", 3),
        ("(a))b{4}", 5),
        ("[a{9}]{2}", 2),
    ],
)
def test_the_states_of_a_pattern_are_counted(pattern: str, expected: int) -> None:
    assert states(pattern) == expected
    assert states(f"(?:{pattern}){{{MAX_STATES}}}") > MAX_STATES or expected < 2


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * 5000,
        "(?i)" + "aA" * 2500,
        "[ab]" + "(?:a)" * 4999,
        "(?:" + "ab" * 2500 + ")+",
        "(?s)(?:" + "a" * 4999 + ".)",
    ],
)
def test_a_long_text_that_every_match_contains_is_searched_for_at_once(pattern: str) -> None:
    # `regex` prepares such a search in cubic time, and asks for no time limit meanwhile
    began = time.process_time()
    PreTokenizer(pattern).match_at("a" * 6000, 0)
    PreTokenizer(pattern).match_at("ab" * 3000, 0)
    assert time.process_time() - began < 3


def test_threads_have_the_limit_of_their_caller() -> None:
    def allowed(_: int) -> float:
        return seconds_allowed()

    with time_limit(0.25):
        assert list(ordered(allowed, iter(range(20)), 4)) == [0.25] * 20
    assert seconds_allowed() == 5


def test_two_threads_have_limits_of_their_own() -> None:
    found: dict[float, float] = {}
    ready = threading.Barrier(2)

    def work(seconds: float) -> None:
        with time_limit(seconds):
            ready.wait(5)
            began = time.process_time()
            with pytest.raises(PatternTimeoutError, match=f"{seconds} s"):
                encoding.encode_ordinary("a" * 80)
            found[seconds] = time.process_time() - began

    encoding = Encoding("own", pat_str=BACKTRACKS, mergeable_ranks=BYTES, special_tokens={})
    threads = [threading.Thread(target=work, args=(seconds,)) for seconds in (0.3, 0.9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0.3, 0.9]


def test_work_that_ends_in_time_is_not_disturbed_afterwards() -> None:
    for seconds in (0.0001, 0.0005, 0.001, 0.002):
        for _ in range(200):
            with contextlib.suppress(TimeoutError):
                assert run_within(seconds, lambda: sum(range(20_000))) == 199_990_000
            sum(range(5_000))  # where a late exception would come


def test_what_the_work_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        run_within(1, lambda: 1 // 0)


@pytest.mark.parametrize("write", FILES)
def test_a_pattern_that_is_too_slow_in_a_text_names_its_file(
    tmp_path: Path, write: Callable[[Path, str], Path]
) -> None:
    path = write(tmp_path, BACKTRACKS)
    for _ in range(2):  # the second time from the cache
        said = refused("count", "-e", path, "--timeout", "0.3", "-t", "a" * 80)
        assert f"--text: pattern: more than 0.3 s at byte 0: the pattern of {path}" in said.replace("character", "byte")


@pytest.mark.parametrize("write", [tiktoken, minbpe])
def test_a_pattern_that_leaves_text_out_names_its_file(tmp_path: Path, write: Callable[[Path, str], Path]) -> None:
    path = write(tmp_path, "b+")
    assert f"pattern does not match at byte 0: 'ab', the pattern of {path}" in refused("count", "-e", path, "-t", "ab")


def test_a_watching_thread_that_dies_at_once_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory was short, the thread ended before it could say that it ran, and its starter waited for ever."""
    monkeypatch.setattr("_thread.start_new_thread", lambda *_: 0)
    assert run_within(5, lambda: 7) == 7


@pytest.mark.parametrize("pattern", [r"(?=[\s\S]*b)a|[\s\S]", r"(?:a|aa)+b(?<!..)|[\s\S]"])
def test_a_pattern_that_is_too_slow_in_the_first_block_is_not_tried_on_the_next(pattern: str) -> None:
    """It once was: a text of 60 MiB took fourteen times the limit, and a longer one hundreds."""
    read = []

    def blocks() -> Iterator[bytes]:
        for number in range(20):
            read.append(number)
            yield b"a" * BLOCK_BYTES

    pre_tokenizer = PreTokenizer(pattern)
    with time_limit(0.2), pytest.raises(PatternTimeoutError, match=r"more than 0\.2 s at byte"):
        list(read_chunks(blocks(), pre_tokenizer))
    assert read == [0]


@pytest.mark.parametrize("depth", [100, 200, 3000])
@pytest.mark.parametrize(
    ("before", "after"), [("[", "]"), ("[^b", "]"), ("[b~~[c", "]]"), ("(?:", ")+"), ("(?:b", "){1,2}")]
)
def test_classes_and_groups_nested_however_deep_are_a_pattern_or_refused(before: str, after: str, depth: int) -> None:
    with contextlib.suppress(PatternError):
        assert PreTokenizer(before * depth + "a" + after * depth + r"|[\s\S]").split("ab") == ["a", "b"]


@pytest.mark.parametrize("pattern", ["[ab]{500000000}|x", "(?:a{65535}){65535}", *REPEATS], ids=lambda text: text[:20])
@pytest.mark.parametrize("option", ["--grep", "--models"])
def test_a_search_has_the_limits_of_every_other_pattern(option: str, pattern: str) -> None:
    assert f"{option}: its repeats make more than" in refused("inspect-ranks", f"{option}={pattern}")


@pytest.mark.parametrize(
    ("pattern", "what"),
    [("(?R)?a", "a group calls itself"), ("(" * 3000 + ")" * 3000, "not a regex"), (LONG, "to compile")],
    ids=["calls itself", "deep", "long"],
)
def test_a_search_ends_whatever_the_pattern_is(pattern: str, what: str) -> None:
    with pytest.raises((InputError, PatternError), match=what):
        found_in({0: "ab"}, pattern, 1.0)


def test_a_search_takes_a_bounded_time_in_all_texts_together() -> None:
    texts = dict.fromkeys(range(100_000), "a" * 22 + "c")
    with pytest.raises(InputError, match="for all texts"):
        found_in(texts, "(?:a|aa)+b", 0.1)


def test_a_search_for_a_long_text_is_prepared_in_no_time() -> None:
    assert found_in({0: "a" * 20_000, 1: "a" * 100}, "a" * 10_000, 5.0) == [0]
