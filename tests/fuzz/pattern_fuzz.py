"""Random and mutated patterns, and what must hold for each: run `python tests/fuzz/pattern_fuzz.py COUNT [SEED]`.

Whatever the pattern, only our own errors are raised, each call ends in some seconds, and what `split --why`, `--diff`,
`--lint` and `--table` say is what the `regex` package does with the pattern.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

import regex

from tokcli.analysis.pattern.flavours import readings
from tokcli.analysis.pattern.lint import Report, lint
from tokcli.analysis.pattern.trace import trace
from tokcli.analysis.pieces.diff import Totals, regions
from tokcli.analysis.pieces.pieces import ChunkPieces
from tokcli.engine.base.time_limit import time_limit
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers.known_patterns import KNOWN_PATTERNS
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.pretokenizers.release import exact_class
from tokcli.engine.pretokenizers.rewrite import rewrite
from tokcli.engine.stream.chunks import Chunk
from tokcli.errors import PatternError, PatternTimeoutError

SECONDS = 0.5  # the time limit of each call
SLOW = 8.0  # seconds of this process that no call may take
BYTES = {bytes([value]): value for value in range(256)}

ATOMS = [
    *"abAZ0 .^$", r"\s", r"\S", r"\d", r"\w", r"\W", r"\p{L}", r"\P{L}", r"\p{Lu}", r"\p{N}", "[ab]", "[^a]", r"[^\s\p{L}]",
    "[[a-z]--[b]]", "[a-z&&[^b]]", r"\b", r"\B", r"\A", r"\z", r"\Z", r"\n", r"\r\n", "'", "é", "\u0301", "\U0001f642", "\n",
    r"\x{41}", r"\u0041", "[]a]", "[^]]", r"[\]]", r"\.", "-", "]", "}", "/", r"(?#c)", r"\R", r"\X", "\u202e", "\x1b",
]  # fmt: skip
OPENINGS = ["(?:", "(", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?s:", "(?P<n>", "(?-i:", "(?x:"]
QUANTIFIERS = [
    "",
    "",
    "",
    "?",
    "*",
    "+",
    "{2}",
    "{1,3}",
    "{0,2}",
    "{2,}",
    "++",
    "?+",
    "*+",
    "+?",
    "??",
    "{1,2}+",
    "{,3}",
]
ODD = [r"\1", "(?P=n)", "(?1)", "(?(1)a|b)", "(?|a|b)", "(?&n)", "(?", ")", "(", "[", "{", "*", "\\", "(?i)", "|", "[[:alpha:]]",
       "(?V0)", "(?x)", "#", "(?R)?", r"\K", r"\G", r"\N{SPACE}", r"\p{", r"\L<a>", "(?:a){e<2}", "{999999999}"]  # fmt: skip
TEXTS = [
    "",
    "a",
    "ab",
    "abA0 ",
    "it's 2024\n\n",
    "  a\r\n\tb",
    "ééa\u0301 \U0001f642",
    "aaaaaaab",
    "Az09 .^$-]}/",
    "\x1b[31m\u202e",
    "bab cab",
    "\n\n  \n a",
]


def random_pattern(chance: random.Random, depth: int = 0) -> str:
    """Return a pattern of a few alternatives, mostly well formed."""
    return "|".join(random_branch(chance, depth) for _ in range(chance.choice([1, 1, 1, 2]) + (not depth)))


def random_branch(chance: random.Random, depth: int) -> str:
    made = ""
    for _ in range(chance.choice([1, 1, 2, 3])):
        if depth < 3 and chance.random() < 0.2:
            made += chance.choice(OPENINGS) + random_pattern(chance, depth + 1) + ")"
        else:
            made += chance.choice(ODD) if chance.random() < 0.03 else chance.choice(ATOMS)
        made += chance.choice(QUANTIFIERS)
    return made


def mutated(chance: random.Random, pattern: str) -> str:
    """Return a pattern in which some characters were dropped, doubled, replaced or moved."""
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.choices(range(len(pattern) + 1), k=2))
        to = min(to, at + 12)
        new = chance.choice([*ATOMS, *ODD, *OPENINGS, *QUANTIFIERS, pattern[at:to] * 2])
        pattern = chance.choice(
            [pattern[:at] + new + pattern[at:], pattern[:at] + pattern[to:], pattern[:at] + new + pattern[to:]]
        )
    return pattern


def patterns(seed: int) -> Iterator[tuple[random.Random, str]]:
    """Yield random patterns without end, each with the randomness for its texts."""
    known = sorted(KNOWN_PATTERNS)
    for number in range(sys.maxsize):
        chance = random.Random(f"{seed} {number}")
        pattern = mutated(chance, chance.choice(known)) if chance.random() < 0.4 else random_pattern(chance)
        if chance.random() < 0.6:
            pattern += r"|(?s:.)"
        yield chance, pattern


def in_time(name: str, work: Callable[[], object], counts: Counter[str]) -> object:
    """Return `work()`, or the PatternError that it raised; AssertionError where it took too long."""
    began = time.process_time()
    try:
        with time_limit(SECONDS):
            return work()
    except PatternError as error:
        counts[f"{name}: {'time' if isinstance(error, PatternTimeoutError) else 'refused'}"] += 1
        return error
    finally:
        assert time.process_time() - began < SLOW, f"{name} took {time.process_time() - began:.1f} s"


def check(pattern: str, text: str, counts: Counter[str]) -> None:
    """Check all claims about a pattern and a text."""
    counts["patterns"] += 1
    made = in_time("compiling", lambda: PreTokenizer(pattern), counts)
    parsed = in_time("parsing", lambda: parse(pattern), counts)
    if not isinstance(made, PreTokenizer):
        return
    counts["compiled"] += 1
    if isinstance(parsed, PatternError):
        return
    in_time("readings", lambda: readings(pattern), counts)
    pieces = in_time("splitting", lambda: made.split(text), counts)
    check_alternatives(made, text, pieces, counts)
    check_trace(made, pattern, text, pieces, counts)
    report = in_time("lint", lambda: lint(pattern), counts)
    if isinstance(report, Report):
        check_lint(made, report, counts)


def check_alternatives(made: PreTokenizer, text: str, pieces: object, counts: Counter[str]) -> None:
    """The pieces of the table are the pieces."""
    named = in_time("naming", lambda: list(made.split_with_alternatives(text)), counts)
    if isinstance(pieces, list) and isinstance(named, list):
        counts["tables"] += 1
        assert [piece for piece, _ in named] == pieces
    elif not isinstance(pieces, PatternTimeoutError) and not isinstance(named, PatternTimeoutError):
        assert type(named) is type(pieces), (named, pieces)


def check_trace(made: PreTokenizer, pattern: str, text: str, pieces: object, counts: Counter[str]) -> None:
    """What a trace says matches is what matches: of the pattern, and of each alternative alone."""
    at = 0
    for piece in ["", *(pieces if isinstance(pieces, list) else [])][:4]:
        at += len(piece)
        traced = in_time("trace", lambda at=at: trace(pattern, text, at), counts)  # type: ignore[misc]
        whole = in_time("matching", lambda at=at: made.match_at(text, at), counts)  # type: ignore[misc]
        if isinstance(traced, PatternError) or isinstance(whole, PatternError):
            continue
        tree = parse(pattern)
        for attempt, alternative in zip(traced.attempts, tree.alternatives, strict=True):
            if attempt.not_tried:
                counts["not tried"] += 1
                continue
            # with the classes of the installed release, or of Unicode 16.0: regex reads some odd sets differently then
            ends = []
            for spelled in (exact_class, lambda *_: None):
                alone = regex.compile(rewrite(tree.head + alternative.source, spelled), flags=regex.V1)
                try:
                    match = alone.match(text, at, timeout=SECONDS)
                except TimeoutError:
                    return
                ends.append(match and match.end())
            assert attempt.end in ends, (attempt, ends)
            counts["attempts"] += 1
        if not any(attempt.not_tried for attempt in traced.attempts):
            won = traced.winner
            assert (won and won.end) == (whole and whole.end()), (won, whole)


def check_lint(made: PreTokenizer, report: Report, counts: Counter[str]) -> None:
    """The examples of findings show what the findings say."""
    for found in report.findings:
        counts[f"finding: {found.check}"] += 1
        assert 0 <= found.start <= found.end <= len(made.pat_str)
        if found.example is None:
            continue
        if found.check in ("left out", "empty") and found.severity == "error":
            pieces = in_time("splitting", lambda e=found.example: made.split(e), counts)  # type: ignore[misc]
            assert isinstance(pieces, PatternError), (found, pieces)


def check_diff(left: str, right: str, text: str, counts: Counter[str]) -> None:
    """The regions of a difference are those between boundaries that both have, where their pieces are not the same."""
    sides = []
    for pattern in (left, right):
        try:
            with time_limit(SECONDS):
                encoding = Encoding("own", pat_str=pattern, mergeable_ranks=BYTES, special_tokens={})
                chunk = ChunkPieces(encoding, PreTokenizer(pattern), Chunk(text, 0))
                assert b"".join(chunk.data).decode() == text
                sides.append(chunk)
        except PatternError:
            return
    with time_limit(SECONDS):
        try:
            found = list(regions([sides[0]], [sides[1]], Totals()))
        except PatternError:
            return
    counts["diffs"] += 1
    ends = []
    for side in sides:
        at, places = 0, [0]
        for piece in side.data:
            at += len(piece)
            places.append(at)
        ends.append(places)
    both = sorted(set(ends[0]) & set(ends[1]))
    expected = []
    for begin, end in pairwise(both):
        inner = [[place for place in places if begin < place < end] for places in ends]
        if any(inner):
            expected.append((begin, end - begin))
    assert [(region.offset, region.size) for region in found] == expected, (found, expected)


def fuzz(count: int, seed: int) -> Counter[str]:
    """Check `count` patterns; the AssertionError or the foreign exception has a note with the pattern and the text."""
    counts: Counter[str] = Counter()
    before = "."
    for (chance, pattern), _ in zip(patterns(seed), range(count), strict=False):
        text = "".join(chance.choices(TEXTS, k=2))
        try:
            check(pattern, text, counts)
            check_diff(before, pattern, text, counts)
        except BaseException as error:
            error.args = (f"pattern {pattern!r}, before it {before!r}, text {text!r}: {error!r}",)
            raise
        before = pattern
    return counts


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began = time.perf_counter()
    counts = fuzz(count, seed)
    print(f"{count} patterns in {time.perf_counter() - began:.0f} s: {dict(counts)}")


if __name__ == "__main__":
    main()
