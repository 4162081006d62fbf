"""The encodings that have a name: where their ranks come from, their pattern and their special tokens. Data only.

All of it is what tiktoken 0.14 registers (tiktoken_ext/openai_public.py), which a test compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tokcli.engine.known_patterns import CL100K, O200K, R50K


class Source(NamedTuple):
    """A published file, and the sha256 (hex) of its content."""

    url: str
    sha256: str


class Entry(NamedTuple):
    """A registered encoding. `packed` names the file in tokcli/vocab with its ranks; encodings may share one."""

    sources: tuple[Source, ...]
    packed: str
    pat_str: str
    special_tokens: Mapping[str, int]
    explicit_n_vocab: int | None = None

    @property
    def ranks_sha256(self) -> str:
        """The sha256 of the .tiktoken file that the packed file was made from."""
        return _RANKS_OF[self.packed].sha256


_PUBLIC = "https://openaipublic.blob.core.windows.net/"
_R50K = Source(
    _PUBLIC + "encodings/r50k_base.tiktoken", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
)
_P50K = Source(
    _PUBLIC + "encodings/p50k_base.tiktoken", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
)
_CL100K = Source(
    _PUBLIC + "encodings/cl100k_base.tiktoken", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
)
_O200K = Source(
    _PUBLIC + "encodings/o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
)
_GPT2_MERGES = Source(
    _PUBLIC + "gpt-2/encodings/main/vocab.bpe", "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
)
_GPT2_VOCAB = Source(
    _PUBLIC + "gpt-2/encodings/main/encoder.json", "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
)

_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_CL100K_FIM = dict(zip(_FIM, range(100258, 100261), strict=True))
_O200K_SPECIAL = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_HARMONY_NAMES = {
    199998: "startoftext",
    199999: "endoftext",
    200002: "return",
    200003: "constrain",
    200005: "channel",
    200006: "start",
    200007: "end",
    200008: "message",
    200012: "call",
}
# 200018 has two names: <|endofprompt|>, and <|reserved_200018|> like its neighbours.
_HARMONY_SPECIAL = _O200K_SPECIAL | {f"<|{_HARMONY_NAMES.get(i, f'reserved_{i}')}|>": i for i in range(199998, 201088)}

_RANKS_OF = {
    "r50k_base.ranks": _R50K,
    "p50k_base.ranks": _P50K,
    "cl100k_base.ranks": _CL100K,
    "o200k_base.ranks": _O200K,
}

CATALOG: Mapping[str, Entry] = {
    "gpt2": Entry(
        # The ranks of GPT-2's pair of files are those of r50k_base, token for token.
        sources=(_GPT2_MERGES, _GPT2_VOCAB),
        packed="r50k_base.ranks",
        pat_str=R50K,
        special_tokens={"<|endoftext|>": 50256},
        explicit_n_vocab=50257,
    ),
    "r50k_base": Entry(
        sources=(_R50K,),
        packed="r50k_base.ranks",
        pat_str=R50K,
        special_tokens={"<|endoftext|>": 50256},
        explicit_n_vocab=50257,
    ),
    "p50k_base": Entry(
        sources=(_P50K,),
        packed="p50k_base.ranks",
        pat_str=R50K,
        special_tokens={"<|endoftext|>": 50256},
        explicit_n_vocab=50281,
    ),
    "p50k_edit": Entry(
        sources=(_P50K,),
        packed="p50k_base.ranks",
        pat_str=R50K,
        special_tokens={"<|endoftext|>": 50256, **dict(zip(_FIM, range(50281, 50284), strict=True))},
    ),
    "cl100k_base": Entry(
        sources=(_CL100K,),
        packed="cl100k_base.ranks",
        pat_str=CL100K,
        special_tokens={"<|endoftext|>": 100257, **_CL100K_FIM, "<|endofprompt|>": 100276},
    ),
    "o200k_base": Entry(sources=(_O200K,), packed="o200k_base.ranks", pat_str=O200K, special_tokens=_O200K_SPECIAL),
    "o200k_harmony": Entry(
        sources=(_O200K,), packed="o200k_base.ranks", pat_str=O200K, special_tokens=_HARMONY_SPECIAL
    ),
}
