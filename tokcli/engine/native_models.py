"""Makes the native twins of tokenizers from their tables: see native_text.py. None for those that only Python can do.

What is said here of a native model's methods stands in _native.pyi.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokcli.engine import backend
from tokcli.engine import normalizer as norm
from tokcli.engine import splitters as split
from tokcli.engine.added_tokens import AddedToken, special_first
from tokcli.engine.character_rules import CharacterStage, Groups, rule_of, run_of, stages_of
from tokcli.engine.charsmap import Charsmap
from tokcli.engine.matching import Literal, OnigPattern
from tokcli.engine.models import Model, WordLevel, WordPiece, byte_token
from tokcli.engine.native_text import Learn, Learned, Named, NativeText
from tokcli.engine.pair_bpe import PairBpe
from tokcli.engine.spm_normalizer import SPACE, SpmNormalizer
from tokcli.engine.unigram import Unigram

if TYPE_CHECKING:
    from tokcli.engine.pipeline import Pipeline
    from tokcli.engine.sentencepiece import SentencePiece

NOTHING = 0xFFFFFFFF  # kNothing
WHOLE, AT_SPACES, WHERE_POSSIBLE = range(3)  # Words
EACH_WORD, SUMS_32, SUMS_64 = range(3)  # Kind
NEVER, ALWAYS, FIRST = range(3)  # Prefix
_PREPEND, _REPLACE, _SQUEEZE, _CHARS, _STRIP, _SPACES = range(6)  # Step::Kind
_LONGEST = 1 << 20  # characters of a token that a native table takes


def guarded(make: Callable[[], NativeText | None]) -> NativeText | None:
    """What `make` gives; None without a native backend, and where a table does not fit into the native one."""
    if backend.native() is None:
        return None
    try:
        return make()
    except (ValueError, OverflowError, TypeError):  # UnicodeEncodeError is a ValueError
        return None


def model_of(ids: Mapping[str, int]) -> Any:
    """A native model with these tokens, which still has to be told what to do with them."""
    native = backend.native()
    assert native is not None
    texts = [text.encode() for text in ids]
    return native.TextModel(b"".join(texts), array("I", map(len, texts)), array("I", ids.values()))


def orders_of(scores: Sequence[float]) -> array[int]:
    """Numbers that ascend where scores descend, equal for equal ones."""
    if not all(map(math.isfinite, scores)):
        raise ValueError("a score that is no number")
    order = {score: number for number, score in enumerate(sorted(set(scores), reverse=True))}
    return array("I", [order[score] for score in scores])


def byte_ids(ids: Mapping[str, int]) -> array[int]:
    """The id of each byte's token, NOTHING where there is none."""
    return array("I", [ids.get(byte_token(byte), NOTHING) for byte in range(256)])


# --- SentencePiece ---------------------------------------------------------------------------------------------------


def sentencepiece(model: SentencePiece) -> NativeText | None:
    """The twin of a SentencePiece model."""
    pieces, ids = model.pieces, dict(model._ids)
    unused = [text for text, number in ids.items() if pieces[number].kind == "unused"]
    if model.model_type == "bpe" and any(len(text) > 1 for text in unused):
        return None  # what such a piece was merged from is taken again
    for text in unused:
        del ids[text]
    made = model_of(ids)
    by_bytes = array("I", [model._bytes.get(byte, NOTHING) for byte in range(256)] if model.byte_fallback else [])
    made.set_unknown(model._unknown if model._unknown >= 0 else NOTHING, by_bytes, not model.byte_fallback)
    made.set_kept([text.encode() for text in model.normalizer.kept])
    if model.model_type == "bpe":
        kept = bytes(text in model.normalizer.kept for text in ids)
        made.use_pieces(orders_of([pieces[number].score for number in ids.values()]), kept)
    elif model.model_type == "unigram":
        scores = model._scores
        if not all(map(math.isfinite, scores.values())) or not math.isfinite(model._unknown_score):
            return None
        made.use_unigram(array("d", [scores[text] for text in ids]), model._unknown_score, SUMS_32)
    else:
        made.use_whole(model.model_type == "char")
    words = {"word": AT_SPACES, "char": WHOLE}.get(model.model_type, WHERE_POSSIBLE)
    made.set_words(words, SPACE.encode(), False)
    _set_spaces(made, model.normalizer)
    return NativeText(made)


