"""The native backend, made from engine/native (module/ there has a file for each section here).

Types: a text is a str, or UTF-8 in a buffer; ids are uint32; arrays are bytes of uint32 or uint64 in this machine's
order. A family is a number: the place of its name in FAMILIES. A splitter is a family or a Pattern. Arguments without a
default are given by position.

Errors: TypeError is raised for an object of the wrong type and for nothing else. OverflowError: an int does not fit.
KeyError: a byte or an id is not in the vocabulary (its argument is the id), or a Pattern does not split all of a text.
UnicodeEncodeError: a str has a lone surrogate. ValueError: an array or a table is malformed. RuntimeError: an object of
training was left in the middle of a call, by Ctrl-C, a lack of memory or a fork; or a signal handler uses what the call
that it interrupts is using.

Calls that work on much text release the GIL, and every object may be used by several threads at once. Such calls run
signal handlers several times a second, so that Ctrl-C ends them. Buffers that may change are copied and then read.
"""

from collections.abc import Sequence
from typing import Literal, SupportsIndex, final, overload

from typing_extensions import Buffer

FAMILIES: tuple[str, ...]
"""The names of the families of patterns that native code can split by."""

IMAGE_VERSION: int
"""The version of vocabulary images, which changes with their format."""

TEXT_IMAGE_VERSION: int
"""The version of the images of text models, which changes with their format."""

def keep_freed_memory() -> None:
    """Use freed memory again and do not give it back to the system, from now on; with glibc only."""

def keep_spare_memory() -> None:
    """Keep 4 MiB that Python gets when a small allocation of its own fails, so that it can end; for programs only."""

def end_when_files_are_cut() -> None:
    """From now on, end the process with a line and status 2 where a mapped file is cut off while it is read."""

# --- vocabularies ----------------------------------------------------------------------------------------------------

def build_image(
    blob: Buffer,
    sizes: Buffer,
    ids: Buffer,
    source: Buffer,
    merges: Buffer | None = None,
    drops_missing: bool = False,
) -> bytes:
    """Return the image of a vocabulary.

    Tokens are given as their bytes in a row (`blob`), a size (uint8 or uint32) and an id for each. `source` is 32 bytes
    that name where they come from. `merges` has three ids for each merge: left, right, and the token that both become,
    whose id is the rank of the merge; without it, merges are found for all tokens. With `drops_missing`, bytes that are
    no token have no ids when text is encoded; without it they raise KeyError. Raise ValueError where the tokens have no
    image.
    """

def build_packed_image(body: Buffer, sizes: Buffer, runs: Buffer, lefts: Buffer | None, source: Buffer) -> bytes:
    """Return the image of tokens whose ids are in runs: a count and the first id of each (uint32).

    Tokens are given as their bytes in a row and a size for each (uint8), and so are the first tokens of the two that
    each is merged from (0: nothing merges into it); without `lefts`, merges are found for all tokens. Raise ValueError
    where the tokens have no image.
    """

def split(text: str | Buffer, family: SupportsIndex, /) -> bytes:
    """Return where the pieces of a text, or of UTF-8, which is not checked, end: byte offsets in UTF-8, as uint64."""

def split_invalid(data: Buffer, start: SupportsIndex, by: SupportsIndex | Pattern, is_whole: bool, /) -> bytes | None:
    """Return where the pieces of text among bytes that are not UTF-8 end (uint64), from byte `start` on.

    Each run of bad bytes belongs to the last piece before it, and the text after it splits afresh. Ends count from
    `start` and are given up to the last bad byte that, where the data `is_whole` or not, nothing after it can change.
    `by` is the number of a family, or a pattern, which may look at the data before `start`. None: the pattern fails.
    """

def invalid_size(data: Buffer, is_whole: bool, /) -> int:
    """Return where the last run of bytes that are not UTF-8 ends that nothing after the data can change; 0 without one.

    The data begins with a whole character, or with such bytes. `is_whole`: nothing follows it.
    """

def set_instructions(most: Literal["portable", "sse2", "avx2", "avx512"], /) -> str:
    """Use no wider instructions of the processor than these from now on; return the ones that are used then."""

