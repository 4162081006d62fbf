"""The tokenizers of open models that ship with the package, by the repository of the hub that has them. Data only.

tokcli/vocab has each as three packed files (formats/packed_tokenizer.py), which are unpacked and compiled once; later
runs use what the cache keeps of that, as of a file. NOTICE says where each comes from.
"""

from __future__ import annotations

from collections.abc import Mapping


# every run makes this class: see catalog.py
class Inside:
    """A tokenizer.json in packed form: NAME.template, and RANKS.ranks and RANKS.merges, which others may share.

    `sha256` is that of the tokenizer.json, and `key` that of the container which the cache keeps of it.
    """

    def __init__(self, name: str, ranks: str, sha256: str, key: str) -> None:
        self.name, self.ranks, self.sha256, self.key = name, ranks, sha256, key


INSIDE: Mapping[str, Inside] = {
    "Qwen/Qwen3-8B": Inside(
        "qwen3",
        "qwen",
        "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
        "928862bf723a274169b60b192b5784c3608579541c08587cf9eac6aa5a756b86",
    ),
    "Qwen/Qwen2.5-7B-Instruct": Inside(
        "qwen2.5",
        "qwen",
        "c0382117ea329cdf097041132f6d735924b697924d6f6fc3945713e96ce87539",
        "bda7c11ec7ccc54453b5548a327a01e2896c6c74463293e9991ae8df6e42bea7",
    ),
}
