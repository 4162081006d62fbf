r"""The pre-tokenizing patterns in use, word for word, each quoted from the project named beside it: data only.

The engine knows that these patterns match every text in linear time, and where their text may be cut (cuts.py).
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
# karpathy/minbpe, minbpe/regex.py: GPT-4's pattern
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)

# Mistral's Tekken, tokenizer.json of Mistral Nemo: o200k_base's without contractions, one digit at a time
TEKKEN = "|".join(
    [rf"{_PREFIX}{_UPPER}*{_LOWER}+", rf"{_PREFIX}{_UPPER}+{_LOWER}*", r"\p{N}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
     r"\s*[\r\n]+", _SPACES]
)  # fmt: skip
# Qwen 3.5, tokenizer.json
QWEN35 = (
    rf"{_CONTRACTIONS}|{_PREFIX}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|{_SPACES}"
)

# llama.cpp's gpt-4o, granite-embed-multi-97m and tekken: only ASCII letters have a case; marks are letters in granite's
_ASCII_UPPER, _ASCII_LOWER = r"[^\P{L}a-z]", r"[^\P{L}A-Z]"
_O200K_REST = rf" ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|{_SPACES}"
LLAMA_CPP_GPT4O = (
    rf"{_PREFIX}{_ASCII_UPPER}*{_ASCII_LOWER}+{_CONTRACTIONS}?|{_PREFIX}{_ASCII_UPPER}+{_ASCII_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}|{_O200K_REST}"
)
LLAMA_CPP_GRANITE = (
    rf"{_PREFIX}(?:{_ASCII_UPPER}|\p{{M}})*(?:{_ASCII_LOWER}|\p{{M}})+{_CONTRACTIONS}?"
    rf"|{_PREFIX}(?:{_ASCII_UPPER}|\p{{M}})+(?:{_ASCII_LOWER}|\p{{M}})*{_CONTRACTIONS}?|\p{{N}}{{1,3}}|{_O200K_REST}"
)
LLAMA_CPP_TEKKEN = (
    rf"{_PREFIX}{_ASCII_UPPER}*{_ASCII_LOWER}+|{_PREFIX}{_ASCII_UPPER}+{_ASCII_LOWER}*|\p{{N}}|{_O200K_REST}"
)

# --- several patterns in a row, as one -------------------------------------------------------------------------------
#
# In tokenizer.json and GGUF a list of patterns may cut a text: each one cuts the pieces that the one before left, and
# treats every piece as a text of its own. Where the first patterns match only characters of some class, one pattern
# gives the same pieces: its first alternatives are theirs, its other alternatives leave these characters out, and its
# white space ends before these characters as it ends before the end of the text.

NUMBER = r"\p{N}"
# NUMBER, then GPT2: StarCoder, Command R
STARCODER = r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
# DeepSeek V3 and R1, tokenizer.json: the three patterns in this order
_DEEPSEEK_NUMBERS = r"\p{N}{1,3}"
_DEEPSEEK_CJK = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_DEEPSEEK_REST = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|\s*[\r\n]+|{_SPACES}"
)
_CJK = "\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff"
# The characters of this range that the third pattern takes for words, for signs, and those that are not assigned.
_CJK_WORDS = "[\u4e00-\u9fa5\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff]"
_CJK_SIGNS = "[\u309b\u309c\u30a0\u30fb]"
_CJK_NONE = "[\u3040\u3097\u3098]"
DEEPSEEK = "|".join(
    [
        _DEEPSEEK_NUMBERS,
        rf"{_CJK_NONE}?{_CJK_WORDS}+|{_CJK_SIGNS}+|{_CJK_NONE}+(?!{_CJK_WORDS})",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+""",
        rf"[^\r\n\p{{L}}\p{{N}}\p{{P}}\p{{S}}{_CJK}]?(?:[^\P{{L}}{_CJK}]|[^\P{{M}}{_CJK}])+",
        rf" ?(?:[^\P{{P}}{_CJK}]|[^\P{{S}}{_CJK}])+[\r\n]*",
        r"\s*[\r\n]+",
        rf"\s+(?![^\s\p{{N}}{_CJK}])",
        r"\s+",
        # what no pattern matches: characters of none of these classes, except the last one before a word
        rf"[^\s\p{{L}}\p{{M}}\p{{N}}\p{{P}}\p{{S}}{_CJK}]+(?!(?:[^\P{{L}}{_CJK}]|[^\P{{M}}{_CJK}]))",
    ]
)
# Falcon in llama.cpp: [\p{P}$+<=>^~|`]+, then GPT2, then [0-9][0-9][0-9]. llama.cpp's default lacks the ` and cuts out
# \p{N}+ before the last pattern
_THREE = "[0-9]{3}"
FALCON = (
    rf"[\p{{P}}$+<=>^~|`]+| ?\p{{L}}+|{_THREE}| (?={_THREE})| ?(?:(?!{_THREE})\p{{N}})+"
    r"| ?[^\s\p{L}\p{N}\p{P}$+<=>^~|`]+|\s+(?![^\s\p{P}$+<=>^~|`])|\s+"
)
LLAMA_CPP_DEFAULT = (
    rf"[\p{{P}}$+<=>^~|]+| ?\p{{L}}+|{_THREE}|(?:(?!{_THREE})\p{{N}})+"
    r"| ?[^\s\p{L}\p{N}\p{P}$+<=>^~|]+|\s+(?![^\s\p{P}$+<=>^~|])|\s+"
)

