"""The normalizers of a tokenizer.json, which change text before it is cut into pieces.

Each is a callable that changes an `Aligned` in place. Which ones a file has, and with which settings, is read by
formats/huggingface/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from tokcli.engine.bpe.byte_alphabet import CHAR_OF, to_byte_chars
from tokcli.engine.pipeline.aligned import Aligned, Change
from tokcli.engine.pipeline.finders import Finder
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.unicode import classes, forms
from tokcli.engine.unicode.ranges import SPACES


class Normalizer(Protocol):
    """A callable that changes a text in place."""

    def __call__(self, text: Aligned, /) -> None: ...


class NormalizerSequence(NamedTuple):
    """Applies normalizers one after the other."""

    normalizers: tuple[Normalizer, ...]

    def __call__(self, text: Aligned) -> None:
        for normalizer in self.normalizers:
            normalizer(text)


class UnicodeForm(NamedTuple):
    """Brings text into one of Unicode's normalization forms."""

    form: forms.Form

    def __call__(self, text: Aligned) -> None:
        text.rewrite(lambda t: forms.normalize(self.form, t), lambda t: forms.changes(self.form, t))


class Lowercase:
    """Turns every character into lower case."""

    def __call__(self, text: Aligned) -> None:
        text.rewrite(classes.lower, _lower_changes)


def _lower_changes(text: str) -> list[Change] | None:
    return [(low, int(at > 0)) for char in text for at, low in enumerate(classes.lower_character(char))]


class Without(NamedTuple):
    """Drops the characters of a class."""

    name: classes.Class

    def __call__(self, text: Aligned) -> None:
        if text.spans is None:
            text.text = classes.without(self.name, text.text)
        elif classes.one(self.name).search(text.text):
            one = classes.one(self.name)
            text.keep(lambda char: not one.match(char))


class Strip(NamedTuple):
    """Drops white space at the ends."""

    left: bool
    right: bool

    def __call__(self, text: Aligned) -> None:
        begin = len(text.text) - len(text.text.lstrip(SPACES)) if self.left else 0
        end = max(begin, len(text.text.rstrip(SPACES))) if self.right else len(text.text)
        if begin or end < len(text.text):
            text.transform([(char, 0) for char in text.text[begin:end]], begin)


class Prepend(NamedTuple):
    """Puts a text before any text that is not empty."""

    text: str

    def __call__(self, text: Aligned) -> None:
        text.prepend(self.text)


class Replace(NamedTuple):
    """Replaces what a pattern finds."""

    finder: Finder
    content: str
    literal: str | None = None  # the text that is found, if it is always the same

    def __call__(self, text: Aligned) -> None:
        if text.spans is None and self.literal is not None:
            size = len(text.text) + text.text.count(self.literal) * (len(self.content) - len(self.literal))
            text.check(size)
            text.text = text.text.replace(self.literal, self.content)
        else:
            text.substitute(self.finder.find(text.text), self.content)


class ByteLevelNormalizer:
    """Turns each byte into its character of GPT-2's alphabet."""

    def __call__(self, text: Aligned) -> None:
        text.rewrite(to_byte_chars, lambda t: list(byte_changes(t)))


def byte_changes(text: str) -> Iterator[Change]:
    """Yield the changes that turn text into GPT-2's alphabet; a character's bytes after its first are additions."""
    for char in text:
        for at, byte in enumerate(char.encode()):
            yield CHAR_OF[byte], int(at > 0)


class Nmt:
    """Drops control characters and turns unusual spaces into spaces (the rules of SentencePiece's nmt_nfkc)."""

    def __call__(self, text: Aligned) -> None:
        if text.spans is None:
            text.text = _NMT_OUT.sub("", text.text)
        else:
            text.keep(lambda char: not _NMT_OUT.match(char))
        text.text = _NMT_SPACE.sub(" ", text.text)


_NMT_OUT = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")
_NMT_SPACE = re.compile("[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]")


class Precompiled(NamedTuple):
    """Applies the charsmap of a SentencePiece model to grapheme clusters, or to their characters."""

    charsmap: Charsmap

    def __call__(self, text: Aligned) -> None:
        text.rewrite(lambda _: "".join(char for char, _ in self.changes(text)), lambda _: self.changes(text))

    def changes(self, text: Aligned) -> list[Change]:
        """Return the changes that the charsmap makes to the characters of a text."""
        changes: list[Change] = []
        for cluster in classes.clusters().findall(text.text):
            text.check(len(changes))
            if len(cluster.encode()) < _LONG_CLUSTER and (rule := self.charsmap.first(cluster)) is not None:
                _replace(changes, cluster, rule)
                continue
            for char in cluster:
                rule = self.charsmap.first(char)
                if rule is None:
                    changes.append((char, 0))
                else:
                    _replace(changes, char, rule)
        return changes


_LONG_CLUSTER = 6  # bytes: in a cluster of this size or more, the library looks up the single characters


def _replace(changes: list[Change], old: str, new: str) -> None:
    """Append the changes of `old` to `new`: extra new characters are additions, extra old ones go with the last."""
    added = len(new) - len(old)
    changes += [(char, int(at >= len(old))) for at, char in enumerate(new)]
    if added < 0 and changes:
        changes[-1] = (changes[-1][0], changes[-1][1] + added)


class Bert(NamedTuple):
    """Does what BERT's normalizer does; where `strip_accents` is None, accents are stripped if `lowercase` is set."""

    clean_text: bool
    handle_chinese_chars: bool
    strip_accents: bool | None
    lowercase: bool

    def __call__(self, text: Aligned) -> None:
        if self.clean_text:
            Without("BERT_CONTROL")(text)
            text.text = classes.one("SPACE").sub(" ", text.text)
        if self.handle_chinese_chars:
            text.rewrite(lambda t: _CHINESE.sub(r" \g<0> ", t), _chinese_changes)
        if self.lowercase if self.strip_accents is None else self.strip_accents:
            UnicodeForm("NFD")(text)
            Without("BERT_MARK")(text)
        if self.lowercase:
            Lowercase()(text)


_CHINESE = re.compile(f"[{classes.CHINESE}]")


def _chinese_changes(text: str) -> list[Change] | None:
    if not _CHINESE.search(text):
        return None
    changes: list[Change] = []
    for char in text:
        changes += [(" ", 0), (char, 1), (" ", 1)] if _CHINESE.match(char) else [(char, 0)]
    return changes


def one_of(normalizer: Normalizer | None) -> Normalizer | None:
    """Return a normalizer; of a sequence of at most one, that one, and None where that is empty."""
    if isinstance(normalizer, NormalizerSequence) and len(normalizer.normalizers) <= 1:
        return next(iter(normalizer.normalizers), None)
    return normalizer