@final
class Vocabulary:
    """A vocabulary image that was opened. One in bytes or in a mapped file is not copied: its buffer is kept.

    Where a method has a `check`, it returns None for a text of which the check does not hold.
    """

    def __init__(self, image: Buffer, /) -> None:
        """Open an image; raise ValueError where it is none of this version."""
    def verify(self) -> bool:
        """Return whether every byte of the image is as it was built."""
    def source(self) -> bytes:
        """Return the 32 bytes that build_image was given as `source`."""
    def encode_pieces(
        self, data: Buffer, ends: Buffer, is_invalid: bool = False, keeps_ids: bool = True, keeps_counts: bool = False
    ) -> tuple[Ids | None, bytes | None, int]:
        """Return the ids of a text whose pieces end at some bytes (uint64), the number of each piece's, and of all.

        The ids and the numbers (uint32) are None unless they are kept. `is_invalid`: some bytes of the text are not
        UTF-8, and the pieces end as split_invalid has them; then there are no numbers of single pieces.
        """
    @overload
    def encode_invalid(
        self,
        data: Buffer,
        ends: Buffer,
        separator_size: SupportsIndex,
        splitter: SupportsIndex | Pattern,
        keeps_ids: Literal[True],
        /,
    ) -> tuple[Ids, bytes]: ...
    @overload
    def encode_invalid(
        self,
        data: Buffer,
        ends: Buffer,
        separator_size: SupportsIndex,
        splitter: SupportsIndex | Pattern,
        keeps_ids: Literal[False],
        /,
    ) -> bytes:
        """Return the ids of records of any bytes, and where those of each begin and the last one's end (uint64).

        Unless ids are kept, return the number of ids of each record (uint32) alone. Each record ends before one of
        `ends` (uint64), where its separator ends. Bytes that are not UTF-8 belong to the piece before them.
        """
    def parents(self) -> bytes:
        """Return the two ids that merge into each id (uint32): all left ones, then all right ones.

        2**32 - 1 is in the place of both for an id that no merge makes.
        """
    def unknown(self, ids: Buffer, /) -> bytes:
        """Return those of some ids (uint32) that are no tokens."""
    def tokens(self) -> list[bytes | None]:
        """Return the bytes of each id, and None for each id that is no token."""
    def decode(self, ids: Sequence[SupportsIndex], /) -> bytes:
        """Return the bytes of some ids; raise KeyError or OverflowError for an id that is no token."""
    def decode_str(self, ids: Sequence[SupportsIndex], /) -> str:
        """Return the text of some ids, with U+FFFD for bytes that are not UTF-8; raise as decode does."""

@final
class Decoder:
    """Turns ids in buffers into bytes, special tokens too. An id of both kinds means the ordinary token."""

    def __init__(self, vocabulary: Vocabulary, special_tokens: dict[int, bytes], /) -> None: ...
    def decode(self, ids: Buffer, width: SupportsIndex, /) -> bytes:
        """Return the bytes of ids of `width` (2 or 4) bytes each; raise KeyError for an id that is no token."""
    def spans(self, ids: Buffer, start: SupportsIndex, in_chars: bool, /) -> bytes:
        """Return the first and the past-the-end byte or character of each id (uint32), `start` of which come before.

        They are uint64. Raise KeyError for an id that is no token, ValueError for a `start` above 2**62.
        """

@final
class KnownTokens:
    """The bytes of ids, each told once with `add`, which are joined from then on."""

    def __init__(self) -> None: ...
    def add(self, ids: list[int], tokens: list[bytes], /) -> None:
        """Keep the bytes of each id (below 2**32)."""
    def joined(self, ids: Buffer, /) -> bytes | None:
        """Return the bytes of ids (uint32); None where one is not known."""
    def spans(self, ids: Buffer, start: SupportsIndex, in_chars: bool, /) -> bytes | None:
        """Return the spans of ids as `Decoder.spans` does; None where one is not known."""
    def unknown(self, ids: Buffer, /) -> bytes:
        """Return the ids (uint32) that are not known, each once, in the order in which they come."""

# --- patterns --------------------------------------------------------------------------------------------------------

