r"""The pre-tokenizing patterns of the field, word for word: data only.

For these the engine knows that they match every text in linear time, and where text may be cut (pretokenizer.py). Each
is quoted from the project named beside it.
"""

from __future__ import annotations

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_PREFIX = r"[^\r\n\p{L}\p{N}]?"
_SPACES = r"\s+(?!\S)|\s+"

# openai/tiktoken 0.14, tiktoken_ext/openai_public.py
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
O200K = "|".join(
    [
        rf"{_PREFIX}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?",
        rf"{_PREFIX}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        _SPACES,
    ]
)
# openai/gpt-2, src/encoder.py; and tiktoken/_educational.py
GPT2 = rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|{_SPACES}"
GPT2_EDUCATIONAL = rf"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{{L}}]+| ?[\p{{N}}]+| ?[^\s\p{{L}}\p{{N}}]+|{_SPACES}"
# Llama 3, tokenizer.json; cl100k_base before tiktoken made its repeats possessive
LLAMA3 = rf"{_CONTRACTIONS}|{_PREFIX}\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|{_SPACES}"
# Qwen 2, tokenizer.json
QWEN2 = rf"{_CONTRACTIONS}|{_PREFIX}\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|{_SPACES}"
# The seed's GPT-4 pattern, as in karpathy/minbpe
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)

KNOWN_PATTERNS = frozenset({R50K, CL100K, O200K, GPT2, GPT2_EDUCATIONAL, LLAMA3, QWEN2, GPT4})
