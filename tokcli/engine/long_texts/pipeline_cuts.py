"""Where texts may be cut for a tokenizer.json: its added tokens, normalizers, pre-tokenizers and model allow it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokcli.engine.bindings.pipelines import finds_nothing, squeezed
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE, byte_token
from tokcli.engine.bpe.pairs import SHIFT
from tokcli.engine.long_texts.text_cuts import NeighbourTable, TextCuts
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pipeline.normalizers import normalize
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.spec import normalizers as norm
from tokcli.engine.spec import splitters as split
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.models import Pairs
from tokcli.engine.spec.normalizers import Normalizer
from tokcli.engine.spec.patterns import Characters, LiteralText
from tokcli.engine.spec.splitters import Splitter
from tokcli.engine.unicode.ranges import SPACES

# They change each character that a cut may be after, and white space, without a look at its neighbours.
_BY_CHARACTER = (norm.UnicodeForm, norm.Lowercase, norm.Without, norm.Nmt, norm.Precompiled, norm.Bert)


def cuts_of_pipeline(parts: Pipeline) -> PipelineCuts | None:
    """Return where a tokenizer's texts may be cut; None where a part of it may do anything."""
    steps, splitters = parts.spec.normalizer, parts.spec.splitter
    are_known = all(isinstance(step, (*_BY_CHARACTER, norm.Prepend, norm.Strip)) or _replaces(step) for step in steps)
    if not are_known or parts.is_byte_level or "" in parts.added_texts.values():
        return None
    pieces = _PieceCuts(splitters)
    model = None
    is_one_piece = all(isinstance(one, split.Metaspace) or finds_nothing(one, steps) for one in splitters)
    if not pieces.may_cut and is_one_piece:
        model = _merges_of(parts.spec.model)
    if not pieces.may_cut and model is None:
        return None
    return PipelineCuts(parts, steps, pieces, model)


def _replaces(step: Normalizer) -> bool:
    return isinstance(step, norm.Replace) and (isinstance(step.pattern, LiteralText) or squeezed(step) is not None)


class PipelineCuts(TextCuts):
    """Cuts where each stage treats the text on both sides by itself."""

    def __init__(
        self, parts: Pipeline, steps: Sequence[Normalizer], pieces: _PieceCuts, model: _MergeCuts | None
    ) -> None:
        self._steps, self._pieces, self._model = steps, pieces, model
        tokens = [(token, parts.added_texts[token.id]) for token in parts.spec.added if token.content]
        self._raw = _AddedCuts((token, text) for token, text in tokens if not token.normalized)
        self._normalized = _AddedCuts((token, text) for token, text in tokens if token.normalized)

    def is_cut(self, text: str, at: int) -> bool:
        """Return whether a text may be cut before the white space at `at`; see `TextCuts`."""
        left, right = text[at - 1], text[at]
        if text[:at].endswith(self._raw.texts) or not self._raw.allow(left, right):
            return False
        for step in self._steps:
            if isinstance(step, norm.Prepend | norm.Strip):
                continue  # at the ends of the whole text, which are neither before nor after a cut
            if isinstance(step, norm.Replace) and not _allows(step, left[-1], right[0]):
                return False
            left, right = _after(step, left), _after(step, right)
            if not left or not right or left[-1] in SPACES:
                return False
        left, right = left[-1], right[0]
        if left in self._normalized.ends or not self._normalized.allow(left, right):
            return False
        return self._pieces.are_cut(right) or (self._model is not None and self._model.are_apart(left, right))


def _after(step: Normalizer, char: str) -> str:
    aligned = Aligned(char)
    normalize((step,), aligned)
    return aligned.text