@final
class Pattern:
    """The program of a pattern (pretokenizers/program.py), which splits text as it does; or patterns in a row."""

    def __init__(self, firsts: Buffer, classes: Buffer, sets: Buffer, steps: Buffer, start: SupportsIndex, /) -> None:
        """Take the arrays of a program; raise ValueError where they make none."""
    @staticmethod
    def row(patterns: list[Pattern], cuts: Buffer = b"", ends_words: bool = False) -> Pattern:
        """Return patterns in a row, each of which cuts the pieces that the one before left.

        `cuts` has a byte for each, which says where its matches cut (see program.py); without it, all cut around their
        matches. What is between two matches is a piece, too. With `ends_words`, a piece ends wherever a letter or digit
        of ASCII is before a space or newline, whatever is beside them: there threads cut a text. ValueError for an
        empty list, or a row in it. A row has no `find`, no alternatives, and no certain piece in a text that is not
        whole.
        """
    def find(self, text: str, /) -> bytes | None:
        """Return where each match begins and ends (uint64), in characters; None where that takes too much work."""
    def split(
        self, text: Buffer, start: SupportsIndex = 0, is_whole: bool = True, with_alternatives: bool = False
    ) -> tuple[bytes, bytes, bool]:
        """Return where the pieces of a text in UTF-8 end, which alternatives made them, and whether it could be split.

        Ends (uint64) count from byte `start`; alternatives (uint16) count from 1, and are given on request. The pattern
        may look at the text before `start`. Where a text is not `is_whole`, pieces that more text could change are left
        out. Where it could not be split, the pieces before that place are returned.
        """

# --- ids -------------------------------------------------------------------------------------------------------------

@final
class Ids(Buffer):
    """Ids as a read-only buffer of bytes: `memoryview(ids).cast("I")` has them as numbers."""

class Spans(Buffer):
    """Spans of tokens as a read-only buffer of bytes: `memoryview(spans).cast("Q")` has two numbers for each."""

def format_ids(ids: Buffer, between: bytes, /) -> bytes:
    """Return ids (uint32) as decimal text with `between` between two of them."""

def format_records(
    ids: Buffer, offsets: Buffer, between: bytes, joint: bytes, limit: SupportsIndex, /
) -> tuple[bytes, bool]:
    """Return the ids of records as decimal text, and whether a record has more than `limit` ids.

    A record's ids begin at one offset (uint64) and end at the next. `joint` is between two records. Of each record at
    most `limit` ids are printed.
    """

def format_rows(columns: list[tuple[Buffer, Buffer | None]], /) -> bytes:
    """Return a table as lines with tabs between their cells.

    A column is its numbers (uint32) and None: then a cell is the number, and empty for 2**32 - 1. Or it is numbers and
    lines of text: then a cell is the line with that number. Raise ValueError where columns have different lengths.
    """

def format_spans(ids: Buffer | None, spans: Buffer, shift: SupportsIndex = 0) -> bytes:
    """Return `id TAB start TAB end` and a newline for each id (uint32); or `[start, end], ...` for None.

    `spans` has two numbers (uint64) for each id, to which `shift` is added; raise ValueError where it has not.
    """

def byte_spans(text: Buffer, spans: Buffer, /) -> bytes:
    """Return spans in the characters of a text (uint64) as spans in its bytes."""

def mapped_spans(spans: Buffer, breaks: Buffer, shift: SupportsIndex, /) -> bytes:
    """Return spans in a changed text (uint64) as spans in the text before it; see engine/stream/spans.py."""

def trimmed_spans(spans: Buffer, blanks: Buffer, keeps_first: bool, /) -> bytes:
    """Return spans without so many characters (uint32, two for each) at their ends; see engine/stream/spans.py."""

def parse_ids(text: Buffer, /) -> Ids | None:
    """Return the ids in decimal text between ASCII white space and commas; None where there is anything else."""

def narrow_ids(ids: Buffer, /) -> bytes:
    """Return the lower 16 bits of each id (uint32) as uint16."""

def pack_records(
    ids: Buffer, offsets: Buffer, begin: SupportsIndex, extra: SupportsIndex | None, is_narrow: bool
) -> tuple[bytes, bytes]:
    """Return the ids of records (uint32; or their lower 16 bits, uint16), and where each record ends (uint64).

    A record's ids begin at one offset (uint64) and end at the next; `extra`, where given, follows them. The ends are
    counted in ids, from `begin` on.
    """

