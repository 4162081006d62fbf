"""`ImageSpec`: what running a tokenizer by its image needs beside native tables and the bytes of its tokens."""

# (no `from __future__ import annotations`: json_form.py checks values by the types of the fields)
from collections.abc import Mapping
from typing import Literal, NamedTuple

Trimming = Literal["none", "all", "all but the first"]  # the spaces that spans lose
Spaces = Literal["ascii", "unicode"]  # what is white space
DropsSpace = Literal["no", "of the first id", "one", "all"]  # of the spaces at the beginning of decoded text


class RanksSpec(NamedTuple):
    """What ranks need to encode text between added tokens.

    `max_rank` is the largest of the ranks, or a larger number. One of `patterns` cuts text, or, with `are_in_row`, all
    of them, each the pieces of the one before. Text with a character of the ranges `exceptions` (the first and the last
    of each) is cut by the patterns `exact` in a row, or, without any, not by ranks; neither is text with one of
    `whole_only`. Text is brought into the normal `form` first. With `puts_space` it gets a space in front, unless it
    begins with one. With `hides_tokens`, an added token that is taken as text hides others that begin within it.
    """

    max_rank: int
    patterns: tuple[str, ...]
    are_in_row: bool = False
    exact: tuple[str, ...] = ()
    exceptions: tuple[int, ...] = ()
    puts_space: bool = False
    form: Literal["NFC", "NFD", "NFKC", "NFKD"] | None = None
    whole_only: tuple[str, ...] = ()
    hides_tokens: bool = False


class DecodingSpec(NamedTuple):
    """What becomes of the bytes of ids that are joined.

    `drops_space` are the spaces that the text loses at its beginning, but for those of the ids `keeps_space`; behind an
    id of `begins_anew` there is another beginning. `cleans_spaces` drops the spaces before English punctuation, as
    llama.cpp does. `steps` is the JSON of a tokenizer.json's decoders, which take the texts of ids and do all of it; ""
    where there are none.
    """

    drops_space: DropsSpace = "no"
    keeps_space: tuple[int, ...] = ()
    begins_anew: tuple[int, ...] = ()
    cleans_spaces: bool = False
    steps: str = ""


SPECIAL, LSTRIP, RSTRIP, SPELLED = 1, 2, 4, 8  # flags of added tokens; the last: it decodes to its text


class ImageSpec(NamedTuple):
    """The image of a tokenizer, or of ranks that wait for a pattern (`is_ranks`), without its tables.

    `max_id`, `is_byte_level`, `has_template`, `decodes_context_free`, `file_notes`, `single_pattern` and
    `splits_at_spaces` are what `TextTokenizer` calls so. Added tokens are a text, an id and flags each (the bits
    SPECIAL and so on). `raw` and `normalized` are the places in these lists of those that the native stages look
    for, before and after their normalizer. With `cuts_by`, added tokens are cut out of text in Python instead, with
    the white space of this kind that they take; text at the beginning and behind one of them then gets a space in
    front if it `puts_space`, and the places of tokens may be those of their bytes in the text (`places_by_bytes`).
    `template_ids` are what the post-processor puts before and after a text, and `trimming` says what it does to
    spans; each is None if it does anything else. `other_bytes` are those of the ids that the ranks lack, if joining
    bytes is how ids are decoded, and if no added token spells them; else it is None. `token_bytes` are those of the ids
    for which the table of bytes has others, if these are few; else it is None.
    """

    max_id: int
    added_texts: tuple[str, ...]
    added_ids: tuple[int, ...]
    added_flags: tuple[int, ...]
    is_ranks: bool = False
    is_byte_level: bool = False
    has_template: bool = False
    decodes_context_free: bool = False
    file_notes: tuple[str, ...] = ()
    ranks: RanksSpec | None = None
    raw: tuple[int, ...] = ()
    normalized: tuple[int, ...] = ()
    cuts_by: Spaces | None = None
    puts_space: bool = False
    places_by_bytes: bool = False
    decoding: DecodingSpec = DecodingSpec()
    other_bytes: Mapping[int, bytes] | None = None
    template_ids: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    trimming: Trimming | None = None
    single_pattern: str | None = None
    splits_at_spaces: bool = False
    token_bytes: Mapping[int, bytes] | None = None
