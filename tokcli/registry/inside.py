"""The tokenizers of open models that ship with the package, by the repository of the hub that has them. Data only.

tokcli/vocab has each in packed files (formats/packed_tokenizer.py), which are unpacked and compiled once; later runs
use what the cache keeps of that, as of a file. NOTICE says where each comes from.
"""

from __future__ import annotations

from collections.abc import Mapping


class Inside:
    """A tokenizer's file in packed form: NAME.template, and RANKS.ranks and RANKS.merges, which others may share.

    `sha256` is that of the file, and `key` that of the container which the cache keeps of it. `file` is its name in the
    repository; a tekken.json has no merges.
    """

    def __init__(self, name: str, ranks: str, sha256: str, key: str, file: str = "tokenizer.json") -> None:
        self.name, self.ranks, self.sha256, self.key, self.file = name, ranks, sha256, key, file


# each row: a tokenizer, and the repositories of the hub that have this very file; its name stands for the first
_ROWS = (
    (
        Inside(
            "qwen3",
            "qwen",
            "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
            "928862bf723a274169b60b192b5784c3608579541c08587cf9eac6aa5a756b86",
        ),
        "Qwen/Qwen3-8B Qwen/Qwen3-0.6B Qwen/Qwen3-4B Qwen/Qwen3-14B Qwen/Qwen3-32B Qwen/Qwen3-30B-A3B "
        "Qwen/Qwen3-235B-A22B Qwen/Qwen3-30B-A3B-Instruct-2507 Qwen/Qwen3-235B-A22B-Instruct-2507 "
        "Qwen/Qwen3-Next-80B-A3B-Instruct Qwen/Qwen3-Next-80B-A3B-Thinking",
    ),
    (
        Inside(
            "qwen2.5",
            "qwen",
            "c0382117ea329cdf097041132f6d735924b697924d6f6fc3945713e96ce87539",
            "bda7c11ec7ccc54453b5548a327a01e2896c6c74463293e9991ae8df6e42bea7",
        ),
        "Qwen/Qwen2.5-7B-Instruct Qwen/Qwen2.5-0.5B-Instruct Qwen/Qwen2.5-1.5B-Instruct Qwen/Qwen2.5-72B-Instruct "
        "Qwen/Qwen2.5-Coder-7B-Instruct Qwen/Qwen2.5-VL-7B-Instruct",
    ),
    (
        Inside(
            "deepseek-v3",
            "deepseek",
            "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41",
            "7a35f8e22ac983a555642e0c19e5c37fe2af92dac5ecf6163d642ace350ad48f",
        ),
        "deepseek-ai/DeepSeek-V3 deepseek-ai/DeepSeek-V3-0324",
    ),
    (
        Inside(
            "deepseek-r1",
            "deepseek",
            "ecb6f9fc369894346f0511f4074ca75cee5cd5f3b06d02f1ba35fcd39f8e121d",
            "ba03f3d6267a6c462f9c74db2bdf19af660becd1d3982609b7f352a8372a586b",
        ),
        "deepseek-ai/DeepSeek-R1 deepseek-ai/DeepSeek-R1-0528",
    ),
    (
        Inside(
            "deepseek-v3.1",
            "deepseek",
            "32b34a41212e92f62e859cbbea121ae705a1fabbf157d9acf22d134ecd8dcf70",
            "215755a9678cf52e86882ea38c34e8e2e50347eca8636b5503526ecb8e8e660e",
        ),
        "deepseek-ai/DeepSeek-V3.1 deepseek-ai/DeepSeek-V3.1-Terminus deepseek-ai/DeepSeek-V3.2-Exp",
    ),
    (
        Inside(
            "deepseek-v4",
            "deepseek",
            "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
            "5deb38fcdf3fa8732ec499cd652cd476b2c8d6d971e54a23f3cc7fe34c9735cb",
        ),
        "deepseek-ai/DeepSeek-V4-Pro deepseek-ai/DeepSeek-V4-Flash deepseek-ai/DeepSeek-V4-Flash-0731",
    ),
    (
        Inside(
            "tekken",
            "tekken",
            "eccd1665d2e477697c33cb7f0daa6f6dfefc57a0a6bceb66d4be52952f827516",
            "0a658c0d3e171c1726bec0e6949a648e5777356173411436e3d6a4c585d8a2f7",
            "tekken.json",
        ),
        "mistralai/Mistral-Nemo-Instruct-2407 mistralai/Mistral-Nemo-Base-2407",
    ),
    (
        Inside(
            "pixtral",
            "tekken",
            "1948e2d48b0e7377f1bb5f1210f1ae5f984934e75713fc07e2452729b8365316",
            "b97ad790e58ba35de4a1084001bce940167e3fd3170d27ba1a626f8686f00222",
            "tekken.json",
        ),
        "mistralai/Pixtral-12B-2409",
    ),
)
INSIDE: Mapping[str, Inside] = {repository: inside for inside, listed in _ROWS for repository in listed.split()}
NAMES: Mapping[str, str] = {inside.name: listed.partition(" ")[0] for inside, listed in _ROWS}
