"""Small GGUF files with the vocabularies that a test asks for."""

from __future__ import annotations

import struct
from pathlib import Path

UINT8, UINT32, INT32, FLOAT32, BOOL = (0, "B"), (4, "I"), (5, "i"), (6, "f"), (7, "?")
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def string(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(path: Path, **values: object) -> Path:
    """A file with some values of `tokenizer.ggml`, or of `tokenizer` where a name begins with `/`.

    They are texts, (number, kind), lists of texts, (list, kind).
    """
    out = b"GGUF" + struct.pack("<IQQ", 3, 0, len(values))
    for name, value in values.items():
        out += string(f"tokenizer.{name[1:]}" if name.startswith("/") else f"tokenizer.ggml.{name}")
        if isinstance(value, str):
            out += struct.pack("<I", 8) + string(value)
        elif isinstance(value, list):
            out += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(string, value))
        else:
            items, (number, code) = value  # type: ignore[misc]
            if isinstance(items, list):
                out += struct.pack(f"<IIQ{len(items)}{code}", 9, number, len(items), *items)
            else:
                out += struct.pack(f"<I{code}", number, items)
    path.write_bytes(out)
    return path


def llama(path: Path, **more: object) -> Path:
    given: dict[str, object] = {
        "tokens": ["<unk>", "<s>", "</s>", *BYTES, "\u2581", "a", "\u2581a"],
        "scores": ([0.0] * 260 + [-1.0, -0.5], FLOAT32),
        "token_type": ([1] * 262, INT32),
    }
    return gguf(path, model="llama", **(given | more))


def bert(path: Path) -> Path:
    tokens = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "\u2581hello",
        "\u2581w",
        "o",
        "orld",
        "\u2581,",
        "\u4e2d",
        "\u2581\u4e2d",
    ]
    return gguf(
        path,
        model="bert",
        tokens=tokens,
        scores=([0.0] * len(tokens), FLOAT32),
        token_type=([3, 2, 3, 3] + [1] * (len(tokens) - 4), INT32),
        unknown_token_id=(1, UINT32),
        cls_token_id=(2, UINT32),
        seperator_token_id=(3, UINT32),
    )


def t5(path: Path, **more: object) -> Path:
    tokens = ["<pad>", "</s>", "<unk>", "\u2581", "hello", "\u2581hello", "w", "o", "\u2581world", "<x>"]
    return gguf(
        path,
        model="t5",
        tokens=tokens,
        scores=([0.0, 0.0, 0.0, -2.0, -3.0, -3.5, -4.0, -4.0, -5.0, 0.0], FLOAT32),
        token_type=([3, 3, 2, 1, 1, 1, 1, 1, 1, 4], INT32),
        unknown_token_id=(2, UINT32),
        eos_token_id=(1, UINT32),
        **more,
    )