def _set_spaces(made: Any, settings: SpmNormalizer) -> None:
    charsmap = settings.charsmap
    made.set_spaces(
        charsmap.units,
        charsmap.texts,
        settings.add_dummy_prefix,
        settings.remove_extra_whitespaces,
        settings.whitespace_as_suffix,
        False,
        (SPACE if settings.escape_whitespaces else " ").encode(),
    )


# --- llama.cpp -------------------------------------------------------------------------------------------------------


def llama_pieces(ids: Mapping[str, int], scores: Sequence[float], byte_ids: Sequence[int | None]) -> NativeText:
    """The twin of llama.cpp's SPM."""
    made = model_of(ids)
    made.set_unknown(NOTHING, array("I", [NOTHING if number is None else number for number in byte_ids]), False)
    made.use_pieces(orders_of([scores[number] for number in ids.values()]), bytes(len(ids)))
    made.set_words(WHERE_POSSIBLE, SPACE.encode(), False)
    made.add_step(_REPLACE, b" ", SPACE.encode(), False, False)
    return NativeText(made)


def llama_words(ids: Mapping[str, int], unknown: int, rule: Callable[[str], str]) -> NativeText:
    """The twin of llama.cpp's BERT; `rule` says what a character becomes, with spaces where words end."""
    made = model_of(ids)
    made.set_unknown(unknown, b"", False)
    made.use_word_piece(b"", 1 << 31)
    made.set_words(WHOLE, SPACE.encode(), False)
    made.set_metaspace(False, True, ALWAYS)
    made.add_step(_CHARS, b"", b"", False, False)
    made.use_classes()
    learn = learner_of_words(rule)
    made.learn(*learn(list(range(128)), list(range(128)), []))
    return NativeText(made, learn)


def learner_of_words(rule: Callable[[str], str]) -> Learn:
    """What llama.cpp's BERT asks of a character."""
    groups = Groups([split.Split(Literal(" "), "Removed")])

    def learn(chars: list[int], unclassed: list[int], runs: list[bytes]) -> Learned:
        del runs
        return {c: rule(chr(c)).encode() for c in chars}, {c: groups.value(chr(c)) for c in unclassed}, {}

    return learn


def llama_unigram(
    tokens: Mapping[str, tuple[float, int]],
    unknown: tuple[float, int],
    charsmap: Charsmap,
    kept: Sequence[str],
    flags: tuple[bool, bool],
) -> NativeText | None:
    """The twin of llama.cpp's T5; `flags`: whether a space is put first, and whether spaces are trimmed."""
    scores = [score for score, _ in tokens.values()]
    if not all(map(math.isfinite, [*scores, unknown[0]])):
        return None
    made = model_of({text: number for text, (_, number) in tokens.items()})
    made.set_unknown(unknown[1], b"", True)
    made.set_kept([text.encode() for text in kept])
    made.use_unigram(array("d", scores), unknown[0], SUMS_64)
    made.set_words(WHERE_POSSIBLE, SPACE.encode(), False)
    made.set_spaces(charsmap.units, charsmap.texts, *flags, False, True, SPACE.encode())
    return NativeText(made)


# --- tokenizer.json --------------------------------------------------------------------------------------------------


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
    pairs, ranked = model.merges.keys(), model.merges.values()
    made.use_pairs(
        array("Q", pairs),
        array("I", [rank for rank, _ in ranked]),
        array("I", [number for _, number in ranked]),
        has_unknown,
        model.fuse_unk,
        model.ignore_merges,
        model.prefix.encode(),
        model.suffix.encode(),
    )
    # a cut is where no merge is: tokens that stand for no characters of the text must not merge, then
    odd = {number for number in by_bytes if number != NOTHING} | ({unknown} if has_unknown else set())
    halves = memoryview(array("Q", pairs)).cast("B").cast("I") if odd and pairs else ()  # of each pair
    is_cut = not (model.prefix or model.suffix) and odd.isdisjoint(halves)
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
            made.add_step(_PREPEND, b"", step.text.encode(), False, False)
        elif isinstance(step, norm.Strip):
            made.add_step(_STRIP, b"", b"", step.left, step.right)
        elif isinstance(step, norm.Replace):
            if step.literal is None and _squeezed(step) is None:
                return None
            kind = _SQUEEZE if step.literal is None else _REPLACE
            made.add_step(kind, (step.literal or "").encode(), step.content.encode(), False, False)
        else:
            end = at + 1
            while end < len(steps) and not isinstance(steps[end], (norm.Prepend, norm.Strip, norm.Replace)):
                end += 1
            found = stages_of(steps[at:end])
            if found is None or stages:
                return None
            stages = found
            made.add_step(_CHARS, b"", b"", False, False)
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
