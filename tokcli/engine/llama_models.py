"""The models of llama.cpp, each for one stretch of text: BPE by scores and by merges, words, Unigram, longest token."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from tokcli.engine import llama_unicode as characters
from tokcli.engine.bpe import last_two
from tokcli.engine.byte_alphabet import all_bytes_of
from tokcli.engine.charsmap import Charsmap
from tokcli.engine.llama_patterns import DIGITS_FROM_THE_RIGHT, KIMI, KIMI_PATTERN, PreType
from tokcli.engine.models import byte_token
from tokcli.engine.native_text import NativeText
from tokcli.engine.normalizer import to_byte_chars
from tokcli.engine.pair_bpe import SHIFT, in_order, last_two_ids, merge
from tokcli.engine.piece_cache import CACHE_PIECE_CHARS, CACHE_PIECES
from tokcli.engine.ranked import Ranked, ranks_of_merges
from tokcli.engine.spm_normalizer import SPACE
from tokcli.engine.unicode_classes import CHINESE
from tokcli.engine.unigram import UNKNOWN_PENALTY, prefixes, single
from tokcli.errors import InputError

_NO_TOKEN = 1 << 31  # the number of text that no merge knows


class Spm:
    """SentencePiece's BPE as llama.cpp has it: any token may come out of merging, unknown characters become bytes."""

    def __init__(self, ids: Mapping[str, int], scores: Sequence[float], byte_id: Callable[[int], int]) -> None:
        self._ids, self._scores, self._byte_id = ids, scores, byte_id
        self._cache: dict[str, list[int]] = {}

    @cached_property
    def _word_pattern(self) -> re.Pattern[str]:
        """Cuts where nothing can merge: before spaces, if no token has a space behind something else."""
        inside = re.compile(f"[^{SPACE}]{SPACE}")
        whole = any(map(inside.search, self._ids))
        return re.compile("(?s:.+)" if whole else f"{SPACE}*[^{SPACE}]+|{SPACE}+")

    @property
    def native(self) -> NativeText | None:
        """The native twin."""
        from tokcli.engine import native_models

        numbers = self._byte_ids
        return native_models.guarded(lambda: native_models.llama_pieces(self._ids, self._scores, numbers))

    @property
    def _byte_ids(self) -> list[int | None]:
        found: list[int | None] = []
        for byte in range(256):
            try:
                found.append(self._byte_id(byte))
            except InputError:
                found.append(None)
        return found

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        ids: list[int] = []
        for word in self._word_pattern.findall(text.replace(" ", SPACE)):
            found = self._cache.get(word)
            if found is None:
                found = self._merged(word)
                if len(word) <= CACHE_PIECE_CHARS:
                    if len(self._cache) >= CACHE_PIECES:
                        self._cache.clear()
                    self._cache[word] = found
            ids += found
        return ids

    def _merged(self, text: str) -> list[int]:
        symbols = list(text)
        count = len(symbols)
        following, previous = list(range(1, count + 1)), list(range(-1, count - 1))
        agenda: list[tuple[float, int, int, int]] = []

        def consider(left: int, right: int) -> None:
            both = symbols[left] + symbols[right]
            number = self._ids.get(both)
            if number is not None:
                heapq.heappush(agenda, (-self._scores[number], left, right, len(both)))

        for at in range(count - 1):
            consider(at, at + 1)
        while agenda:
            _, left, right, size = heapq.heappop(agenda)
            if not symbols[left] or not symbols[right] or len(symbols[left]) + len(symbols[right]) != size:
                continue
            symbols[left] += symbols[right]
            symbols[right] = ""
            behind = following[left] = following[right]
            if behind < count:
                previous[behind] = left
            if previous[left] >= 0:
                consider(previous[left], left)
            if behind < count:
                consider(left, behind)
        ids: list[int] = []
        for symbol in symbols:
            if symbol:
                number = self._ids.get(symbol)
                ids += map(self._byte_id, symbol.encode()) if number is None else (number,)
        return ids

    @cached_property
    def _order(self) -> dict[str, float]:
        """What merges first has the lowest number."""
        return {text: -self._scores[number] for text, number in self._ids.items()}

    def parents(self, text: str) -> tuple[int, int] | None:
        """The two ids that merge into a token; None where none do."""
        found = last_two(self._order, text)
        if found is None or found[0] not in self._ids or found[1] not in self._ids:
            return None
        return self._ids[found[0]], self._ids[found[1]]