# --- text ------------------------------------------------------------------------------------------------------------

def valid_utf8(text: Buffer, /) -> int:
    """Return the number of bytes, from the beginning, that are whole characters of UTF-8."""

def count_chars(text: Buffer, /) -> int:
    """Return the number of characters of a text in UTF-8; of other bytes, how many do not continue a character."""

@final
class LongestMatch:
    """Texts in UTF-8, the longest of which is found at each place."""

    def __init__(self, texts: list[bytes], /) -> None:
        """Take texts that differ."""
    def find(self, data: Buffer, size: SupportsIndex, most: SupportsIndex, /) -> bytes:
        """Return where texts in the first `size` bytes of data begin and end (uint64), at most `most` of them."""
    def find_numbered(self, data: Buffer, numbers: Buffer, /) -> bytes:
        """Return where texts in data begin and end, and the number of each (uint64): `numbers` has one for each."""

def replace_invalid(data: Buffer, limit: SupportsIndex = ...) -> tuple[bytes, int]:
    """Return data with U+FFFD for what is not UTF-8, up to `limit` bytes, and how many bytes of the data that took."""

def record_ends(data: Buffer, separator: SupportsIndex, /) -> bytes:
    """Return the places after each byte that is `separator` (uint64)."""

def json_texts(lines: Buffer, name: bytes, other: bytes, /) -> tuple[bytes, bytes] | None:
    """Return the strings that member `name` is on each line, as UTF-8 in a row, and where each ends (uint64).

    None unless every line is a plain object, which has `name` and lacks the member `other`: see input/json_texts.h.
    """

# --- views of pieces and tokens ---------------------------------------------------------------------------------------

def escape_pieces(data: Buffer, ends: Buffer, between: Buffer, is_json: bool, is_invalid: bool = False) -> bytes:
    r"""Return the pieces of a text in UTF-8, which end at some bytes (uint64), with `between` between two of them.

    As JSON, they are strings in quotes; else \n, \r, \t, \\ and \xNN stand for characters that are not printable.
    Characters outside ASCII that are not shown become \uNNNN, or \UNNNNNNNN (two \uNNNN in JSON).
    `is_invalid`: pieces may end in other bytes than UTF-8, which become \xNN or, in JSON, lone surrogates.
    """

def token_lines(
    text: Buffer,
    ends: Buffer,
    codes: list[bytes],
    spaces: bool,
    number: SupportsIndex,
    ended_line: bool,
    /,
) -> tuple[bytes, int, bool]:
    """Return the lines of a text whose tokens end at some bytes (uint64); and how many tokens were printed, and how.

    Each token begins with one of `codes`, in turn; without any, a boundary is between two tokens. `number` tokens were
    printed before, and `ended_line` says whether the last of them ended its line; both are returned for the next call.
    The last line is without its newline. Raise ValueError where the ends do not ascend to the end of the text.
    """

@final
class TokenRows:
    """Rows of a screen in which each token has one of some colours, or boundaries around it; tokens come in parts."""

    def __init__(self, width: SupportsIndex, has_ids: bool, isolates: bool, codes: list[bytes]) -> None:
        """Take the width in screen cells, whether ids are below the tokens, and what begins each colour (or nothing).

        With `isolates`, what is written from right to left keeps its place in coloured rows.
        """
    def add(self, text: Buffer, ends: Buffer, ids: Buffer, /) -> bytes:
        """Return the rows that more tokens complete: they end at some bytes of a text (uint64), and have ids (uint32).

        Raise ValueError where the ends do not ascend to the end of the text, or there is not an id for each.
        """
    def finish(self) -> bytes:
        """Return the last row."""

@final
class Stacks:
    """Rows of aligned lines that show a text under several encodings."""

    def __init__(
        self,
        text: Buffer,
        tracks: list[tuple[bytes, Buffer]],
        room: SupportsIndex | None,
        label_code: bytes,
        codes: list[bytes],
        isolates: bool,
    ) -> None:
        """Take a text, and for each encoding the label before its lines and the span of each token (two uint64).

        A row has `room` screen cells, or ends only with a line of the text. Labels begin with `label_code`, and tokens
        with one of `codes`, in turn. With `isolates`, what is written from right to left keeps its place. Raise
        ValueError where a span is not within the text.
        """
    def rows(self, begin: SupportsIndex, enough: SupportsIndex, /) -> tuple[bytes, int]:
        """Return rows from the one that begins at a byte on, up to some `enough` bytes of them; and the next begin."""

