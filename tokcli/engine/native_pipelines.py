"""The native twins of a tokenizer.json: its normalizers, pre-tokenizers and models as native_models.py's tables.

None where a part does what the native code does not; the Python code is then the only one.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokcli.engine import normalizer as norm
from tokcli.engine import splitters as split
from tokcli.engine.added_tokens import AddedToken, special_first
from tokcli.engine.character_rules import CharacterStage, Groups, rule_of, run_of, stages_of
from tokcli.engine.matching import Literal, OnigPattern
from tokcli.engine.models import Model, WordLevel, WordPiece
from tokcli.engine.native_models import (
    ALWAYS,
    CHARS,
    EACH_WORD,
    FIRST,
    NEVER,
    NOTHING,
    PREPEND,
    REPLACE,
    SQUEEZE,
    STRIP,
    WHERE_POSSIBLE,
    WHOLE,
    byte_ids,
    model_of,
)  # fmt: skip
from tokcli.engine.native_text import Learn, Learned, Named, NativeText
from tokcli.engine.pair_bpe import PairBpe, in_order
from tokcli.engine.spm_normalizer import SPACE
from tokcli.engine.unigram import Unigram

if TYPE_CHECKING:
    from tokcli.engine.pipeline import Pipeline


def pipeline(parts: Pipeline) -> NativeText | None:
    """The twin of a tokenizer.json."""
    if parts.is_byte_level:
        return None
    made = _model(parts.model)
    if made is None:
        return None
    steps = _flat(parts.normalizer)
    stages = _add_steps(made, steps)
    if stages is None:
        return None
    groups = _add_splitter(made, parts, steps)
    if groups is None:
        return None
    names: list[list[Named]] = []
    for normalized, texts in enumerate(added_texts(parts)):
        names.append([(token.content, token.special) for token in texts.values()])
        made.set_added(
            bool(normalized), [(text.encode(), t.id, t.single_word, t.lstrip, t.rstrip) for text, t in texts.items()]
        )

    learn = _learner(stages, groups)
    asks_for_classes = parts.splitter is not None or any(token.single_word for token in parts.added)
    ascii_only = list(range(128))
    made.learn(*learn(ascii_only if stages else [], ascii_only if asks_for_classes else [], []))
    return NativeText(made, learn, *names)


def added_texts(parts: Pipeline) -> tuple[dict[str, AddedToken], dict[str, AddedToken]]:
    """What is found in text as it came and in normalized text, and which token each is; of equal ones the first."""
    found: tuple[dict[str, AddedToken], dict[str, AddedToken]] = {}, {}
    for token in special_first(parts.added):
        text = parts._normalized(token.content) if token.normalized else token.content
        if text:
            found[token.normalized].setdefault(text, token)
    return found


def _learner(stages: list[CharacterStage], groups: Groups) -> Learn:
    def learn(chars: list[int], unclassed: list[int], runs: list[bytes]) -> Learned:
        return (
            {c: rule_of(chr(c), stages) for c in chars},
            {c: groups.value(chr(c)) for c in unclassed},
            {run: run_of(run.decode(), stages) for run in runs},
        )

    return learn


class _Nobody:
    """A native model that is told all and does nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        def told(*given: object) -> None:
            del given

        return told


def learner_of(parts: Pipeline) -> Learn:
    """What a pipeline's native twin asks when it meets a character; ValueError where it can have no twin."""
    steps = _flat(parts.normalizer)
    stages, groups = _add_steps(_Nobody(), steps), _add_splitter(_Nobody(), parts, steps)
    if stages is None or groups is None:
        raise ValueError("no native twin")
    return _learner(stages, groups)


def _model(model: Model) -> Any:
    if isinstance(model, PairBpe):
        return _pair_bpe(model)
    if isinstance(model, Unigram):
        return _unigram(model)
    if isinstance(model, WordPiece):
        made = model_of(model.ids)
        made.set_unknown(model.ids.get(model.unk_token, NOTHING), b"", False)
        made.use_word_piece(model.prefix.encode(), model.max_chars)
    elif isinstance(model, WordLevel):
        made = model_of(model.ids)
        made.set_unknown(model.ids.get(model.unk_token, NOTHING), b"", False)
        made.use_whole(False)
    else:
        return None
    made.set_words(WHOLE, SPACE.encode(), False)
    return made