class StringBpe:
    """BPE by merges of texts; what merging leaves need not be a token, and is then looked up byte by byte."""

    def __init__(self, ids: Mapping[str, int], merges: Sequence[tuple[str, str]], pre: PreType) -> None:
        self._ids, self._pre = ids, pre
        self._size = len(ids)
        self._numbers = dict(ids)  # of tokens their ids, and of other texts in merges numbers beyond them
        self._merges: dict[int, tuple[int, int]] = {}
        try:  # where all are tokens and no merge is there twice, as it should be
            pairs = [ids[left] << SHIFT | ids[right] for left, right in merges]
            made = [ids[left + right] for left, right in merges]
            self._merges = dict(zip(pairs, enumerate(made), strict=True))
        except KeyError:
            pass
        if len(self._merges) == len(merges):
            return
        self._merges = {}
        for rank, (left, right) in enumerate(merges):
            pair = self._number(left) << SHIFT | self._number(right)
            self._merges.setdefault(pair, (rank, self._number(left + right)))

    def _number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def ranks(self) -> Ranked | None:
        """The same as ranks by bytes: see `ranks_of_merges`."""
        found = zip(self._ids.values(), all_bytes_of(self._ids), strict=True)
        tokens = {number: data for number, data in found if data is not None}
        merges = in_order(self._merges)
        if any(made >= self._size for _, _, made in merges):
            return None
        return ranks_of_merges(tokens, merges, finds_whole=self._pre.ignore_merges)

    def parents(self, text: str) -> tuple[int, int] | None:
        """The two ids that merge into a token; None where none do."""
        parts = [self._numbers.get(char, _NO_TOKEN) for char in text]
        found = last_two_ids(parts, self._merges, self._ids[text])
        return found if found is not None and max(found) < self._size else None

    @cached_property
    def _steps(self) -> list[tuple[str, re.Pattern[str] | None]]:
        """(what the pattern looks at, the pattern), None for digits from the right."""
        steps: list[tuple[str, re.Pattern[str] | None]] = []
        for pattern in self._pre.patterns:
            if pattern == DIGITS_FROM_THE_RIGHT:
                steps.append(("collapsed", None))
            elif pattern == KIMI:
                steps.append(("han", re.compile(characters.collapsed_pattern(KIMI_PATTERN), re.ASCII)))
            elif characters.has_classes(pattern):
                steps.append(("collapsed", re.compile(characters.collapsed_pattern(pattern), re.ASCII)))
            else:
                steps.append(("white", re.compile(pattern, re.ASCII)))
        return steps

    def cut(self, text: str) -> list[str]:
        """The words of a text: each pattern cuts what the one before left."""
        pieces = [(0, len(text))] if text else []
        for sees, pattern in self._steps:
            seen = {
                "collapsed": characters.collapsed,
                "white": characters.white_collapsed,
                "han": characters.collapsed_with_han,
            }[sees](text)
            out: list[tuple[int, int]] = []
            for begin, end in pieces:
                part = seen[begin:end]
                spans = _digits_from_the_right(part) if pattern is None else characters.spans(pattern, part)
                out += [(begin + a, begin + b) for a, b in spans]
            pieces = out
        return [text[begin:end] for begin, end in pieces]

    def split(self, text: str) -> list[str]:
        """The words as merging sees them."""
        words = self.cut(text)
        return [to_byte_chars(word) for word in words] if self._pre.byte_encode else words

    def encode_word(self, word: str) -> Iterator[int]:
        """The ids of a word; bytes for which there is no token are left out, as llama.cpp does."""
        whole = self._ids.get(word)
        if whole is not None and (self._pre.ignore_merges or (self._pre.lines_whole and not word.strip("\n"))):
            yield whole
            return
        numbers = self._numbers
        parts = [(numbers.get(char, _NO_TOKEN), 1) for char in word]
        at = 0
        for number, size in merge(parts, self._merges):
            if number < self._size:
                yield number
            else:
                yield from self._byte_ids(word[at : at + size])
            at += size

    def _byte_ids(self, text: str) -> Iterator[int]:
        for byte in text.encode():
            name = byte_token(byte) if not self._pre.byte_encode else chr(byte) if byte < 128 else ""
            if (number := self._ids.get(name)) is not None:
                yield number