def piece_rows(
    data: Buffer,
    ends: Buffer,
    alternatives: Buffer,
    ids: Buffer,
    counts: Buffer,
    number: SupportsIndex,
    offset: SupportsIndex,
    is_json: bool,
    /,
) -> bytes:
    """Return a row for each piece of a text in UTF-8: number, bytes, characters, alternative, text and ids.

    Pieces end at some bytes (uint64); each has an alternative (uint16, 0 for none) and a number of ids (uint32). The
    first piece has the number `number` and begins at byte `offset`. Rows are lines with tabs, texts escaped as
    escape_pieces does; or as JSON objects with ", " between them. Raise ValueError where the arrays do not fit.
    """

def piece_totals(
    data: Buffer,
    ends: Buffer,
    alternatives: Buffer,
    counts: Buffer,
    least: SupportsIndex,
    wanted: SupportsIndex,
    kept: SupportsIndex,
    /,
) -> tuple[bytes, bytes, list[tuple[bytes, int, int]], bytes]:
    """Return totals over the pieces of a text, which are given as to piece_rows.

    They are: the pieces of each alternative, and their bytes (uint64, the index is the alternative's number); the
    distinct pieces of several ids, in the order in which they first occur, each by its first `kept` bytes, with its
    number of ids and how often it occurs; and the indexes (uint64) of all pieces that may be among the `wanted` longest
    distinct ones, if those of up to `least` bytes are not. Raise ValueError where the arrays do not fit.
    """

# --- lists of merges -------------------------------------------------------------------------------------------------

def live_merges(blob: Buffer, sizes: Buffer, ids: Buffer, merges: Buffer, /) -> bytes:
    """Return the numbers (uint32), in order, of the merges that can happen; tokens are given as to build_image.

    Raise ValueError where tokens are so long that finding out would take minutes.
    """

def merge_ids(
    texts: list[str] | list[bytes],
    ids: Buffer,
    merges: list[str] | list[bytes] | list[list[str]],
    prefix: SupportsIndex,
    /,
) -> bytes | None:
    """Return merges ("left right" or [left, right]) as ids: left, right, and the token that both become (uint32 each).

    `prefix` is the number of characters of the right text that are left out when both are joined. Return None where a
    merge is not of these texts, or two merges have the same texts. Raise ValueError where a text has no UTF-8.
    """

def rank_merges(
    texts: list[str], ids: Buffer, merges: Buffer, ignore_merges: bool, drops_missing: bool, /
) -> tuple[bytes, bytes, bytes, bytes, bytes] | None:
    """Return the ranks that do what a list of merges does; None where no ranks do.

    The texts are in GPT-2's alphabet; a text with other characters is no token. The answer is the image, the ids of the
    ranks, the ids that are only found whole, the merges that can happen (all uint32), and the bytes that are no token.
    Raise ValueError where tokens are too long, or have no image.
    """

# --- tokenizers that are not byte-level (engine/bindings) ------------------------------------------------------------

