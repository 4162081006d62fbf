"""The names of the files that a vocabulary is written to, and the format that the name of an output tells."""

from __future__ import annotations

import os

GPT2_NAMES = {"vocab.json": "merges.txt", "encoder.json": "vocab.bpe"}  # a vocabulary and the merges beside it
_BY_NAME = {name: "gpt2" for pair in GPT2_NAMES.items() for name in pair}
OTHER_NAMES = "a name that ends in .json would have given huggingface, .model minbpe, and vocab.json gpt2."
_BY_ENDING = {".json": "huggingface", ".model": "minbpe", ".tiktoken": "tiktoken"}


def form_by_name(output: str) -> str | None:
    """Return the format of files that have such a name; None where a name tells nothing. A folder is Hugging Face's.

    >>> [form_by_name(name) for name in ("a/tokenizer.json", "vocab.json", "my.model", "my.tiktoken", "folder/", "my")]
    ['huggingface', 'gpt2', 'minbpe', 'tiktoken', 'huggingface', None]
    """
    if is_folder(output):
        return "huggingface"
    name = os.path.basename(output).lower()
    return _BY_NAME.get(name) or _BY_ENDING.get(os.path.splitext(name)[1])


def is_folder(output: str) -> bool:
    """Return whether an output is a folder, or will be one as its name says."""
    return output.endswith("/") or os.path.isdir(output)


def names_of(output: str, form: str) -> list[str]:
    """Return the names of the files of a format; those of GPT-2 and of Hugging Face are in a folder where it names one.

    A name without an ending that nothing has yet is a folder's for them, as it is for `save_pretrained`.
    """
    if form == "tiktoken":
        return [output, f"{output}.json"]
    if form == "minbpe":
        prefix = output.removesuffix(".model")
        return [f"{prefix}.model", f"{prefix}.vocab"]
    if form == "huggingface":
        names = ("tokenizer.json", "tokenizer_config.json")
        is_file = os.path.splitext(output)[1] or os.path.lexists(output)
        return [output] if is_file and not is_folder(output) else [os.path.join(output, name) for name in names]
    folder, name = os.path.split(output)
    for vocab, merges in GPT2_NAMES.items():
        if name in (vocab, merges):
            return [os.path.join(folder, vocab), os.path.join(folder, merges)]
    return [os.path.join(output, "vocab.json"), os.path.join(output, "merges.txt")]
