"""Writes tests/data/golden.jsonl: what tiktoken 0.14.0 makes of texts of ours, with its own downloaded files.

    TIKTOKEN_CACHE_DIR=DIR python tests/tools/make_golden.py > tests/data/golden.jsonl

DIR holds OpenAI's files under the names tiktoken gives them (sha1 of the url), or may be filled by it. Each line is
{"encoding", "text", "ids", "ids_special", "bytes_hex", "byte_ids"}: encode_ordinary, allowed_special="all", and
_encode_bytes of the text's bytes with the last one cut off.
"""

from __future__ import annotations

import json
import sys

import tiktoken

TEXTS = [
    "", " ", "a", "hello world", "Hello, World!", "it's I'LL we'Ve you'd 'tis o'clock 'S\u017f",
    "1 12 123 1234 12345 3.14159 1,000,000 \u0663\u0664\u0665 \u00bd \u2167", "a\r\nb\r\n", "\n\n\n  x\n \n", "   leading", "trailing   ",
    "tab\tsep\t\tx", "def f(x):\n    return x ** 2  # square\n", "https://example.org/a?b=c&d=%20#e//", "{\"k\": [1, 2, {\"n\": null}]}\n",
    "na\u00efve caf\u00e9 e\u0301 \u00c5ngstr\u00f6m STRASSE stra\u00dfe \u01c5 \u0130stanbul", "\u4e2d\u6587\u5206\u8bcd\uff0c\u6ca1\u6709\u7a7a\u683c\u3002", "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3067\u3059\u3002",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc785\ub2c8\ub2e4.", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u0648\u064e\u0639\u064e\u0644\u064e\u064a\u0652\u0643\u064f\u0645", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e \u0967\u0968\u0969", "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f1e9\U0001f1ea \u2764\ufe0f", "\u00a0\u2003\u3000\u1680x\u2028y\u0085z", "\x00\x01\x1b[31m\x7f", "\ufeffBOM\ufffd\U0010ffff\u0378",
    "<|endoftext|>", "a <|endoftext|> b<|endofprompt|>c", "<|fim_prefix|>x<|fim_suffix|>y<|fim_middle|>", "<|start|>user<|message|>hi<|end|>",
    "a" * 300, "ab" * 120, " " * 200 + "x", "0123456789" * 30, "=" * 120 + "\n" + "-" * 81, "\U0001e900\U0001e922 \U00010d40\U00010d50 \u1c89\u1c8a \U000323b0",
]  # fmt: skip


def main() -> None:
    if tiktoken.__version__ != "0.14.0":
        sys.exit(f"the golden ids are of tiktoken 0.14.0, not {tiktoken.__version__}")
    for name in tiktoken.list_encoding_names():
        enc = tiktoken.get_encoding(name)
        for text in TEXTS:
            cut = text.encode()[:-1]
            row = {
                "encoding": name,
                "text": text,
                "ids": enc.encode_ordinary(text),
                "ids_special": enc.encode(text, allowed_special="all"),
                "bytes_hex": cut.hex(),
                "byte_ids": enc._encode_bytes(cut),
            }
            print(json.dumps(row))


if __name__ == "__main__":
    main()