@final
class TextModel:
    """The stages of a tokenizer. Texts here are UTF-8, tables are of uint32, and the id 2**32 - 1 means none.

    It is made in this order: tokens, unknown text, kept symbols, one model, words, added tokens, steps of a normalizer.
    After that any number of threads encode with it: of a str, a pair of surrogates is its character, and a lone one
    U+FFFD. Raise ValueError where a table does not fit the others, and GrowthError (tokcli.errors) where the normalizer
    makes too much of a text; of several texts, the answer is None then, as for those that only Python can encode.
    """

    @overload
    def __init__(self, blob: Buffer, sizes: Buffer, ids: Buffer, /) -> None:
        """Begin with distinct tokens: their texts in a row, a size and an id for each."""
    @overload
    def __init__(self, image: Buffer, /) -> None:
        """Open what image() returned. Of bytes, aligned to 16 bytes, the buffer is kept; any other is copied."""
    def image(self) -> bytes:
        """Return the image of all tables."""
    def set_unknown(self, id: SupportsIndex, bytes: Buffer, joins: bool, /) -> None:
        """Set what unknown text becomes: the id of each of its 256 bytes, or, where `bytes` is empty, one id.

        With `joins`, unknown words that follow each other become one id.
        """
    def set_kept(self, texts: list[bytes], /) -> None:
        """Set the symbols that SentencePiece's normalizer and models never take apart."""
    def use_pieces(self, orders: Buffer, kept: Buffer, /) -> None:
        """Use BPE in which two symbols merge where both together are a token.

        `orders` says when each token is merged, the lowest first; `kept` has a byte for each: whether it is a kept
        symbol.
        """
    def use_pairs(
        self,
        pairs: Buffer,
        ranks: Buffer,
        made: Buffer,
        has_unknown: bool,
        fuses: bool,
        whole_first: SupportsIndex,
        prefix: Buffer,
        suffix: Buffer,
        /,
    ) -> None:
        """Use BPE by a list of merges: a pair (uint64: the left id above the right one), a rank and an id for each.

        `whole_first`: 0, or a piece that is a token is not merged: 1 any piece, 2 one of newlines.
        """
    def use_word_piece(self, prefix: Buffer, max_chars: SupportsIndex, /) -> None:
        """Use WordPiece; tokens that continue a word begin with `prefix`."""
    def use_whole(self, by_character: bool, /) -> None:
        """Use a model whose words, or characters and kept symbols, are tokens or unknown."""
    def use_unigram(self, scores: Buffer, unknown_score: float, sums: SupportsIndex, /) -> None:
        """Use Unigram with a score (double) for each token; sums: 0 a word, 1 the text in 32 bits, 2 in 64 bits."""
    def use_ranks(
        self,
        vocabulary: Vocabulary,
        by: SupportsIndex | Pattern,
        exact: Pattern | None,
        exceptions: Buffer,
        puts_space: bool,
    ) -> None:
        """Use the ranks of a vocabulary for pieces that a family of patterns (by its number) or a pattern cuts.

        Text with a character of the ranges `exceptions` (the first and the last of each) is cut by `exact`, or only
        Python can encode it. With `puts_space`, text between added tokens gets a space in front, unless it has one.
        """
    def set_words(self, cut: SupportsIndex, space: Buffer, before_known: bool, /) -> None:
        """Set where pieces are cut into words: 0 nowhere, 1 before each space, 2 wherever no token crosses.

        With `before_known`, words are cut only before characters that are tokens.
        """
    def set_metaspace(self, splits: bool, blindly: bool, prefix: SupportsIndex, /) -> None:
        """Put a space before pieces: 0 never, 1 always, 2 before the first; `blindly` even where a piece has one."""
    def set_added(self, normalized: bool, tokens: list[tuple[bytes, int, bool, bool, bool]], /) -> None:
        """Set the added tokens that are found before or after normalizing: text, id, single_word, lstrip, rstrip."""
    def add_step(self, kind: SupportsIndex, found: Buffer, content: Buffer, left: bool, right: bool, /) -> None:
        """Add a step of the normalizer.

        0 prepends `content`, 1 replaces `found`, 2 replaces runs of spaces, 3 applies rules for characters, 4 strips.
        """
    def set_spaces(
        self,
        units: Buffer,
        texts: Buffer,
        add_prefix: bool,
        trim: bool,
        as_suffix: bool,
        is_llama: bool,
        space: Buffer,
        /,
    ) -> None:
        """Add SentencePiece's normalizer: the units and texts of a charsmap, and what becomes of spaces."""
    def set_characters(
        self, steps: list[tuple[str, str]] | list[tuple[str, int]], units: Buffer, texts: Buffer, words: Buffer, /
    ) -> None:
        """Set the steps that look at characters, which a step of the normalizer applies: a name, and what it is about.

        form (a normal form), lower, without (a class of characters), nmt, clean and chinese (BERT's), charsmap (that of
        these units and texts, on grapheme clusters), words (llama.cpp's BERT: 1 lower case, 2 accents stripped; `words`
        are its ranges of characters, each as first, last and kind).
        """
    def set_groups(self, rules: list[tuple[str, str | int, str]], /) -> None:
        """Cut pieces where the group of characters changes: by words, class (its name) or character (its code point).

        The characters that a rule finds are Removed, Isolated, or apart from others (Contiguous).
        """
    @overload
    def encode(
        self,
        text: str | Buffer,
        raw: Buffer,
        normalized: Buffer,
        threads: SupportsIndex = 1,
        as_list: Literal[False] = False,
    ) -> Ids | None: ...
    @overload
    def encode(
        self, text: str | Buffer, raw: Buffer, normalized: Buffer, threads: SupportsIndex, as_list: Literal[True]
    ) -> list[int] | None:
        """Return the ids of a text as a buffer or as a list; None where only Python can encode it.

        The text is a str or UTF-8 (else ValueError). `raw` and `normalized` have a byte for each added token: 0 it is
        not looked for, 1 found, 2 found and taken as text. At most `threads` share a long text.
        """
    def count(self, text: str | Buffer, raw: Buffer, normalized: Buffer, threads: SupportsIndex = 1) -> int | None:
        """Return the number of ids of a text, else as encode does."""
    def encode_part(
        self,
        text: str | Buffer,
        raw: Buffer,
        normalized: Buffer,
        threads: SupportsIndex,
        begins: bool,
        ends: bool,
        total: float,
        keeps_spans: bool,
        /,
    ) -> tuple[Ids, float, Spans | None, Ids | None] | None:
        """Return the ids of a text, or of a part of one, the sum of scores after it and, if asked for, their spans.

        `begins` and `ends` say whether the whole text begins and ends with it, and `total` is the sum before it. With
        the spans of ranks comes with how many spaces the text of each id begins and ends (uint32, two for each).
        """
    @overload
    def encode_batch(
        self, texts: list[str], raw: Buffer, normalized: Buffer, threads: SupportsIndex, as_lists: Literal[True], /
    ) -> list[list[int] | None]:
        """Return the ids of each text, None for one that only Python can encode."""
    @overload
    def encode_batch(
        self, texts: list[str], raw: Buffer, normalized: Buffer, threads: SupportsIndex, as_lists: Literal[False], /
    ) -> tuple[Ids, bytes] | None:
        """Return the ids of all texts, and where those of each begin and the last end (uint64), else as encode does."""
    def split(self, text: str | Buffer, raw: Buffer, normalized: Buffer, threads: SupportsIndex, /) -> bytes | None:
        """Return the bytes (uint64) at which the pieces of a text end, else as encode does."""
    def part_ends(self, text: str | Buffer, raw: Buffer, normalized: Buffer, size: SupportsIndex, /) -> bytes | None:
        """Return the bytes (uint64) at which parts of a text end that may be encoded one by one, else as encode does.

        Each has `size` bytes or a few more. There are none where the text has to be encoded whole.
        """
    @overload
    def encode_records(
        self,
        data: str | Buffer,
        ends: Buffer,
        separator_size: SupportsIndex,
        raw: Buffer,
        normalized: Buffer,
        before: Buffer,
        keeps_ids: Literal[True],
        keeps_spans: Literal[False],
        /,
    ) -> tuple[Ids, Spans] | None: ...
    @overload
    def encode_records(
        self,
        data: str | Buffer,
        ends: Buffer,
        separator_size: SupportsIndex,
        raw: Buffer,
        normalized: Buffer,
        before: Buffer,
        keeps_ids: Literal[True],
        keeps_spans: Literal[True],
        /,
    ) -> tuple[Ids, Spans, Spans, Ids | None] | None: ...
    @overload
    def encode_records(
        self,
        data: str | Buffer,
        ends: Buffer,
        separator_size: SupportsIndex,
        raw: Buffer,
        normalized: Buffer,
        before: Buffer,
        keeps_ids: Literal[False],
        keeps_spans: Literal[False],
        /,
    ) -> bytes | None:
        """Return the ids of all records, and where those of each begin and the last ones end; else as encode does.

        If spans are kept, return also those of the ids in the characters of their records, and of ranks two numbers of
        blanks (uint32) for each id, as `encode_part` does.

        Unless ids are kept, return the number of ids of each record (uint32) alone.

        Records are in one text. In its UTF-8, each ends before one of `ends` (uint64), where its separator ends.
        `before` (UTF-8) is put before each record that is not empty.
        """