_DIGITS = re.compile(f"[0-9{characters.NUMBER}]+")


def _digits_from_the_right(text: str) -> Iterator[tuple[int, int]]:
    """Digits in threes, counted from the end of a run; what stands before a run goes with its first group."""
    at = 0
    for run in _DIGITS.finditer(text):
        end = run.start() + (len(run[0]) % 3 or 3)
        while end <= run.end():
            yield at, end
            at, end = end, end + 3
    if at < len(text):
        yield at, len(text)


def white_space_words(text: str, lowercase: bool) -> Iterator[str]:
    """What stands between white space."""
    words = "".join(" " if characters.is_white(char) else char for char in text).split(" ")
    for word in words:
        if word:
            yield "".join(map(characters.lower, word)) if lowercase else word


class WordPieces:
    """BERT's model: words by the longest tokens in them, or unknown."""

    def __init__(self, ids: Mapping[str, int], unknown: int, *, lowercase: bool, strip_accents: bool) -> None:
        self._ids, self._unknown = ids, unknown
        self._rule = word_rule(lowercase=lowercase, strip_accents=strip_accents)
        self._longest = max(map(len, ids), default=0)
        self._cache: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        ids: list[int] = []
        for word in self._words(text):
            found = self._cache.get(word)
            if found is None:
                found = self._pieces(SPACE + word)
                if len(word) <= CACHE_PIECE_CHARS:
                    if len(self._cache) >= CACHE_PIECES:
                        self._cache.clear()
                    self._cache[word] = found
            ids += found
        return ids

    @property
    def native(self) -> NativeText | None:
        """The native twin."""
        from tokcli.engine import native_models

        return native_models.guarded(lambda: native_models.llama_words(self._ids, self._unknown, self._rule))

    def _pieces(self, word: str) -> list[int]:
        ids, at = [], 0
        while at < len(word):
            for end in range(min(len(word), at + self._longest), at, -1):
                if (number := self._ids.get(word[at:end])) is not None:
                    ids.append(number)
                    at = end
                    break
            else:
                return [self._unknown]
        return ids

    def _words(self, text: str) -> Iterator[str]:
        return (word for word in "".join(map(self._rule, text)).split(" ") if word)


def word_rule(*, lowercase: bool, strip_accents: bool) -> Callable[[str], str]:
    """What BERT makes of a character: a text, between spaces if it is a word of its own."""

    def rule(char: str) -> str:
        if strip_accents:
            char = characters.decomposed(char)
        kind = _word_kind(char)
        if kind == "space":
            return " "
        if kind == "nothing" or (kind == "mark" and strip_accents):
            return ""
        low = characters.lower(char) if lowercase else char
        return f" {low} " if kind == "sign" else low

    return rule


_SIGNS = re.compile(f"[$+<=>^`|~{CHINESE}]")


def _word_kind(char: str) -> str:
    """What becomes of a character: space, nothing, mark, sign (a word of its own), or letter."""
    if characters.is_white(char):
        return "space"
    if char in "\0\ufffd" or characters.class_of("C").match(char):
        return "nothing"
    if characters.class_of("M").match(char):
        return "mark"
    return "sign" if characters.class_of("P").match(char) or _SIGNS.match(char) else "letter"


class UgmPiece(NamedTuple):
    """A token of a Unigram model."""

    text: str
    id: int
    score: float
    is_normal: bool
    is_user_defined: bool


