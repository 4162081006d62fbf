"""Where texts may be cut for SentencePiece's models, and for llama.cpp's T5, whose normalizer has the same charsmap."""

from __future__ import annotations

from collections.abc import Iterable

from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.llama_cpp.ugm import LlamaUnigram
from tokcli.engine.long_texts.text_cuts import AROUND, CutsBesideTokens, NeighbourTable, TextCuts
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.sentencepiece.model import SentencePiece


def cuts_of_sentencepiece(rules: SentencePiece) -> TextCuts | None:
    """Return where a model's texts may be cut; None where spaces end words, or unused pieces are taken apart again."""
    model, tables, settings = rules.model, rules.tables, rules.settings
    if settings.whitespace_as_suffix or (model.type == "bpe" and any(len(text) > 1 for text in tables.unused)):
        return None
    is_words = model.type == "word"
    known = {text for text in tables.ids if len(text) == 1} - tables.unused
    cuts = CharsmapCuts(
        rules.normalizer.charsmap,
        settings.kept,
        () if model.type in ("word", "char") else tables.ids,
        None if model.byte_fallback or is_words else known,
        space=VISIBLE_SPACE if settings.escape_whitespaces else " ",
        only_spaces=is_words,
        in_order=model.type == "unigram" or is_words,
        unknown=tables.unknown_id if is_words and not model.byte_fallback else None,
    )
    return CutsBesideTokens(cuts, rules.special_tokens) if rules.special_tokens else cuts


def cuts_of_unigram(model: LlamaUnigram) -> CharsmapCuts:
    """Return where the texts of llama.cpp's T5 may be cut."""
    known = {text for text in model.tokens if len(text) == 1}
    return CharsmapCuts(model.charsmap, model.user_defined, model.tokens, known, space=VISIBLE_SPACE, in_order=True)


class CharsmapCuts(TextCuts):
    """Cuts where no rule of the charsmap, no user-defined symbol (`kept`) and no token holds both neighbours.

    `known` are the characters that are never unknown, None where that does not matter: unknown ones side by side are
    one id. `space` is what a space becomes; with `only_spaces`, words end there alone.
    """

    def __init__(
        self,
        charsmap: Charsmap,
        kept: Iterable[str],
        tokens: Iterable[str],
        known: set[str] | None,
        *,
        space: str,
        only_spaces: bool = False,
        in_order: bool,
        unknown: int | None = None,
    ) -> None:
        self._charsmap, self._known, self._space, self._only_spaces = charsmap, known, space, only_spaces
        kept = list(kept)
        self._kept, self._tokens = NeighbourTable(kept), NeighbourTable(tokens)
        self._keeps_first = {symbol[0] for symbol in kept if symbol}
        self.in_order, self.unknown = in_order, unknown

    def is_cut(self, text: str, at: int) -> bool:
        """Return whether a text may be cut before the white space at `at`; see `TextCuts`."""
        left, right = text[at - 1], self._becomes(text[at : at + AROUND])
        if text[at] in self._keeps_first or self._kept.holds(left, text[at]):
            return False
        if right is None or not self._stays(text, at):
            return False
        if self._only_spaces and right != self._space:
            return False
        is_known = self._known is None or left in self._known or right in self._known
        return is_known and not self._tokens.holds(left, right)

    def _becomes(self, text: str) -> str | None:
        """Return the first character that a text becomes; None where that is not known."""
        found = self._charsmap.longest(text.encode(), 0)
        made = text[0] if found is None else found[1].decode("utf-8", "replace")[:1]
        return (self._space if made == " " else made) or None

    def _stays(self, text: str, at: int) -> bool:
        """Return whether the character before `at` stays as it is: no rule has it, with what is before or after it."""
        charsmap, left = self._charsmap, text[at - 1]
        if charsmap.longest(text[at - 1 : at + AROUND].encode(), 0) or charsmap.continues((left + text[at]).encode()):
            return False
        before = text[max(0, at - AROUND) : at].encode()
        return not any(charsmap.continues(before[begin:]) for begin in range(len(before) - len(left.encode())))