def _allows(step: norm.Replace, left: str, right: str) -> bool:
    """Return whether what a step replaces neither goes over the place between two characters nor ends there unseen."""
    if not isinstance(step.pattern, LiteralText):  # two or more spaces
        return left != " "
    literal = step.pattern.text
    is_across = NeighbourTable([literal]).holds(left, right)
    begins_longer = literal != right and literal[0] == right
    ends_longer = literal != left and literal[-1] == left
    return not (is_across or begins_longer or ends_longer)


class _AddedCuts:
    """Where added tokens, each with the text that is looked for, are found on both sides of a cut as in the whole.

    A cut is not after one of them: text after an added token is normalized by itself.
    """

    def __init__(self, tokens: Iterable[tuple[AddedToken, str]]) -> None:
        given = list(tokens)
        self.texts = tuple(text for _, text in given)
        self.ends = {text[-1] for text in self.texts}
        self._neighbours = NeighbourTable(self.texts)
        self._looks_before = {text[0] for token, text in given if token.single_word}

    def allow(self, left: str, right: str) -> bool:
        """Return whether no token holds both characters, or begins with the right one and looks at the left one."""
        return right not in self._looks_before and not self._neighbours.holds(left, right)


class _PieceCuts:
    """Pre-tokenizers that end a piece before white space, and do not look beyond it."""

    def __init__(self, splitters: Sequence[Splitter]) -> None:
        self._at: Splitter | None = None
        for one in splitters:
            if isinstance(one, split.Words) or (isinstance(one, split.Metaspace) and one.split) or _removes_space(one):
                self._at = one
                break
            if not (isinstance(one, split.Split) and isinstance(one.pattern, Characters)):
                break

    @property
    def may_cut(self) -> bool:
        """Whether a piece ends at some white space."""
        return self._at is not None

    def are_cut(self, space: str) -> bool:
        """Return whether a piece ends before this character of normalized text."""
        one = self._at
        if isinstance(one, split.Metaspace):
            return space in (" ", one.replacement)
        if isinstance(one, split.Split) and isinstance(one.pattern, LiteralText):
            return one.pattern.text == space
        return one is not None and space in SPACES


def _removes_space(one: Splitter) -> bool:
    if not isinstance(one, split.Split) or one.behavior != "Removed" or one.invert:
        return False
    pattern = one.pattern
    return (isinstance(pattern, Characters) and pattern.name == "SPACE") or (
        isinstance(pattern, LiteralText) and pattern.text == " "
    )


def _merges_of(model: object) -> _MergeCuts | None:
    """Return where merges are apart; None for other models, and where a token of bytes or of unknown text may merge."""
    if not isinstance(model, Pairs) or model.prefix or model.suffix or model.ignore_merges:
        return None
    by_bytes = [model.ids.get(byte_token(byte)) for byte in range(256)] if model.byte_fallback else [None]
    has_unknown = model.unk_token is not None
    if not has_unknown and None in by_bytes:
        return None  # unknown characters are dropped, and their neighbours merge
    not_text = {id for id in by_bytes if id is not None}
    if model.unk_token is not None:
        not_text.add(model.ids.get(model.unk_token, -1))
    if any(pair >> SHIFT in not_text or pair & ((1 << SHIFT) - 1) in not_text for pair in model.merges):
        return None
    return _MergeCuts(model, are_all_known=None not in by_bytes)


class _MergeCuts:
    """Where no token of a model with merges holds both neighbours; text is one piece."""

    def __init__(self, model: Pairs, *, are_all_known: bool) -> None:
        self._ids, self._are_all_known = model.ids, are_all_known
        self._tokens = NeighbourTable(model.ids)

    def are_apart(self, left: str, right: str) -> bool:
        """Return whether two neighbours never merge; unknown characters side by side may be one id."""
        pairs = [(left, right)]
        if right == " ":
            pairs.append((left, VISIBLE_SPACE))  # Metaspace makes spaces visible
        is_known = self._are_all_known or left in self._ids or any(char in self._ids for _, char in pairs)
        return is_known and not any(self._tokens.holds(*pair) for pair in pairs)
