"""The options of `tokcli encode` as values, and the request that they make."""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tokcli.cli import options
from tokcli.cli.messages import no_special_token
from tokcli.cli.request import TextRequest
from tokcli.engine.stream.ids import packed_records
from tokcli.engine.tokens import Tokens, joined, template_tokens

if TYPE_CHECKING:
    from tokcli.engine.chunking.boundaries import Boundary
    from tokcli.engine.encoding import Encoding

IdFormat = Literal["text", "json", "u16", "u32", "npy"]


class EncodeOptions(options.ClusterOptions, options.ChatOptions):
    """The options of `tokcli encode`, as values."""

    form: IdFormat
    offsets: Literal["byte", "char"] | None
    limit: int | None
    keep: Literal["first", "last"]
    fail_if_truncated: bool
    as_text: bool
    chunk: int | None
    overlap: int
    boundary: Boundary
    shards: str | None
    layout: str
    shard_tokens: int
    prepend_special: str | None
    append_special: str | None
    shard_of: str | None
    dropout: float | None
    nbest: int | None
    alpha: float | None
    seed: int | None
    visualise: Literal["tokens", "merges"] | None
    ids: bool
    svg: str | None
    step: bool
    compare: str | None
    html: str | None
    no_box: bool

    @property
    def is_for_ids(self) -> bool:
        """Whether ids alone are asked for: no text, no view, and no ids that are prepared for training."""
        is_text = self.as_text or self.chunk is not None
        is_view = self.shows_tokens or self.compare is not None
        is_prepared = (self.shards, self.prepend_special, self.append_special) != (None, None, None)
        return not (is_text or is_view or is_prepared)

    @property
    def shows_tokens(self) -> bool:
        """Whether tokens are shown in colours: on the screen, in a page or in a picture."""
        return (self.visualise, self.html, self.svg) != (None, None, None)

    @property
    def is_sampled(self) -> bool:
        """Whether ids are drawn at random."""
        return self.dropout is not None or self.alpha is not None


class EncodeRequest(TextRequest[EncodeOptions]):
    """A request to encode texts, each of which may get tokens before and after it."""

    @cached_property
    def frame(self) -> tuple[array[int], array[int]]:
        """The ids (uint32) that --prepend-special puts before each text, and --append-special after it."""
        names = self.options.prepend_special, self.options.append_special
        before, after = (array("I", [] if name is None else [special_id(self.encoding, name)]) for name in names)
        return before, after

    @cached_property
    def plain_encoding(self) -> Encoding:
        """The encoding that the options name; `encoding` may be one that draws its ids at random."""
        return self.encoding

    @property
    def adds_tokens(self) -> bool:
        """Whether the template or an option adds tokens to texts."""
        return self.options.add_special_tokens or any(self.frame)

    def finished(self, texts: list[Tokens]) -> Tokens:
        """Return one text or a pair of texts after the post-processor, in the frame."""
        return self.framed(self.encoding.tokenizer.finish(texts, self.options.add_special_tokens), len(texts))

    def framed(self, tokens: Tokens, texts: int = 1) -> Tokens:
        """Return the tokens of a text, or of a pair of texts, in the frame."""
        if not any(self.frame):
            return tokens
        before, after = self.frame
        return joined([template_tokens(before, 0), tokens, template_tokens(after, texts - 1)])

    def finished_records(self, ids: memoryview, offsets: memoryview) -> tuple[memoryview, memoryview]:
        """Return the ids of single texts after the post-processor, in the frame, and where each begins (uint64).

        `packed_records` puts an id after each text. If all ids then move by one, it is before the next text, and so it
        is before each.
        """
        (first, last), (bos, eos) = self.frame, self.template_ids
        for id in eos + last:
            ids, offsets = _each_followed_by(id, ids, offsets)
        for id in reversed(first + bos):
            ids, offsets = _each_followed_by(id, ids, offsets)
            ids = memoryview(array("I", [id]).tobytes() + ids[:-1].cast("B")).cast("I") if len(ids) else ids
        return ids, offsets


def special_id(encoding: Encoding, name: str) -> int:
    """Return the id of a special token, or of a control piece or an added token; InputError where there is none."""
    tokenizer = encoding.tokenizer
    if name in tokenizer.special_tokens:
        return tokenizer.special_tokens[name]
    texts, kinds = tokenizer.token_bytes(), tokenizer.token_kinds()
    named = {texts[id].decode(errors="replace"): id for id, kind in kinds.items() if kind in NAMED_KINDS}
    if name not in named:
        control = [text for text, id in named.items() if kinds[id] == "control"]
        raise no_special_token(encoding, name, control)
    return named[name]


def _each_followed_by(id: int, ids: memoryview, offsets: memoryview) -> tuple[memoryview, memoryview]:
    """Return the ids of texts with one more after each, and where those of each begin."""
    ids, ends = packed_records(ids, offsets, 0, id, "u32")
    return ids, memoryview(array("Q", [0]).tobytes() + ends.cast("B")).cast("Q")


NAMED_KINDS = ("special", "control", "added", "user-defined")  # of tokens that have a name rather than a text