# --- training --------------------------------------------------------------------------------------------------------

@final
class PieceTable:
    """Distinct pieces and their counts: the twin of PieceTable in engine/reference/piece_table.py.

    A block is what engine/base/count_rows.py describes.
    """

    @property
    def piece_bytes(self) -> int:
        """The sizes of all distinct pieces together, in bytes."""
    @property
    def memory(self) -> int:
        """The memory in bytes that the table takes, or will take when it grows next."""
    @property
    def has_overflown(self) -> bool:
        """True where `count` has made a count above 2**62; all other methods raise OverflowError for that."""
    def __len__(self) -> int: ...
    def count(self, data: Buffer, splitter: SupportsIndex | Pattern, /) -> bool:
        """Count the pieces of a text (UTF-8, complete); return whether all of it could be split."""
    def count_split(self, data: Buffer, ends: Buffer, /) -> None:
        """Count the pieces of a text that end at some bytes (uint64)."""
    def add(self, piece: Buffer, count: SupportsIndex, /) -> None:
        """Add to the count of a piece."""
    def update(self, other: PieceTable, /) -> None:
        """Add all counts of another table."""
    def add_block(self, block: Buffer, /) -> None:
        """Add the counts of a block; raise ValueError where it is damaged."""
    def sort(self) -> None:
        """Begin to write blocks, in the order of the pieces' bytes."""
    def next_block(self, limit: SupportsIndex, /) -> bytes:
        """Return the next block, which ends with the row that brings it to `limit` bytes; b"" at the end."""
    def item(self, number: SupportsIndex, /) -> tuple[bytes, int]:
        """Return a piece and its count by its number, in the order of first occurrence; raise IndexError at the end."""
    def clear(self) -> None:
        """Remove all pieces, and give their memory back."""