def _pair_bpe(model: PairBpe) -> Any:
    ids = model.ids
    made = model_of(ids)
    by_bytes = byte_ids(ids) if model.byte_fallback else array("I")
    unknown = ids.get(model.unk_token or "", NOTHING)
    made.set_unknown(unknown, by_bytes, False)
    has_unknown = model.unk_token is not None
    listed = in_order(model.merges)
    lefts, rights, results = listed[::3], listed[1::3], listed[2::3]
    halves = array("I", bytes(8 * len(lefts)))  # of words of 64 bits: the left one is the high one
    is_little = sys.byteorder == "little"
    halves[::2], halves[1::2] = (rights, lefts) if is_little else (lefts, rights)
    made.use_pairs(
        memoryview(halves).cast("B").cast("Q") if halves else array("Q"),
        array("I", range(len(lefts))),
        results,
        has_unknown,
        model.fuse_unk,
        model.ignore_merges,
        model.prefix.encode(),
        model.suffix.encode(),
    )
    # a cut is where no merge is: tokens that stand for no characters of the text must not merge, then
    odd = {number for number in by_bytes if number != NOTHING} | ({unknown} if has_unknown else set())
    is_cut = not (model.prefix or model.suffix) and not (odd and odd.intersection(halves))
    has_all_bytes = model.byte_fallback and NOTHING not in by_bytes
    is_cut &= has_unknown or has_all_bytes  # else what is unknown is nothing, and what stands around it merges
    # characters that are unknown are one with those before them
    made.set_words(WHERE_POSSIBLE if is_cut else WHOLE, SPACE.encode(), has_unknown and not has_all_bytes)
    return made


def _unigram(model: Unigram) -> Any:
    ids = {text: number for text, number in model.ids.items() if text}
    scores = [model.pieces[number][1] for number in ids.values()]
    if not all(map(math.isfinite, [*scores, model._unknown_score])):
        return None
    made = model_of(ids)
    made.set_unknown(
        NOTHING if model.unk_id is None else model.unk_id, byte_ids(ids) if model.byte_fallback else b"", False
    )
    made.use_unigram(array("d", scores), model._unknown_score, EACH_WORD)
    made.set_words(WHOLE, SPACE.encode(), False)
    return made


def _flat(step: norm.Normalizer | None) -> list[norm.Normalizer]:
    if step is None:
        return []
    if not isinstance(step, norm.Sequence):
        return [step]
    return [inner for part in step.normalizers for inner in _flat(part)]


def _squeezed(step: norm.Normalizer) -> str | None:
    """What two spaces or more become."""
    if isinstance(step, norm.Replace) and isinstance(step.finder, OnigPattern) and step.finder.pattern == " {2,}":
        return step.content
    return None


def _add_steps(made: Any, steps: list[norm.Normalizer]) -> list[CharacterStage] | None:
    """Tells a native model what to do first; the stages of its rules for characters."""
    # two spaces or more as one, rules for characters, and that again: once at the end is the same
    squeezes = [at for at, step in enumerate(steps) if _squeezed(step) == " "]
    if len(squeezes) == 2 and squeezes[1] == len(steps) - 1:
        between = stages_of(steps[squeezes[0] + 1 : -1])
        if between and rule_of(" ", between) == b" ":
            steps = steps[: squeezes[0]] + steps[squeezes[0] + 1 :]
    stages: list[CharacterStage] = []
    at = 0
    while at < len(steps):
        step = steps[at]
        if isinstance(step, norm.Prepend):
            made.add_step(PREPEND, b"", step.text.encode(), False, False)
        elif isinstance(step, norm.Strip):
            made.add_step(STRIP, b"", b"", step.left, step.right)
        elif isinstance(step, norm.Replace):
            if step.literal is None and _squeezed(step) is None:
                return None
            kind = SQUEEZE if step.literal is None else REPLACE
            made.add_step(kind, (step.literal or "").encode(), step.content.encode(), False, False)
        else:
            end = at + 1
            while end < len(steps) and not isinstance(steps[end], (norm.Prepend, norm.Strip, norm.Replace)):
                end += 1
            found = stages_of(steps[at:end])
            if found is None or stages:
                return None
            stages = found
            made.add_step(CHARS, b"", b"", False, False)
            at = end
            continue
        at += 1
    return stages


def _add_splitter(made: Any, parts: Pipeline, steps: list[norm.Normalizer]) -> Groups | None:
    """Tells a native model how to cut text; the groups of characters."""
    splitters = _flat_splitters(parts.splitter)
    last = steps[-1] if steps else None
    if (
        len(splitters) == 1
        and isinstance(splitter := splitters[0], split.Split)
        and isinstance(splitter.finder, Literal)
        and isinstance(last, norm.Replace)
        and last.literal is not None
        and len(last.literal) == 1
        and last.literal in splitter.finder.text
        and last.literal not in last.content
        and not splitter.invert
    ):
        splitters = []  # it looks for what was just replaced
    if splitters and isinstance(metaspace := splitters[-1], split.Metaspace):
        splitters = splitters[:-1]
        prefix = {"never": NEVER, "always": ALWAYS, "first": FIRST}[metaspace.prepend_scheme]
        if prefix == FIRST and (steps or splitters):
            return None
        if metaspace.replacement != SPACE:
            return None
        made.set_metaspace(metaspace.split, False, prefix)
    if not Groups.are_known(splitters):
        return None
    if splitters:
        made.use_classes()
    return Groups(splitters)


def _flat_splitters(step: split.Splitter | None) -> list[split.Splitter]:
    if step is None:
        return []
    if not isinstance(step, split.Sequence):
        return [step]
    return [inner for part in step.splitters for inner in _flat_splitters(part)]
