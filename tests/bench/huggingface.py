"""Hugging Face's tokenizer for one of OpenAI's encodings, made from tokcli's ranks: merges, pattern, byte-level letters."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

# the published patterns, before tiktoken made them possessive: Oniguruma reads {1,3}+ otherwise
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PATTERNS = {
    "r50k_base": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k_base": _CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k_base": rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*"
    rf"{_CONTRACTIONS}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


def spell(token: bytes) -> str:
    """Return a token in GPT-2's letters, one for each byte."""
    from tokcli.engine.bpe.byte_alphabet import CHAR_OF

    return "".join(map(CHAR_OF.__getitem__, token))


def file_of(name: str) -> Path:
    """Return a tokenizer.json, made once per run of a benchmark: finding the merges takes seconds."""
    path = (
        Path(os.environ.get("TOKCLI_BENCH_SCRATCH") or tempfile.gettempdir())
        / f"tokcli-bench-{os.getuid()}-{name}.json"
    )
    if not path.exists():
        import tokcli

        enc = tokcli.get_encoding(name)
        ranks = enc._mergeable_ranks
        spelled = {rank: spell(token) for token, rank in ranks.items()}
        pairs = (
            enc.tokenizer.parents(ranks[token]) for token in sorted(ranks, key=ranks.__getitem__) if len(token) > 1
        )
        made = tokenizer(name, {token: rank for rank, token in spelled.items()},
                         [(spelled[pair[0]], spelled[pair[1]]) for pair in pairs if pair])  # fmt: skip
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(made.to_str())
        partial.replace(path)
    return path


def tokenizer(name: str, vocab: dict[str, int], merges: list[tuple[str, str]]) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    made = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=True))
    split = pre_tokenizers.Split(Regex(PATTERNS[name]), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    return made


def tokenizer_of(name: str, **model: Any) -> Any:
    """Return the tokenizer; `model` changes settings of its BPE model (`ignore_merges=False`)."""
    from tokenizers import Tokenizer

    described = json.loads(file_of(name).read_text())
    described["model"].update(model)
    return Tokenizer.from_str(json.dumps(described))
