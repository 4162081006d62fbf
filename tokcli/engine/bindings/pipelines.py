"""Builds the native twin of a tokenizer.json from its normalizers, pre-tokenizers, model and added tokens.

A tokenizer has no twin if one of its parts does something that the native code cannot do.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.bindings.pair_models import byte_ids, pair_model
from tokcli.engine.bindings.stages import use_ranks
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.native_models import text_model as native
from tokcli.engine.native_models.text_model import NamedToken, NativeText
from tokcli.engine.pipeline.added_tokens import special_first
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pipeline.models import BestTokens
from tokcli.engine.pipeline.normalizers import charsmap_of, normalize
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.spec import normalizers as norm
from tokcli.engine.spec import splitters as split
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.image import RanksSpec
from tokcli.engine.spec.models import Pairs, TokenizerJsonModel, Unigram, WordPiece
from tokcli.engine.spec.normalizers import Normalizer
from tokcli.engine.spec.patterns import Characters, LiteralText, OnigPattern
from tokcli.engine.spec.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokcli.engine import _native


def rules_of_pipeline(spec: TokenizerSpec) -> Pipeline:
    """Return the rules of a tokenizer.json, with the builder of their twin."""
    return Pipeline(spec, twin_of_pipeline)


def twin_of_pipeline(parts: Pipeline) -> NativeText | None:
    """Build the twin of a tokenizer, unless one of its parts has no native form."""
    plan = _plan_of(parts)
    ranks = _ranks_of(parts) if parts.is_byte_level else None
    made = None if plan is None or (parts.is_byte_level and ranks is None) else _model(parts, ranks)
    if plan is None or made is None:
        return None
    for step in plan.steps:
        made.add_step(*step)
    if plan.metaspace is not None:
        made.set_metaspace(*plan.metaspace)
    made.set_characters(plan.characters, plan.charsmap.units, plan.charsmap.texts, b"")
    made.set_groups(plan.groups)
    names: list[list[NamedToken]] = []
    for normalized, texts in enumerate(_added_texts(parts)):
        names.append([(token.content, token.special) for token in texts.values()])
        made.set_added(bool(normalized), _native_tokens(texts))
    spec, image = ranks or (None, None)
    return NativeText(made, names[0], names[1], vocabulary_image=image, ranks=spec)


def _added_texts(parts: Pipeline) -> tuple[dict[str, AddedToken], dict[str, AddedToken]]:
    """Return the added tokens by the text that is looked for: in the text as given, and in normalized text.

    Of several tokens with the same text, the first one counts.
    """
    found: tuple[dict[str, AddedToken], dict[str, AddedToken]] = {}, {}
    for token in special_first(parts.spec.added):
        if text := parts.added_texts[token.id]:
            found[token.normalized].setdefault(text, token)
    return found


def _native_tokens(texts: Mapping[str, AddedToken]) -> list[tuple[bytes, int, bool, bool, bool]]:
    return [(text.encode(), token.id, token.single_word, token.lstrip, token.rstrip) for text, token in texts.items()]


Step = tuple[int, bytes, bytes, bool, bool]  # kind, text that is found, content, at the left end, at the right end


CharacterStep = tuple[str, str]  # the name of a step, and the form or the class that it is about
GroupRule = tuple[str, "str | int", str]  # a kind, the class or the character, and what a pre-tokenizer does with it


class _Plan(NamedTuple):
    """What a twin does with text before its model: steps, a space before pieces, and cuts.

    `characters` are the steps that look at characters, one of which may apply `charsmap`. `groups` sort characters: a
    piece ends where the group changes.
    """

    steps: list[Step]
    characters: list[CharacterStep]
    charsmap: Charsmap
    metaspace: tuple[bool, bool, int] | None
    groups: list[GroupRule]


def _plan_of(parts: Pipeline) -> _Plan | None:
    if any(token.content and not parts.added_texts[token.id] for token in parts.spec.added):
        return None  # an empty token would cut text everywhere
    steps = _steps_of(parts.spec.normalizer)
    cuts = (None, []) if parts.is_byte_level else _cuts_of(parts.spec)
    return None if steps is None or cuts is None else _Plan(*steps, *cuts)


def _ranks_of(parts: Pipeline) -> tuple[RanksSpec, bytes] | None:
    """Return the ranks and the patterns of a byte-level tokenizer; None where these do not give its ids."""
    if parts.ranked is None or parts.needs_start:
        return None
    cuts = parts.cuts
    spec = RanksSpec(
        parts.ranked.max_id,
        (cuts.pat_str,) if cuts.pat_str is not None else cuts.row,
        cuts.pat_str is None,
        cuts.exact,
        tuple(chain.from_iterable(cuts.unsafe)),
        cuts.prefix_space,
    )
    return spec, parts.ranked.load_image()


def _model(parts: Pipeline, ranks: tuple[RanksSpec, bytes] | None) -> _native.TextModel | None:
    data = cast(TokenizerJsonModel, parts.spec.model)
    if ranks is not None:
        made = native.model_of({})
        return made if use_ranks(made, *ranks) else None
    if isinstance(data, Pairs):
        return pair_model(data, native.ANY_WHOLE if data.ignore_merges else native.NEVER_WHOLE)
    if isinstance(data, Unigram):
        return _unigram(cast(BestTokens, parts.model))
    made = native.model_of(data.ids)
    made.set_unknown(data.ids.get(data.unk_token, NO_ID), b"", False)
    if isinstance(data, WordPiece):
        made.use_word_piece(data.prefix.encode(), data.max_chars)
    else:
        made.use_whole(False)
    made.set_words(native.WHOLE, VISIBLE_SPACE.encode(), False)
    return made


def _unigram(model: BestTokens) -> _native.TextModel | None:
    ids = {text: id for text, id in model.ids.items() if text}
    scores = [model.pieces[id][1] for id in ids.values()]
    if not native.are_finite([*scores, model.unknown_score]):
        return None
    made = native.model_of(ids)
    made.set_unknown(
        NO_ID if model.unk_id is None else model.unk_id,
        byte_ids(ids) if model.byte_fallback else b"",
        False,
    )
    made.use_unigram(array("d", scores), model.unknown_score, native.EACH_WORD)
    made.set_words(native.WHOLE, VISIBLE_SPACE.encode(), False)
    return made


def squeezed(step: Normalizer) -> str | None:
    """Return the text that replaces two or more spaces; None where a normalizer does anything else."""
    if isinstance(step, norm.Replace) and isinstance(step.pattern, OnigPattern) and step.pattern.pattern == " {2,}":
        return step.content
    return None


def _steps_of(steps: Sequence[Normalizer]) -> tuple[list[Step], list[CharacterStep], Charsmap] | None:
    """Return native steps, those that look at characters, and their charsmap, unless one cannot be native."""
    # A normalizer that squeezes spaces, applies rules for characters and squeezes again only has to do so at the end.
    squeezes = [at for at, step in enumerate(steps) if squeezed(step) == " "]
    if len(squeezes) == 2 and squeezes[1] == len(steps) - 1:
        between = steps[squeezes[0] + 1 : -1]
        if between and _of_characters(between) is not None and _keep_space(between):
            steps = [*steps[: squeezes[0]], *steps[squeezes[0] + 1 :]]
    made: list[Step] = []
    characters: list[CharacterStep] = []
    charsmap = Charsmap(b"")
    at = 0
    while at < len(steps):
        step = steps[at]
        if isinstance(step, norm.Prepend):
            if not step.text:
                return None  # it changes places only, which native code keeps
            made.append((native.PREPEND, b"", step.text.encode(), False, False))
        elif isinstance(step, norm.Strip):
            made.append((native.STRIP, b"", b"", step.left, step.right))
        elif isinstance(step, norm.Replace):
            literal = step.pattern.text if isinstance(step.pattern, LiteralText) else ""
            if not literal and squeezed(step) is None:
                return None
            kind = native.REPLACE if literal else native.SQUEEZE
            made.append((kind, literal.encode(), step.content.encode(), False, False))
        else:
            end = at + 1
            while end < len(steps) and not isinstance(steps[end], (norm.Prepend, norm.Strip, norm.Replace)):
                end += 1
            found = _of_characters(steps[at:end])
            if found is None or characters:
                return None
            characters, charsmap = found
            made.append((native.CHARS, b"", b"", False, False))
            at = end
            continue
        at += 1
    return made, characters, charsmap


def _keep_space(steps: Sequence[Normalizer]) -> bool:
    """Return whether normalizers leave a space as it is."""
    text = Aligned(" ")
    normalize(steps, text)
    return text.text == " "


def _of_characters(steps: Sequence[Normalizer]) -> tuple[list[CharacterStep], Charsmap] | None:
    """Return the native steps of normalizers that look at characters, and their charsmap; None if one does not."""
    made: list[CharacterStep] = []
    charsmaps: list[Charsmap] = []
    for step in steps:
        if isinstance(step, norm.UnicodeForm):
            made.append(("form", step.form))
        elif isinstance(step, norm.Without):
            made.append(("without", step.name))
        elif isinstance(step, norm.Lowercase):
            made.append(("lower", ""))
        elif isinstance(step, norm.Nmt):
            made.append(("nmt", ""))
        elif isinstance(step, norm.Bert):
            made += _of_bert(step)
        elif isinstance(step, norm.Precompiled):
            made.append(("charsmap", ""))
            charsmaps.append(charsmap_of(step.charsmap))
        else:
            return None
    if len({charsmap.blob for charsmap in charsmaps}) > 1:
        return None
    return made, charsmaps[0] if charsmaps else Charsmap(b"")


def _of_bert(step: norm.Bert) -> list[CharacterStep]:
    strips = step.lowercase if step.strip_accents is None else step.strip_accents
    made: list[CharacterStep] = [("clean", "")] if step.clean_text else []
    made += [("chinese", "")] if step.handle_chinese_chars else []
    made += [("form", "NFD"), ("without", "BERT_MARK")] if strips else []
    return [*made, ("lower", "")] if step.lowercase else made


def _groups_of(splitters: Sequence[split.Splitter]) -> list[GroupRule] | None:
    """Return the rules by which pre-tokenizers sort characters into groups; None if one cuts text otherwise."""
    made: list[GroupRule] = []
    for step in splitters:
        if isinstance(step, split.Words):
            made.append(("words", "", "Removed"))
            continue
        if not isinstance(step, split.Split) or step.invert or step.behavior not in _BEHAVIORS:
            return None
        if isinstance(step.pattern, Characters):
            made.append(("class", step.pattern.name, step.behavior))
        elif isinstance(step.pattern, LiteralText) and len(step.pattern.text) == 1:
            made.append(("character", ord(step.pattern.text), step.behavior))
        else:
            return None
    return made if len(made) <= _MOST_GROUP_RULES else None


_BEHAVIORS = ("Removed", "Isolated", "Contiguous")
_MOST_GROUP_RULES = 6  # kMostGroupRules


def _cuts_of(spec: TokenizerSpec) -> tuple[tuple[bool, bool, int] | None, list[GroupRule]] | None:
    """Return the arguments of `set_metaspace` and the rules by which text is cut; None if it is cut otherwise."""
    splitters, steps = spec.splitter, spec.normalizer
    if len(splitters) == 1 and finds_nothing(splitters[0], steps):
        splitters = ()
    space = None
    if splitters and isinstance(metaspace := splitters[-1], split.Metaspace):
        splitters = splitters[:-1]
        prefix = {"never": native.NEVER, "always": native.ALWAYS, "first": native.FIRST}[metaspace.prepend_scheme]
        if (prefix == native.FIRST and (steps or splitters)) or metaspace.replacement != VISIBLE_SPACE:
            return None
        space = metaspace.split, False, prefix
    groups = _groups_of(splitters)
    return None if groups is None else (space, groups)


def finds_nothing(splitter: split.Splitter, steps: Sequence[Normalizer]) -> bool:
    """Return whether a splitter looks for a character that the last of the normalizers has just replaced."""
    last = steps[-1] if steps else None
    return (
        isinstance(splitter, split.Split)
        and isinstance(splitter.pattern, LiteralText)
        and isinstance(last, norm.Replace)
        and isinstance(last.pattern, LiteralText)
        and len(last.pattern.text) == 1
        and last.pattern.text in splitter.pattern.text
        and last.pattern.text not in last.content
        and not splitter.invert
    )
