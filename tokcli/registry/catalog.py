"""The catalog of registered encodings: the files of their ranks, their patterns and their special tokens. Data only.

It has what tiktoken 0.14 registers (tiktoken_ext/openai_public.py); a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping

from tokcli.engine.pretokenizers.known_patterns import CL100K, O200K, R50K


# Every run of the program makes these two classes: as named tuples, they took 0.4 ms, a hundredth of a run.
class Source:
    """The url of a published file, and the SHA-256 (hex) of its contents."""

    def __init__(self, url: str, sha256: str) -> None:
        self.url, self.sha256 = url, sha256


_PUBLIC = "https://openaipublic.blob.core.windows.net/"
_RANKS = {  # the .tiktoken files that vocabularies are published in
    name: Source(f"{_PUBLIC}encodings/{name}.tiktoken", sha256)
    for name, sha256 in {
        "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
        "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    }.items()
}
# GPT-2's pair of files gives the ranks of r50k_base, token for token.
_GPT2_MERGES = Source(
    _PUBLIC + "gpt-2/encodings/main/vocab.bpe", "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
)
_GPT2_VOCAB = Source(
    _PUBLIC + "gpt-2/encodings/main/encoder.json", "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
)


class Entry:
    """A registered encoding, for registered.py to make.

    `ranks` names the vocabulary of mergeable_ranks, which encodings may share. `pat_str` and `explicit_n_vocab` are
    arguments of `Encoding`. An id of `reserved` without a name in `named_tokens` is the special token <|reserved_ID|>.
    """

    def __init__(
        self,
        ranks: str,
        pat_str: str,
        named_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
        *,
        published_as_pair: bool = False,
        reserved: range = range(0),
    ) -> None:
        self.ranks, self.pat_str, self.named_tokens, self.reserved = ranks, pat_str, named_tokens, reserved
        self.explicit_n_vocab, self.published_as_pair = explicit_n_vocab, published_as_pair

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The ids of all special tokens by name."""
        named = self.named_tokens
        unnamed = sorted({*self.reserved} - {*named.values()})
        return {**named, **{f"<|reserved_{id}|>": id for id in unnamed}} if unnamed else named

    @property
    def sources(self) -> tuple[Source, ...]:
        """The published files of its ranks: one .tiktoken file, or GPT-2's merges and vocabulary."""
        return (_GPT2_MERGES, _GPT2_VOCAB) if self.published_as_pair else (_RANKS[self.ranks],)

    @property
    def packed(self) -> str:
        """The name of the file in tokcli/vocab that has the ranks."""
        return f"{self.ranks}.ranks"

    @property
    def ranks_sha256(self) -> str:
        """The SHA-256 (hex) of the .tiktoken file that the packed file was made from."""
        return _RANKS[self.ranks].sha256


_END = {"<|endoftext|>": 50256}
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_CL100K_FIM = dict(zip(_FIM, range(100258, 100261), strict=True))
_O200K_SPECIAL = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_HARMONY_SPECIAL = _O200K_SPECIAL | {
    "<|startoftext|>": 199998,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
    "<|reserved_200018|>": 200018,  # the second name of <|endofprompt|>
}

CATALOG: Mapping[str, Entry] = {
    "gpt2": Entry("r50k_base", R50K, _END, 50257, published_as_pair=True),
    "r50k_base": Entry("r50k_base", R50K, _END, 50257),
    "p50k_base": Entry("p50k_base", R50K, _END, 50281),
    "p50k_edit": Entry("p50k_base", R50K, {**_END, **dict(zip(_FIM, range(50281, 50284), strict=True))}),
    "cl100k_base": Entry("cl100k_base", CL100K, {"<|endoftext|>": 100257, **_CL100K_FIM, "<|endofprompt|>": 100276}),
    "o200k_base": Entry("o200k_base", O200K, _O200K_SPECIAL),
    "o200k_harmony": Entry("o200k_base", O200K, _HARMONY_SPECIAL, reserved=range(199998, 201088)),
}


def encoding_of_ranks(sha256: str) -> Entry | None:
    """Return the encoding that a published .tiktoken file with this SHA-256 (hex) is named after; None for other files.

    >>> found = encoding_of_ranks("446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")
    >>> found is CATALOG["o200k_base"]
    True
    """
    return next((CATALOG[name] for name, source in _RANKS.items() if source.sha256 == sha256), None)
