"""The image of a vocabulary, in a container: its `ImageSpec` is the header, its native tables are sections.

ranks: the native image of its ranks, if it merges by ranks
exact: the programs (row_image.py) that cut text where a pattern does not, if there are any
stages: the native image of its other stages, if no ranks give the ids of its texts
tokens: the bytes of ids (token_table.py), where the ranks do not give them
"""

from __future__ import annotations

from array import array
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias, get_args

from tokcli.engine.native_models.cut_text import CutText
from tokcli.engine.native_models.text_model import NativeText
from tokcli.engine.spec.image import (
    LSTRIP,
    RSTRIP,
    SPECIAL,
    SPELLED,
    DecodingSpec,
    ImageSpec,
    RanksSpec,
    Trimming,
)
from tokcli.engine.spec.json_form import to_json
from tokcli.engine.spec.token_table import few_others, pack_table
from tokcli.engine.tiktoken.native_encoder import open_vocabulary
from tokcli.engine.tokens import Tokens, pairs_of
from tokcli.errors import TokcliError
from tokcli.registry.compiled.compiled_tokenizer import special_tokens_in, trimmed
from tokcli.registry.compiled.container import pack
from tokcli.registry.lazy_ranks import LazyRanks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Buffer

    from tokcli.engine.spec.added_token import AddedToken
    from tokcli.engine.stream.decoding_facts import DecodingFacts
    from tokcli.engine.text_tokenizer import TextTokenizer

Parts: TypeAlias = tuple[ImageSpec, dict[str, bytes]]  # a spec, and sections


def packed(vocabulary: LazyRanks | TextTokenizer, sha256: str) -> bytes:
    """Return the container of a vocabulary that was read; b"" if nothing of it can be kept."""
    with suppress(ValueError):  # there is no native image of it
        found = _parts_of_ranks(vocabulary) if isinstance(vocabulary, LazyRanks) else _parts_of(vocabulary)
        return b"" if found is None else pack({**to_json(found[0]), "sha256": sha256}, found[1])
    return b""


def _parts_of_ranks(vocabulary: LazyRanks) -> Parts:
    names, pat_str = vocabulary.special_tokens, vocabulary.pat_str
    spec = ImageSpec(
        vocabulary.max_rank,
        tuple(names),
        tuple(names.values()),
        (SPECIAL,) * len(names),
        is_ranks=True,
        ranks=RanksSpec(vocabulary.max_rank, () if pat_str is None else (pat_str,)),
    )
    return spec, {"ranks": bytes(vocabulary.load_image())}


def _parts_of(tokenizer: TextTokenizer) -> Parts | None:
    text_ranks = tokenizer.text_ranks
    native = None if text_ranks is not None else tokenizer.native
    stages = native.between if isinstance(native, CutText) else native
    ranks: RanksSpec | None
    image: Buffer | None
    if text_ranks is not None:
        ranks, image, exact = text_ranks.spec, text_ranks.load_image(), bytes(text_ranks.load_exact())
    elif isinstance(stages, NativeText):
        ranks, image, exact = stages.ranks, stages.vocabulary_image, stages.programs
    else:
        return None
    facts = tokenizer.decoding_facts()
    others = None if facts is None or image is None else _other_bytes(facts, image)
    spec = _spec_of(tokenizer, others)._replace(ranks=ranks, decoding=DecodingSpec() if facts is None else facts.spec)
    sections = {"ranks": b"" if image is None else bytes(image), "exact": exact}
    if facts is not None and others is None:
        table = {id: facts.bytes_of(id) for id in facts.ids}
        sections["tokens"] = pack_table(table)
        spec = spec._replace(token_bytes=few_others(tokenizer.token_bytes(), table))
    if isinstance(stages, NativeText):
        spec, sections["stages"] = _with_stages(spec, stages), stages.image()
    if isinstance(native, CutText):
        spec = native.told_in(spec)
    is_told = special_tokens_in(spec) == tokenizer.special_tokens
    listed = dict(zip(spec.added_texts, spec.added_ids, strict=True))
    is_told &= text_ranks is None or text_ranks.special_tokens == listed
    return (spec, {name: data for name, data in sections.items() if data}) if is_told else None


def _spec_of(tokenizer: TextTokenizer, others: Mapping[int, bytes] | None) -> ImageSpec:
    """Return what a tokenizer says of itself; `others` are the bytes of the ids that its ranks lack."""
    added = tokenizer.added_tokens()
    told = {t.id: t.content for t in added if others is not None and others.get(t.id) == _utf8(t.content)}
    return ImageSpec(
        tokenizer.max_id,
        tuple(token.content for token in added),
        tuple(token.id for token in added),
        tuple(_flags(token) | SPELLED * (told.get(token.id) == token.content) for token in added),
        is_byte_level=tokenizer.is_byte_level,
        has_template=tokenizer.has_template,
        decodes_context_free=tokenizer.decodes_context_free,
        file_notes=tuple(tokenizer.file_notes),
        other_bytes=None if others is None else {n: data for n, data in others.items() if n not in told},
        template_ids=_template_ids(tokenizer),
        trimming=_trimming(tokenizer),
        single_pattern=tokenizer.single_pattern,
        splits_at_spaces=tokenizer.splits_at_spaces,
    )


def _with_stages(spec: ImageSpec, stages: NativeText) -> ImageSpec:
    """Return a spec that also says which added tokens native stages look for; KeyError for one that it lacks."""
    listed = zip(spec.added_texts, spec.added_flags, strict=True)
    places = {(text, bool(flags & SPECIAL)): at for at, (text, flags) in enumerate(listed)}
    raw, normalized = (tuple(map(places.__getitem__, names)) for names in (stages.raw, stages.normalized))
    return spec._replace(raw=raw, normalized=normalized)


def _flags(token: AddedToken) -> int:
    return SPECIAL * token.special | LSTRIP * token.lstrip | RSTRIP * token.rstrip


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _other_bytes(facts: DecodingFacts, image: Buffer) -> dict[int, bytes] | None:
    """Return the bytes of the ids that ranks lack; None if the ranks do not give the bytes of all others."""
    vocabulary = None if facts.spec.steps else open_vocabulary(lambda: image)
    if vocabulary is None:
        return None
    lacking = set(array("I", vocabulary.unknown(array("I", facts.ids))))
    if any(vocabulary.decode([id]) != facts.bytes_of(id) for id in set(facts.unusual) - lacking):
        return None
    return {id: facts.bytes_of(id) for id in sorted(lacking)}


def _template_ids(tokenizer: TextTokenizer) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the ids that the template puts before and after a text; None if it does anything else."""
    try:
        found = tokenizer.finish([Tokens([0])], True)
    except (TokcliError, IndexError):
        return None
    if found.special.count(0) != 1:
        return None
    at = found.special.index(0)
    return tuple(found.ids[:at]), tuple(found.ids[at + 1 :])


def _trimming(tokenizer: TextTokenizer) -> Trimming | None:
    """Return what the post-processor does to spans, as a few telling ones show; None if it does anything else."""
    spans, blanks = [1, 5, 5, 9, 9, 12, 0, 3], [1, 1, 2, 0, 0, 2, 1, 0]
    for trimming in get_args(Trimming):
        try:
            found = tokenizer.finish([Tokens([0] * 4, spans=spans, blanks=blanks)], True)
        except (TokcliError, IndexError):
            return None
        places = [pair for pair, special in zip(pairs_of(found.spans or ()), found.special, strict=True) if not special]
        if places == pairs_of(trimmed(Tokens([0] * 4, spans=spans, blanks=blanks), trimming).spans or ()):
            kept: Trimming = trimming
            return kept
    return None