class Ugm:
    """Unigram in floats of 64 bits, after a normalizer like SentencePiece's."""

    def __init__(
        self, pieces: Sequence[UgmPiece], unknown: int, charsmap: bytes, space_prefix: bool, trims: bool
    ) -> None:
        self._unknown, self._space_prefix, self._trims = unknown, space_prefix, trims
        self._charsmap = Charsmap(charsmap)
        self._tokens = {p.text: (0.0 if p.is_user_defined else p.score, p.id) for p in pieces}
        self._prefixes = prefixes(self._tokens)
        self._user_defined = [p.text for p in pieces if p.is_user_defined and p.text]
        self._kept = prefixes(dict.fromkeys(self._user_defined))
        lowest = min((p.score for p in pieces if p.is_normal), default=3.4028234663852886e38)
        self._unknown_score = single(lowest - UNKNOWN_PENALTY)

    @property
    def native(self) -> NativeText | None:
        """The native twin."""
        from tokcli.engine import native_models

        tokens = {text: token for text, token in self._tokens.items() if text}
        unknown, flags = (self._unknown_score, self._unknown), (self._space_prefix, self._trims)
        return native_models.guarded(
            lambda: native_models.llama_unigram(tokens, unknown, self._charsmap, self._user_defined, flags)
        )

    def normalize(self, text: str) -> str:
        """The text as the model sees it: one space before each word, if spaces are counted, else as they stand."""
        out: list[str] = []
        in_word = has_prefix = False
        for char in self._replaced(text):
            if char == " ":
                in_word = False
                if not self._trims:
                    out.append(SPACE)
                continue
            if not in_word:
                in_word = True
                if (self._space_prefix and not has_prefix) or self._trims:
                    out.append(SPACE)
                    has_prefix = True
            out.append(char)
        return "".join(out)

    def _replaced(self, text: str) -> Iterator[str]:
        data = text.encode()
        at = index = 0  # in the bytes, in the text
        while index < len(text):
            # llama.cpp keeps even the beginning of a user-defined token as it is
            end = index
            while end < len(text) and text[index : end + 1] in self._kept:
                end += 1
            if end > index:
                yield from text[index:end]
                at += len(text[index:end].encode())
                index = end
                continue
            found = self._charsmap.longest(data, at)
            if found is None:
                yield text[index]
                at += len(text[index].encode())
                index += 1
            else:
                yield from found[1].decode("utf-8", "replace")
                index += len(data[at : at + found[0]].decode("utf-8", "replace"))
                at += found[0]

    def encode(self, text: str) -> list[int]:
        """The ids of a text; unknown characters that follow on one another are one."""
        text = self.normalize(text)
        size = len(text)
        best = [float("-inf")] * (size + 1)
        best[0] = 0.0
        last = [(self._unknown, 0)] * (size + 1)  # the id of the last token on the best way, and where it begins
        tokens, beginnings = self._tokens, self._prefixes
        for begin in range(size):
            here = best[begin]
            has_single = False
            for end in range(begin + 1, size + 1):
                part = text[begin:end]
                if part not in beginnings:
                    break
                token = tokens.get(part)
                if token is None:
                    continue
                has_single |= end == begin + 1
                if here + token[0] > best[end]:
                    best[end], last[end] = here + token[0], (token[1], begin)
            if not has_single and here + self._unknown_score > best[begin + 1]:
                best[begin + 1], last[begin + 1] = here + self._unknown_score, (self._unknown, begin)
        ids: list[int] = []
        end = size
        while end > 0:
            number, end = last[end]
            if not (ids and number == ids[-1] == self._unknown):
                ids.append(number)
        return ids[::-1]


class Greedy:
    """The longest token at each place (RWKV), in bytes."""

    def __init__(self, ids: Mapping[bytes, int], unknown: Callable[[], int]) -> None:
        self._ids, self._unknown = ids, unknown
        self._longest = max(map(len, ids), default=0)

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        data = text.encode()
        ids, at = [], 0
        while at < len(data):
            for end in range(min(len(data), at + self._longest), at, -1):
                if (number := self._ids.get(data[at:end])) is not None:
                    ids.append(number)
                    at = end
                    break
            else:
                ids.append(self._unknown())
                at += 1
        return ids


_ESCAPE = re.compile(rb"\\(?:x([0-9a-f]{2})|(.))", re.DOTALL)


def unescaped(text: str) -> bytes:
    """RWKV's way of writing bytes: `\\n`, `\\x0a`."""

    def plain(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 16)])
        return {b"t": b"\t", b"n": b"\n", b"r": b"\r"}.get(match[2], match[2])

    return _ESCAPE.sub(plain, text.encode("utf-8", "surrogateescape"))
