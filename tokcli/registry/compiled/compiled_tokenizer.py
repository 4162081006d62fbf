"""`CompiledTokenizer`: a tokenizer made of its image; the vocabulary's file is read only for what that lacks.

Encoding, counting, splitting and decoding need only the spec (`ImageSpec`) and the native tables. Pairs of texts,
scores, merges, and what native code refuses are asked of the tokenizer that is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tokcli.engine.base.arguments import NONE
from tokcli.engine.native_models.opened_stages import opened_stages
from tokcli.engine.native_models.text_model import NativeText
from tokcli.engine.spec.image import SPECIAL, ImageSpec, Trimming
from tokcli.engine.text_tokenizer import TextTokenizer, words_at_spaces
from tokcli.engine.tiktoken.text_ranks import TextRanks
from tokcli.engine.tokens import Tokens, joined, template_tokens, trimmed_spans

if TYPE_CHECKING:
    from tokcli.engine.bindings.id_decoder import IdDecoder
    from tokcli.engine.spec.token_table import TokenTable
    from tokcli.engine.stream.decoding import ByteDecoder

Sections = Mapping[str, memoryview]


def special_tokens_in(spec: ImageSpec) -> dict[str, int]:
    """Return the id of each special token by its text."""
    listed = zip(spec.added_texts, spec.added_ids, spec.added_flags, strict=True)
    return {text: id for text, id, flags in listed if flags & SPECIAL}


def trimmed(tokens: Tokens, trimming: Trimming) -> Tokens:
    """Return tokens as a post-processor with this trimming leaves them."""
    if trimming != "none" and tokens.spans is not None and tokens.blanks is not None:
        keeps_first = trimming == "all but the first" and tokens.begins
        tokens.spans = trimmed_spans(tokens.spans, tokens.blanks, keeps_first=keeps_first)
    return tokens


class CompiledTokenizer(TextTokenizer):
    """A `TextTokenizer` made of its spec and the sections of its image; `load` reads the whole tokenizer.

    `name` is what messages call the file. ValueError or IndexError where the sections do not fit the spec.
    """

    special_tokens: Mapping[str, int]
    max_id: int
    is_byte_level: bool
    decodes_context_free: bool
    native: NativeText | None = None
    text_ranks: TextRanks | None = None
    has_template: bool = False
    splits_at_spaces: bool = False
    single_pattern: str | None = None
    file_notes: Sequence[str] = ()

    def __init__(self, spec: ImageSpec, sections: Sections, name: str, load: Callable[[], TextTokenizer]) -> None:
        self.spec, self._sections, self._name, self._load = spec, sections, name, load
        self.special_tokens, self.max_id, self.is_byte_level = special_tokens_in(spec), spec.max_id, spec.is_byte_level
        self.has_template, self.decodes_context_free = spec.has_template, spec.decodes_context_free
        self.splits_at_spaces, self.single_pattern = spec.splits_at_spaces, spec.single_pattern
        self.file_notes = spec.file_notes
        if (spec.ranks is None) != ("ranks" not in sections):
            raise ValueError("ranks without their image, or the other way round")
        self._table = _table_in(sections["tokens"]) if "tokens" in sections else None
        if "stages" in sections:
            self.native = self._open_stages()
            self.native.encode("", NONE)  # ValueError: the stages were made for other added tokens
        elif spec.ranks is not None:
            added = dict(zip(spec.added_texts, spec.added_ids, strict=True))
            ranks, exact = sections["ranks"], sections.get("exact", b"")
            self.text_ranks = TextRanks(name, spec.ranks, added, self._load_ranks, lambda: ranks, lambda: exact)
        else:
            raise ValueError("nothing that encodes")

    def _load_ranks(self) -> dict[bytes, int]:
        text_ranks = self.whole.text_ranks
        return {} if text_ranks is None else text_ranks.mergeable_ranks

    def _open_stages(self) -> NativeText:
        if self.spec.ranks is None and self.spec.cuts_by is None:
            return opened_stages(self.spec, self._sections["stages"])
        from tokcli.engine.bindings.stages import open_stages

        return open_stages(self.spec, self._sections, lambda id: self._ids.joined([id]), self._name)

    @cached_property
    def whole(self) -> TextTokenizer:
        """The tokenizer that the file defines; it is read when this is first asked for."""
        whole = self._load()
        if self.native is not None:
            vars(whole)["native"] = self.native  # it need not be built again
        return whole

    @property
    def trims_spans(self) -> bool:
        return self.spec.trimming != "none"

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        template = self.spec.template_ids if add else ((), ())
        trimming = self.spec.trimming if texts[0].spans is not None else "none"
        if len(texts) != 1 or template is None or trimming is None:
            return self.whole.finish(texts, add)
        before, after = (template_tokens(ids, 0) for ids in template)
        return joined([before, trimmed(texts[0], trimming), after])

    def split(self, text: str) -> list[str]:
        return words_at_spaces(text) if self.splits_at_spaces else self.whole.split(text)

    @cached_property
    def _ids(self) -> IdDecoder:
        """What decodes ids, as far as the image says how."""
        from tokcli.engine.bindings.id_decoder import IdDecoder

        return IdDecoder(self.spec, self._sections.get("ranks"), self._table, lambda ids: self.whole.decode(ids))

    def decode(self, ids: Sequence[int]) -> bytes:
        return self._ids.decode(ids) if self._ids.is_able else self.whole.decode(ids)

    def decode_array(self, ids: memoryview) -> bytes:
        return self._ids.decode(ids) if self._ids.is_able else self.whole.decode_array(ids)

    def decode_stream(self) -> ByteDecoder | None:
        if self.decodes_context_free:
            return None
        return self._ids.stream() if self._ids.is_able else self.whole.decode_stream()

    def token_bytes(self) -> Mapping[int, bytes]:
        return self.whole.token_bytes() if (told := self._ids.token_bytes()) is None else told

    def parents(self, id: int) -> tuple[int, int] | None:
        return self.whole.parents(id)


def _table_in(block: memoryview) -> TokenTable:
    from tokcli.engine.spec.token_table import TokenTable

    return TokenTable(block)