# DeepSeek Coder: newlines, words and signs with a space before them, Asian text, and digits, each cut out of what is
# left. So no piece has both Asian and other text; all other characters form runs up to the next of these.
_CODER_ASIAN = "\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff"
_CODER_REST = "\x00-\u07ff\u9fa6-\uabff\ue000-\U0010ffff"


def _coder(asian_spaces: str, other_spaces: str) -> str:
    """Return DeepSeek Coder's patterns as one, given which spaces belong to Asian and which to other text."""
    parts = [r"[\r\n]", NUMBER]
    for others, spaces in (_CODER_REST, asian_spaces), (_CODER_ASIAN, other_spaces):
        parts += [rf"{spaces and spaces + '?'}[^\P{{{name}}}{others}]+" for name in "LP"]
        lone = spaces and rf"|{spaces}(?![\p{{L}}\p{{P}}])"
        parts.append(rf"(?:[^\s\p{{L}}\p{{N}}\p{{P}}{others}]{lone})+")
    return "|".join([*parts, r"\s"])


DEEPSEEK_CODER = _coder(rf"[^\S\r\n{_CODER_REST}]", rf"[^\S\r\n{_CODER_ASIAN}]")
LLAMA_CPP_CODER = _coder("", r"[^\S\r\n]")
# BLOOM: runs without signs, each with a space before it, and the runs between them
_BLOOM_SIGNS = r"(\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)"
BLOOM = rf" ?[^{_BLOOM_SIGNS}]+|(?:(?! [^{_BLOOM_SIGNS}])[{_BLOOM_SIGNS}])+"

# For several patterns in a row, or for one that leaves text out: the one pattern that gives the same pieces.
_CODER = (r"\s?\p{L}+", r"\s?\p{P}+", f"[{_CODER_ASIAN}]+", NUMBER)
IN_A_ROW = {
    (NUMBER, GPT2): STARCODER,
    (_DEEPSEEK_NUMBERS, _DEEPSEEK_CJK, _DEEPSEEK_REST): DEEPSEEK,
    (r"[\r\n]", *_CODER): DEEPSEEK_CODER,
    (" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+",): BLOOM,
}

KNOWN_PATTERNS = frozenset(
    {R50K, CL100K, O200K, GPT2, GPT2_EDUCATIONAL, LLAMA3, QWEN2, GPT4, TEKKEN, QWEN35, STARCODER, DEEPSEEK, FALCON,
     LLAMA_CPP_DEFAULT, LLAMA_CPP_GPT4O, LLAMA_CPP_GRANITE, LLAMA_CPP_TEKKEN, DEEPSEEK_CODER,
     LLAMA_CPP_CODER, BLOOM}
)  # fmt: skip
