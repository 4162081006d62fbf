"""`train`: what was learnt, in the files of a format, each whole or not at all."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tokcli.cli import streams
from tokcli.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcli.formats.writers import Made

FORMATS = ("tiktoken", "minbpe", "gpt2", "huggingface")
_GPT2_NAMES = {"vocab.json": "merges.txt", "encoder.json": "vocab.bpe"}  # a vocabulary and the merges beside it


class Files:
    """The files of one format, opened before the work begins and written at its end; the first is the main one."""

    def __init__(self, output: str, form: str, sources: list[streams.Input]) -> None:
        self._form = form
        self._stack = ExitStack()
        self.names = _names(output, form)
        self._outputs: list[streams.Output] = []
        self._sources = sources

    def __enter__(self) -> Files:
        with self._stack:
            # the last entered is the first to get its name: what stands beside the main file is there before it
            for number, name in enumerate(self.names):
                beside_none = number > 0 and not self._outputs[0].is_replaced
                self._outputs.append(
                    self._stack.enter_context(streams.Output(os.devnull if beside_none else name, self._sources))
                )
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    def refuse(self, made: Made, note: Callable[[str], None]) -> None:
        """VocabularyError for what the format cannot hold; a note for what it leaves open."""
        from tokcli.engine import known_patterns as known

        if self._form != "tiktoken":
            _contents(made, self._form)
        if self._form == "gpt2" and made.pat_str not in (known.R50K, known.GPT2, known.GPT2_EDUCATIONAL):
            note("GPT-2's files do not hold the pattern; who reads them has to be told (--pattern).")

    def write(self, made: Made) -> list[tuple[str, str]]:
        """Writes what was learnt; the name and the SHA-256 (hex) of each file."""
        contents = _contents(made, self._form)
        for output, content in zip(self._outputs, contents, strict=True):
            output.write(content)
        return [(name, hashlib.sha256(data).hexdigest()) for name, data in zip(self.names, contents, strict=True)]


def _names(output: str, form: str) -> list[str]:
    if form == "tiktoken":
        return [output, f"{output}.json"]
    if form == "minbpe":
        prefix = output.removesuffix(".model")
        return [f"{prefix}.model", f"{prefix}.vocab"]
    if form == "huggingface":
        return [os.path.join(output, "tokenizer.json") if os.path.isdir(output) else output]  # noqa: PTH112, PTH118
    folder, name = os.path.split(output)
    for vocab, merges in _GPT2_NAMES.items():
        if name in (vocab, merges):
            return [os.path.join(folder, vocab), os.path.join(folder, merges)]  # noqa: PTH118
    try:
        os.makedirs(output, exist_ok=True)  # noqa: PTH103
    except OSError as error:
        raise OutputError(
            f"{output}: {(error.strerror or str(error)).lower()}",
            "GPT-2's pair needs a folder, or the name vocab.json or merges.txt.",
        ) from None
    return [os.path.join(output, "vocab.json"), os.path.join(output, "merges.txt")]  # noqa: PTH118


def _contents(made: Made, form: str) -> list[bytes]:
    from tokcli.formats import writers

    if form == "tiktoken":
        from tokcli.cli.records import dump
        from tokcli.formats.tiktoken import format_tiktoken

        sidecar = dump({"pat_str": made.pat_str, "special_tokens": dict(made.special_tokens)})
        return [format_tiktoken(dict(made.mergeable_ranks)), f"{sidecar}\n".encode()]
    if form == "minbpe":
        return list(writers.format_minbpe(made))
    if form == "gpt2":
        return list(writers.format_gpt2(made))
    return [writers.format_huggingface(made)]


def tell(written: list[tuple[str, str]], tokens: int, merges: int, missing: int) -> None:
    """What came of it, on standard error."""
    from tokcli.render.visible import visible

    few = f" ({missing} fewer than asked for: no pair was left)" if missing else ""
    lines = [f"{tokens} tokens, {merges} merges{few}"]
    lines += [f"{visible(os.path.basename(name))} sha256 {digest}" for name, digest in written[:1]]  # noqa: PTH119
    sys.stderr.write("".join(f"{line}\n" for line in lines))
