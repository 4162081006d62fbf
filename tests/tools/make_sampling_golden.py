"""Makes tests/data/sampling.json: how often the reference libraries segment texts in which way, and their N best lists.

    python tests/tools/make_sampling_golden.py

Drawn with tokenizers 0.23.3 and sentencepiece 0.2.3. tokenizers cannot be seeded, so each run gives other counts.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import sentencepiece
import tokenizers as hf
from make_formats_golden import CORPUS, TEXTS

from tokcli.cli.main import run

DATA = Path(__file__).resolve().parents[1] / "data"
DRAWS = 10_000
RAREST = 5  # ids that were drawn less often are counted together
DRAWN = ["the dog", "Hello again", "besser sagte", "größer und", "see what"]
SIZES = (2, 5, 16)  # of the lists of the best


def rows(name: str, options: dict[str, object], draw: Callable[[str], Sequence[int]]) -> Iterator[dict[str, object]]:
    """Yield for each text how often each segmentation was drawn, by its ids."""
    for text in DRAWN:
        counts = Counter(" ".join(map(str, draw(text))) for _ in range(DRAWS))
        kept = {ids: number for ids, number in counts.most_common() if number >= RAREST}
        left = DRAWS - sum(kept.values())
        yield {"file": name, "text": text, "options": options, "counts": kept | {"": left}}


def of_tokenizers() -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        ranks = f"{folder}/tokenizer.json"
        run(["inspect-ranks", "-e", "r50k_base", "--export", "huggingface", "-o", ranks])
        ways = {"r50k_base": 0.3, "plain.tokenizer.json": 0.1, "suffix.tokenizer.json": 0.5}
        for name, dropout in ways.items():
            tokenizer = hf.Tokenizer.from_file(f"{DATA}/formats/{name}" if "." in name else ranks)
            tokenizer.model.dropout = dropout
            encode = partial(tokenizer.encode, add_special_tokens=False)
            yield from rows(name, {"dropout": dropout}, lambda text, encode=encode: encode(text).ids)


def of_sentencepiece() -> Iterator[dict[str, object]]:
    sentencepiece.set_random_generator_seed(42)
    for name, nbest, alpha in (("bpe.model", None, 0.3), ("unigram.model", None, 0.3), ("unigram.model", 8, 0.4)):
        model = sentencepiece.SentencePieceProcessor(model_file=f"{DATA}/formats/{name}")
        options = {"dropout": alpha} if name == "bpe.model" else {"alpha": alpha, "nbest": nbest}
        yield from rows(name, options, partial(model.sample_encode_as_ids, nbest_size=nbest or -1, alpha=alpha))


def best_lists() -> list[dict[str, object]]:
    """Return the N best lists of 200 texts: words of the corpus in a row, and hard ones."""
    words = [word for sentence in CORPUS[: len(set(CORPUS))] for word in sentence.split(" ")]
    texts = TEXTS + [" ".join(words[at : at + 1 + at % 7]) for at in range(len(words))]
    while len(texts) < 200:
        texts.append(texts[len(texts) - 90] + "  " + texts[len(texts) - 60])
    model = sentencepiece.SentencePieceProcessor(model_file=f"{DATA}/formats/unigram.model")
    sized = zip(texts, SIZES * 100, strict=False)
    return [{"text": text, "size": size, "ids": model.nbest_encode_as_ids(text, size)} for text, size in sized]


def main() -> None:
    made = {"drawn": [*of_tokenizers(), *of_sentencepiece()], "best": best_lists()[:200]}
    lines = [f'"{name}": [\n' + ",\n".join(json.dumps(row, ensure_ascii=False) for row in made[name]) for name in made]
    (DATA / "sampling.json").write_text("{" + "],\n".join(lines) + "]}\n", "utf-8")


if __name__ == "__main__":
    main()
