"""`LlamaUnigram`: T5's Unigram as llama.cpp runs it, with sums of 64 bits, after a normalizer like SentencePiece's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import cast

from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.bpe.lattice import (
    FLOAT32_MAX,
    UNKNOWN_PENALTY,
    Path,
    best_path,
    best_path_from,
    prefixes,
    to_float32,
)
from tokcli.engine.llama_cpp.fragment_models import FragmentModel
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.spec.models import NORMAL, UNUSED, USER_DEFINED
from tokcli.engine.spec.normalizers import SentencePieceNormalizer
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.tokens import check_growth, most_made_of


class LlamaUnigram(FragmentModel):
    """T5's Unigram; `tokens` has the score and the id of each text."""

    model_kind = "path"
    uses_scores = True

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(spec)
        model, self.settings = self.data, cast(SentencePieceNormalizer, spec.normalizer[0])
        self.unknown = self.unknown_id()
        self.charsmap = Charsmap(self.settings.charsmap)
        listed = [
            (text, id, score, kind)
            for id, (text, score, kind) in enumerate(zip(model.texts, model.scores, model.kinds, strict=True))
            if kind & (NORMAL | USER_DEFINED | UNUSED)
        ]
        self.tokens = {text: (0.0 if kind & USER_DEFINED else score, n) for text, n, score, kind in listed}
        self.user_defined = [text for text, _, _, kind in listed if kind & USER_DEFINED and text]
        self._kept = prefixes(self.user_defined)
        lowest = min((score for _, _, score, kind in listed if kind & NORMAL), default=FLOAT32_MAX)
        self.unknown_score = to_float32(lowest - UNKNOWN_PENALTY)

    @cached_property
    def path_scores(self) -> dict[str, float]:
        """The score of each token."""
        return {text: score for text, (score, _) in self.tokens.items()}

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The prefixes of the tokens."""
        return prefixes(self.tokens)

    def path(self, text: str) -> Path:
        """Return the path through a normalized text that is taken: the best one."""
        return best_path(text, self.path_scores, self.beginnings, self.unknown_score)

    def normalize(self, text: str) -> str:
        """Return the text that the model sees: replaced by the charsmap's rules, with visible spaces."""
        out: list[str] = []
        in_word = has_prefix = False
        puts, trims = self.settings.add_dummy_prefix, self.settings.remove_extra_whitespaces
        most = most_made_of(len(text))
        for char in self._replaced(text):
            check_growth(len(out), most, "charsmap")
            if char == " ":
                in_word = False
                if not trims:
                    out.append(VISIBLE_SPACE)
                continue
            if not in_word:
                in_word = True
                if (puts and not has_prefix) or trims:
                    out.append(VISIBLE_SPACE)
                    has_prefix = True
            out.append(char)
        check_growth(len(out), most, "charsmap")
        return "".join(out)

    def _replaced(self, text: str) -> Iterator[str]:
        data = text.encode()
        at = index = 0  # in the bytes, in the text
        while index < len(text):
            # llama.cpp keeps even the beginning of a user-defined token as it is
            end = index
            while end < len(text) and text[index : end + 1] in self._kept:
                end += 1
            if end > index:
                yield from text[index:end]
                at += len(text[index:end].encode())
                index = end
                continue
            found = self.charsmap.longest(data, at)
            if found is None:
                yield text[index]
                at += len(text[index].encode())
                index += 1
            else:
                yield from found[1].decode("utf-8", "replace")
                index += len(data[at : at + found[0]].decode("utf-8", "replace"))
                at += found[0]

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of a text; a run of unknown characters has one id."""
        text = self.normalize(text)
        return self._ids_of(text, self.path(text))

    def encode_after(self, before: str, total: float, text: str) -> tuple[list[int], float]:
        """Return the ids of a text that continues another, and the sum of all scores after it; see `TextTokenizer`."""
        text = self.normalize(before + text)[len(self.normalize(before)) :]
        path, total = best_path_from(total, text, self.path_scores, self.beginnings, self.unknown_score)
        return self._ids_of(text, path), total

    def _ids_of(self, text: str, path: Path) -> list[int]:
        ids: list[int] = []
        for begin, end, is_token in path:
            id = self.tokens[text[begin:end]][1] if is_token else self.unknown
            if not (ids and id == ids[-1] == self.unknown):
                ids.append(id)
        return ids
