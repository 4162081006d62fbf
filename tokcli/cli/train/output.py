"""`train`: the files of a vocabulary in each of the formats, each written atomically."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType

from tokcli.atomic import open_file_at
from tokcli.cli import streams
from tokcli.engine.bpe.byte_alphabet import bytes_of
from tokcli.engine.pretokenizers.known_patterns import GPT2, GPT2_EDUCATIONAL, R50K
from tokcli.engine.text_tokenizer import special_tokens_of
from tokcli.errors import OutputError, VocabularyError, reason_of
from tokcli.formats.export.contents import contents_in
from tokcli.formats.export.output_names import names_of
from tokcli.formats.export.tokenizer_config import refuse_other_config, roles_of
from tokcli.formats.export.writers import ExportVocabulary
from tokcli.formats.limits import shown_name
from tokcli.formats.tiktoken import parse_sidecar, refuse_no_sidecar

MAX_SHOWN = 40  # characters of a special token in messages
_IN_FOLDERS = ("gpt2", "huggingface")  # formats whose files may have the names that they have in a folder
_PAIRS = ("minbpe", "gpt2")  # formats of two files, of which the first is not whole by itself


class Files:
    """The files of one format, opened before the work begins and written when it ends; `names` are their paths."""

    def __init__(self, output: str, form: str, sources: list[streams.Input]) -> None:
        self._form = form
        self._stack = ExitStack()
        if form == "minbpe":
            _refuse_irregular(output)  # which is none of the names, perhaps
        self.names = names_of(output, form)
        is_folder = form in _IN_FOLDERS and os.path.dirname(self.names[0]) == output.rstrip("/")
        self._folder = output if is_folder else None
        if form == "huggingface" and is_folder:
            refuse_other_config(self.names[1], f"Remove it, or write tokenizer.json alone, with -o {self.names[0]}.")
        if form == "tiktoken":
            refuse_no_sidecar(self.names[1], "Move it, or name another output.")
        self._outputs: list[streams.Output] = []
        self._sources = sources

    def __enter__(self) -> Files:
        with self._stack:
            if self._folder is not None:
                self._stack.enter_context(_made(self._folder))
            # the last entered is the first to get its name: the files beside the main one get theirs before it
            for number, name in enumerate(self.names):
                if number and self._form not in _PAIRS and not self._outputs[0].is_replaced:
                    name = os.devnull  # beside standard output or a pipe there is nothing
                elif number or self._form in _PAIRS:
                    _refuse_irregular(name)
                self._outputs.append(self._stack.enter_context(streams.Output(name, self._sources)))
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def check(self, made: ExportVocabulary, note: Callable[[str], None]) -> None:
        """Raise VocabularyError for what the files cannot hold or tokcli could not read back; note what they omit."""
        if self._form in ("gpt2", "huggingface"):
            for token in made.special_tokens:
                if bytes_of(token) not in (None, token.encode()):
                    raise _refused(token, "its letters stand for other bytes in this format")
        contents = dict(zip(self.names, contents_in(made, self._form), strict=False))
        if self._form == "minbpe":
            contents.popitem()  # .vocab is for people
        try:
            found = _special_tokens_in(contents, self._form)
        except VocabularyError as error:
            error.hint = error.hint or "Such files could not be read: name other special tokens, or another --format."
            raise
        for token, id in made.special_tokens.items():
            if found.get(token) != id:
                raise _refused(token, "it would not be read as what it is")
        if self._form == "gpt2" and made.pat_str not in (R50K, GPT2, GPT2_EDUCATIONAL):
            note("GPT-2's files do not hold the pattern: read them with --pattern.")
        if len(contents) > 1 and self._form == "huggingface" and "eos_token" not in roles_of(made.special_tokens):
            note("no special token is named like an end of text: tokenizer_config.json has no eos_token.")

    def write(self, made: ExportVocabulary) -> dict[str, bytes]:
        """Write what was learnt; return what each file holds, by its name."""
        contents = contents_in(made, self._form)[: len(self._outputs)]
        for output, content in zip(self._outputs, contents, strict=True):
            output.write(content)
        for output in self._outputs:
            output.finish()
        return dict(zip(self.names, contents, strict=True))


def _refuse_irregular(path: str) -> None:
    """Raise OutputError for a device, a pipe, a folder or an open file of ours, where one of two files is to be."""
    try:
        status = os.stat(path)
    except OSError:  # there is nothing yet, or it is said when the file is opened
        return
    if stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{path}: is a directory", "Name a file.")
    if not stat.S_ISREG(status.st_mode) or open_file_at(path) is not None:
        raise OutputError(f"{path}: not a regular file, and two are written", "Name a new file, or another format.")


def _refused(token: str, why: str) -> VocabularyError:
    return VocabularyError(f"special token {token[:MAX_SHOWN]!r}: {why}", "Name another, or another --format.")


@contextmanager
def _made(folder: str) -> Iterator[None]:
    """Make a folder where it is missing, and remove what was made if the work fails before anything is in it."""
    missing, path = [], folder
    while path and not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    try:
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            hint = "Name a folder, or a file: tokenizer.json, or vocab.json of GPT-2's pair."
            raise OutputError(f"{folder}: {reason_of(error)}", hint) from None
        yield
    except BaseException:
        for path in missing:
            with suppress(OSError):  # it was not made, or somebody else has put something there
                os.rmdir(path)
        raise


def _special_tokens_in(contents: dict[str, bytes], form: str) -> Mapping[str, int]:
    """Return the special tokens in the files of a format, as they will be read."""
    if form == "tiktoken":
        name, sidecar = list(contents.items())[1]
        return parse_sidecar(sidecar, shown_name(name))[0] or {}
    from tokcli.formats.read import parse_sources, sources_of  # 9 ms: the readers of all formats

    return special_tokens_of(parse_sources(sources_of(contents)))
