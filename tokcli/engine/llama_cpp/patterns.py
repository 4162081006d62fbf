r"""The pre-tokenizers of GGUF files by their names in tokenizer.ggml.pre; nothing but data.

Each is a list of patterns, each of which cuts the words that the one before left (llama.cpp, src/llama-vocab.cpp).
Where llama.cpp has a function instead of a pattern, ours is a pattern that does the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.spec.splitters import WORD_ENDS, PatternsInTurn

_CONTRACTIONS = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_SPACES = r"\s+(?!\S)|\s+"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_ASCII_SIGNS = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""

_GPT2 = rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|{_SPACES}"
_LLAMA3 = rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}{{1,3}}|{_SIGNS}|\s*[\r\n]+|{_SPACES}"
_QWEN2 = rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}|{_SIGNS}|\s*[\r\n]+|{_SPACES}"
_QWEN35 = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{N}}\p{{L}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|{_SPACES}"
)
_DEEPSEEK = (
    rf"{_ASCII_SIGNS}[A-Za-z]+|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|\s*[\r\n]+|{_SPACES}"
)
_CJK = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_UPPER, _LOWER = r"((?=[{0}])([^a-z]))", r"((?=[{0}])([^A-Z]))"


def _cased(letters: str, tail: str) -> str:
    upper, lower = _UPPER.format(letters), _LOWER.format(letters)
    lead = r"[^\r\n\p{L}\p{N}]?"
    return f"{lead}{upper}*{lower}+{tail}|{lead}{upper}+{lower}*{tail}"


_AFTER_CASED = rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|{_SPACES}"
_GPT4O = _cased(r"\p{L}", f"{_CONTRACTIONS}?") + r"|\p{N}{1,3}" + _AFTER_CASED
_TEKKEN = _cased(r"\p{L}", "") + r"|\p{N}" + _AFTER_CASED
_GRANITE = _cased(r"\p{L}\p{M}", f"{_CONTRACTIONS}?") + r"|\p{N}{1,3}" + _AFTER_CASED
_UPPERS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWERS = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPERS}*{_LOWERS}+{_CONTRACTIONS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPERS}+{_LOWERS}*{_CONTRACTIONS}?"
)
_NOT_PUNCTUATION = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
LINES = r"[^\n]+|[\n]+"
# Not patterns: cutter.py has a function for them. Runs of digits are cut in threes, counted from the end. THOUSANDS is
# (?=(\d{3})+(?!\d)) in llama.cpp, which takes no text: it cuts before each three of ASCII digits.
DIGITS_FROM_THE_RIGHT, THOUSANDS = "digits from the right", "thousands"
KIMI = "kimi"  # stands for KIMI_PATTERN, for text in which Han is a class of its own
KIMI_PATTERN = (
    rf"\xd6+|[^\r\n\p{{L}}\p{{N}}\xd6]?\p{{L}}+{_CONTRACTIONS}?|\p{{N}}{{1,3}}"
    rf"| ?[^\s\p{{L}}\p{{N}}\xd6]+[\r\n]*|\s*[\r\n]+|{_SPACES}"
)

# DeepSeek LLM names the letters that have a case, the signs, and the scripts without spaces, one by one.
_DEEPSEEK_LETTERS = (
    "A-Za-z\xb5\xc0-\xd6\xd8-\xf6\xf8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d"
    "\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5"
    "\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15"
    "\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc"
    "\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107"
    "\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149"
    "\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f"
    "\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f"
    "\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df"
    "\U0001e900-\U0001e943"
)


class PreType(NamedTuple):
    """The patterns and the settings that a name in tokenizer.ggml.pre stands for."""

    splitter: PatternsInTurn
    ignore_merges: bool = False
    add_bos: bool = False
    clean_spaces: bool = True
    byte_level: bool = True  # bytes are written in GPT-2's alphabet
    shows_spaces: bool = False
    no_bos: bool = False
    lines_whole: bool = False  # a run of newlines that is a token is not merged


def _rows(names: str, *patterns: str, word_ends: str = WORD_ENDS, **settings: Any) -> dict[str, PreType]:
    return dict.fromkeys(names.split(), PreType(PatternsInTurn(patterns, word_ends), **settings))


_DEEPSEEK3 = (r"\p{N}{1,3}", _CJK, _DEEPSEEK)
_DEFAULT = (r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")
_FALCON = (r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]")
_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}")
_SINGLE_NUMBERS = (r"\p{N}", _GPT2)
# the known patterns that cut alike, apart from their Unicode version
KNOWN = {
    (_GPT2,): known.GPT2,
    (_LLAMA3,): known.LLAMA3,
    (_QWEN2,): known.QWEN2,
    (_QWEN35,): known.QWEN35,
    _SINGLE_NUMBERS: known.STARCODER,
    _DEEPSEEK3: known.DEEPSEEK,
    _FALCON: known.FALCON,
    _DEFAULT: known.LLAMA_CPP_DEFAULT,
    (_GPT4O,): known.LLAMA_CPP_GPT4O,
    _CODER: known.LLAMA_CPP_CODER,
    (_NOT_PUNCTUATION,): known.BLOOM,
    (_GRANITE,): known.LLAMA_CPP_GRANITE,
    (_TEKKEN,): known.LLAMA_CPP_TEKKEN,
}

PRE_TYPES: dict[str, PreType] = {
    **_rows("default", *_DEFAULT),
    **_rows("minicpm5", r"\p{N}{1,3}", _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}+"), ignore_merges=True),
    **_rows(
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
        _LLAMA3,
        ignore_merges=True,
        add_bos=True,
    ),
    **_rows(
        "deepseek-llm",
        r"[\r\n]",
        rf"\s?[{_DEEPSEEK_LETTERS}]+",
        "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
        r"\s+\Z",
        "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
        r"\p{N}+",
        clean_spaces=False,
    ),
    **_rows("deepseek-coder", *_CODER, clean_spaces=False),
    **_rows("deepseek-v3 hunyuan-dense hy_v4 joyai-llm", *_DEEPSEEK3, clean_spaces=False),
    **_rows(
        "spark2_5",
        r"\p{N}{1,3}",
        _CJK,
        rf"{_ASCII_SIGNS}[A-Za-z]+|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+| ?[\p{{P}}\p{{S}}]+|[\r\n]|{_SPACES}",
        r"\p{N}",
        clean_spaces=False,
    ),
    **_rows(
        "youtu",
        "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f"
        "\ufe30-\ufe4f]+|[\u3105-\u312f]+|" + _CJK,
        _O200K + r"|\p{N}" + _AFTER_CASED,
        clean_spaces=False,
        ignore_merges=True,
    ),
    **_rows("falcon", *_FALCON),
    **_rows("trillion granite-docling", _GPT2, clean_spaces=False),
    **_rows(
        "mpt olmo jais gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert exaone4"
        " jina-v1-en jina-v2-code roberta-bpe",
        _GPT2,
    ),
    **_rows("starcoder refact codeshell exaone minerva-7b mellum2", *_SINGLE_NUMBERS),
    **_rows("command-r smollm", *_SINGLE_NUMBERS, clean_spaces=False),
    **_rows(
        "jais-2",
        rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}{{1,3}}|{_SIGNS}|\s*[\r\n]+|"
        + "|".join(rf"\s{{{n}}}(?!\S)" for n in ("512", "256", "128", "64", "32", "16", "8", "4", "1,2"))
        + r"|\s{1}",
    ),
    **_rows(
        "gemma4 granite-embed-multi-311m",
        LINES,
        byte_level=False,
        shows_spaces=True,
        add_bos=True,
        lines_whole=True,
        word_ends=r"[0-9A-Za-z]\n",
    ),
    **_rows(
        "sarvam-moe",
        LINES,
        byte_level=False,
        shows_spaces=True,
        clean_spaces=False,
        word_ends=r"[0-9A-Za-z]\n",
    ),
    **_rows("whitespace", r"\S+", byte_level=False),
    **_rows("qwen2 deepseek-r1-qwen kormo f2llmv2 hunyuan solar-open grok-2", _QWEN2, clean_spaces=False),
    **_rows("megrez stablelm2", _QWEN2),
    **_rows("qwen35", _QWEN35, clean_spaces=False),
    **_rows("dbrx smaug-bpe", _LLAMA3),
    **_rows("chatglm-bpe glm4", _LLAMA3, no_bos=True),
    **_rows("glm5", _LLAMA3, no_bos=True, ignore_merges=True),
    **_rows("poro-chat", _NOT_PUNCTUATION, clean_spaces=False),
    **_rows("bloom gpt3-finnish", _NOT_PUNCTUATION),
    **_rows("viking", _NOT_PUNCTUATION, r"\p{N}", clean_spaces=False),
    **_rows("tekken", _TEKKEN, ignore_merges=True, add_bos=True, clean_spaces=False),
    **_rows(
        "chameleon",
        "<sentinel:[0-9]+>",
        "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
        r"([\t\n]|    |  )",
        r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]",
        _GPT2,
        add_bos=True,
        clean_spaces=False,
    ),
    **_rows("gpt-4o llama4 kanana2 talkie minimax-m2", _GPT4O, clean_spaces=False),
    **_rows("granite-embed-multi-97m", _GRANITE, clean_spaces=False, ignore_merges=True),
    **_rows("tiny_aya cohere2moe", DIGITS_FROM_THE_RIGHT, _O200K + r"|\p{N}{1,3}" + _AFTER_CASED, clean_spaces=False),
    **_rows("kimi-k2", KIMI, clean_spaces=False),
    **_rows("superbpe", r"\p{N}+", THOUSANDS, clean_spaces=False, word_ends=r"[0-9][ \n]"),
    **_rows(
        "bailingmoe bailingmoe2 llada-moe",
        rf"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|{_WORD}|\p{{N}}|{_SIGNS}|\s*[\r\n]|{_SPACES}",
        clean_spaces=False,
    ),
    **_rows(
        "seed-coder",
        rf"{_CONTRACTIONS}|{_WORD}|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|\s*[\r\n]+|{_SPACES}",
        clean_spaces=False,
    ),
    **_rows("ufakzeka", rf"{_WORD}|\p{{N}}|{_SIGNS}|\s*[\r\n]+|{_SPACES}", clean_spaces=False),
    **_rows(
        "afmoe",
        DIGITS_FROM_THE_RIGHT,
        "[\u4e00-\u9fff\u3400-\u4dbf\u8c48-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f"
        "\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+",
        _DEEPSEEK,
        clean_spaces=False,
    ),
    **_rows("laguna", LINES, _QWEN2, clean_spaces=False),
    **_rows(
        "exaone-moe",
        rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]?|\s*[\r\n]|{_SPACES}",
        word_ends=r"[0-9][ \n]|[A-Za-z]\n",
    ),
}
