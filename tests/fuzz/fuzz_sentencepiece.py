"""Trains SentencePiece models with random options, and asks sentencepiece and tokcli the same about each.

    PYTHONPATH=tests python tests/fuzz/fuzz_sentencepiece.py MODELS [SEED]

prints every difference, and how many answers were compared. Compared are the ids of texts, most of them long enough to be
cut into parts and shared by threads: normalization rules and symbols with spaces in them must not be lost at the cuts.
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tokcli import load_encoding
from tokcli.engine.stream.parallel import allow_inner_threads

TEXTS = 3  # a model
LONG_BYTES = 600_000  # enough for two threads to share the sums of a text
LETTERS, RULED = "abxyézA1", "abx y  ézA1\u3000"


class Outcome(NamedTuple):
    """What came of a run: the number of answers compared, and a line for each difference."""

    compared: int
    different: list[str]


class Maker:
    """Draws a model's options, and texts in which its rules and symbols occur."""

    def __init__(self, seed: int) -> None:
        self._dice = dice = random.Random(seed)
        self.rules = {self._of(RULED, 1, 4): self._of("abQ z", 0, 3) for _ in range(dice.randint(0, 5))}
        # (the library refuses a rule that changes nothing)
        self.rules = {text: made for text, made in self.rules.items() if text.strip() and text != made}
        symbols = [self._of("abx yé", 2, 4).strip() for _ in range(dice.randint(0, 3))]
        self.symbols = [symbol for symbol in dict.fromkeys(symbols) if len(symbol) > 1]

    def _of(self, letters: str, least: int, most: int) -> str:
        return "".join(self._dice.choices(letters, k=self._dice.randint(least, most)))

    def _word(self) -> str:
        return self._of(LETTERS, 1, 3)

    def train(self, folder: Path) -> bytes | None:
        """Return a model; None where the library refuses to train one."""
        import sentencepiece

        dice, rules = self._dice, folder / "rules.tsv"
        lines = ("\t".join(" ".join(f"{ord(c):X}" for c in text) for text in rule) for rule in self.rules.items())
        rules.write_text("".join(f"{line}\n" for line in lines))
        options: dict[str, Any] = {
            "model_type": dice.choice(["unigram", "bpe", "char", "word"]),
            "add_dummy_prefix": dice.random() < 0.7,
            "remove_extra_whitespaces": dice.random() < 0.6,
            "treat_whitespace_as_suffix": dice.random() < 0.2,
            "byte_fallback": dice.random() < 0.3,
            "user_defined_symbols": self.symbols,
        }
        if self.rules:
            options["normalization_rule_tsv"] = str(rules)
        size = dice.randint(40, 100) + (260 if options["byte_fallback"] else 0)
        corpus = iter([" ".join(self._word() for _ in range(10)) for _ in range(400)])
        made = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=corpus, model_writer=made, vocab_size=size, hard_vocab_limit=False, minloglevel=2,
                **options,
            )  # fmt: skip
        except RuntimeError:
            return None
        return made.getvalue()

    def text(self) -> str:
        """Return words, symbols and what has a rule, in a row that is repeated."""
        dice = self._dice
        kinds = [self._word, *(lambda text=text: text for text in [*self.symbols, *self.rules])]
        row = "".join(
            dice.choice(kinds)() + dice.choice(["  ", "", " ", " ", " "]) for _ in range(dice.choice([3, 6, 40]))
        )
        return self._of("ab ", 0, 9) + row * (dice.choice([1, LONG_BYTES, LONG_BYTES]) // len(row.encode()) + 1)


def fuzz(models: int, seed: int, folder: Path) -> Outcome:
    """Train models in a folder, and compare the ids of texts; a model that has a difference is left there."""
    import sentencepiece

    compared, different = 0, []
    for number in range(models):
        maker, path = Maker(seed * 1_000_003 + number), folder / f"{seed}-{number}.model"
        model = maker.train(folder)
        if model is None:
            continue
        path.write_bytes(model)
        library, encoding, found = sentencepiece.SentencePieceProcessor(model_file=str(path)), load_encoding(path), []
        for text in [maker.text() for _ in range(TEXTS)]:
            theirs = library.encode(text)
            for threads in (1, 2):
                ours = allow_inner_threads(encoding.encode_array, threads)(text).tolist()
                compared += 1
                if ours != theirs:
                    found.append(f"{path}: {text[:200]!r}, {len(text)} characters, {threads} threads: {maker.rules}")
        different += found
        if not found:
            path.unlink()
    return Outcome(compared, different)


def main(models: int, seed: int) -> None:
    """Print the differences, and the totals."""
    outcome = fuzz(models, seed, Path(tempfile.mkdtemp()))
    print(*outcome.different, f"{outcome.compared} answers compared, {len(outcome.different)} differ", sep="\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