@final
class RunMerger:
    """Merges runs of blocks into one. Raise ValueError where a block is damaged or out of order."""

    def __init__(self, runs: SupportsIndex, /) -> None: ...
    def feed(self, run: SupportsIndex, block: Buffer, /) -> None:
        """Give its next block to the run that merge() named; an empty block ends the run."""
    def merge(self, limit: SupportsIndex, /) -> bytes | int | None:
        """Return a block; or the number of the run that needs its next block; or None at the end.

        Raise OverflowError where a sum of counts is above 2**62.
        """

@final
class Trainer:
    """Learns the merges of a byte pair encoding: the twin of training/trainer.py. Ids are places of tokens.

    All pieces are added before the first merge: ValueError afterwards.
    """

    def __init__(
        self,
        vocab_size: SupportsIndex,
        min_frequency: SupportsIndex,
        max_token_bytes: SupportsIndex,
        first_wins: bool,
        memory: SupportsIndex,
        token_bytes: Buffer,
        byte_ids: Buffer,
        /,
    ) -> None:
        """Begin with tokens of these sizes (uint32); `byte_ids` has the id (uint32) of each of the 256 bytes.

        `memory` is roughly what lists and tables may take in bytes, 0 for any number. It changes no merge.
        """
    def add(self, ids: Buffer, count: SupportsIndex, /) -> None:
        """Add a piece, as ids (uint32), that occurs so many times."""
    def add_table(self, table: PieceTable, in_order: bool, /) -> None:
        """Add all pieces of a table, in their order or the most frequent first."""
    def add_block(self, block: Buffer, /) -> None:
        """Add the pieces of a block; raise ValueError where it is damaged."""
    def run(self, milliseconds: SupportsIndex, limit: SupportsIndex, /) -> tuple[bytes, bool]:
        """Return the next merges (left, right and count, uint64 each), and whether there may be more.

        Return after `limit` merges, or soon after the time is over. Raise OverflowError where counts are too large.
        """
    def end(self) -> tuple[int, int]:
        """End training; return how often the most frequent pair left occurs, and the most frequent that is too long.

        0 where there is no such pair.
        """
