"""The normalizers of a tokenizer.json, which change text before it is cut into pieces.

A function for each kind of step changes an `Aligned` in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from tokcli.engine.bpe.byte_alphabet import CHAR_OF, to_byte_chars
from tokcli.engine.pipeline.aligned import Aligned, Change
from tokcli.engine.pipeline.finders import find
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.spec import normalizers as spec
from tokcli.engine.spec.normalizers import Normalizer
from tokcli.engine.spec.patterns import LiteralText
from tokcli.engine.unicode import classes, forms
from tokcli.engine.unicode.ranges import SPACES


def normalize(steps: Iterable[Normalizer], text: Aligned) -> None:
    """Change a text as normalizers do, one after the other."""
    for step in steps:
        _RULES[type(step)](step, text)


def _form(step: spec.UnicodeForm, text: Aligned) -> None:
    text.rewrite(lambda t: forms.normalize(step.form, t), lambda t: forms.changes(step.form, t))


def _lower(_: spec.Lowercase, text: Aligned) -> None:
    text.rewrite(classes.lower, _lower_changes)


def _lower_changes(text: str) -> list[Change] | None:
    return [(low, int(at > 0)) for char in text for at, low in enumerate(classes.lower_character(char))]


def _without(step: spec.Without, text: Aligned) -> None:
    if text.spans is None:
        text.text = classes.without(step.name, text.text)
    elif classes.one(step.name).search(text.text):
        one = classes.one(step.name)
        text.keep(lambda char: not one.match(char))


def _strip(step: spec.Strip, text: Aligned) -> None:
    begin = len(text.text) - len(text.text.lstrip(SPACES)) if step.left else 0
    end = max(begin, len(text.text.rstrip(SPACES))) if step.right else len(text.text)
    if begin or end < len(text.text):
        text.transform([(char, 0) for char in text.text[begin:end]], begin)


def _replace(step: spec.Replace, text: Aligned) -> None:
    if text.spans is None and isinstance(step.pattern, LiteralText):
        literal = step.pattern.text
        text.check(len(text.text) + text.text.count(literal) * (len(step.content) - len(literal)))
        text.text = text.text.replace(literal, step.content)
    else:
        text.substitute(find(step.pattern, text.text), step.content)


def byte_changes(text: str) -> Iterator[Change]:
    """Yield the changes that turn text into GPT-2's alphabet; a character's bytes after its first are additions."""
    for char in text:
        for at, byte in enumerate(char.encode()):
            yield CHAR_OF[byte], int(at > 0)


def _nmt(_: spec.Nmt, text: Aligned) -> None:
    if text.spans is None:
        text.text = _NMT_OUT.sub("", text.text)
    else:
        text.keep(lambda char: not _NMT_OUT.match(char))
    text.text = _NMT_SPACE.sub(" ", text.text)


_NMT_OUT = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")
_NMT_SPACE = re.compile("[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]")
charsmap_of = lru_cache(maxsize=8)(Charsmap)


def _precompiled(step: spec.Precompiled, text: Aligned) -> None:
    charsmap = charsmap_of(step.charsmap)
    text.rewrite(lambda _: "".join(char for char, _ in _mapped(charsmap, text)), lambda _: _mapped(charsmap, text))


def _mapped(charsmap: Charsmap, text: Aligned) -> list[Change]:
    """Return the changes that a charsmap makes to the characters of a text."""
    changes: list[Change] = []
    for cluster in classes.clusters().findall(text.text):
        text.check(len(changes))
        if len(cluster.encode()) < _LONG_CLUSTER and (rule := charsmap.first(cluster)) is not None:
            _exchange(changes, cluster, rule)
            continue
        for char in cluster:
            rule = charsmap.first(char)
            if rule is None:
                changes.append((char, 0))
            else:
                _exchange(changes, char, rule)
    return changes


_LONG_CLUSTER = 6  # bytes: in a cluster of this size or more, the library looks up the single characters


def _exchange(changes: list[Change], old: str, new: str) -> None:
    """Append the changes of `old` to `new`: extra new characters are additions, extra old ones go with the last."""
    added = len(new) - len(old)
    changes += [(char, int(at >= len(old))) for at, char in enumerate(new)]
    if added < 0 and changes:
        changes[-1] = (changes[-1][0], changes[-1][1] + added)


def _bert(step: spec.Bert, text: Aligned) -> None:
    if step.clean_text:
        _without(spec.Without("BERT_CONTROL"), text)
        text.text = classes.one("SPACE").sub(" ", text.text)
    if step.handle_chinese_chars:
        text.rewrite(lambda t: _CHINESE.sub(r" \g<0> ", t), _chinese_changes)
    if step.lowercase if step.strip_accents is None else step.strip_accents:
        _form(spec.UnicodeForm("NFD"), text)
        _without(spec.Without("BERT_MARK"), text)
    if step.lowercase:
        _lower(spec.Lowercase(), text)


_CHINESE = re.compile(f"[{classes.CHINESE}]")


def _chinese_changes(text: str) -> list[Change] | None:
    if not _CHINESE.search(text):
        return None
    changes: list[Change] = []
    for char in text:
        changes += [(" ", 0), (char, 1), (" ", 1)] if _CHINESE.match(char) else [(char, 0)]
    return changes


_RULES: dict[type, Callable[[Any, Aligned], None]] = {
    spec.UnicodeForm: _form,
    spec.Lowercase: _lower,
    spec.Without: _without,
    spec.Strip: _strip,
    spec.Prepend: lambda step, text: text.prepend(step.text),
    spec.Replace: _replace,
    spec.ByteLevelNormalizer: lambda _, text: text.rewrite(to_byte_chars, lambda t: list(byte_changes(t))),
    spec.Nmt: _nmt,
    spec.Precompiled: _precompiled,
    spec.Bert: _bert,
}
