"""`encode --chat`: inputs read as the text that the chat template of a tokenizer makes of the requests in them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, cast

from tokcli.cli import messages, streams
from tokcli.cli.chat.read_request import read_request
from tokcli.cli.chat.rules import no_template
from tokcli.cli.chat.template_conversation import left_out_of
from tokcli.cli.chat.template_rules import TemplateRules, template_rules
from tokcli.cli.inputs import records
from tokcli.cli.inputs.whole_input import read_all
from tokcli.cli.json_stream import line
from tokcli.cli.options import ChatOptions
from tokcli.cli.request import Request
from tokcli.cli.streams import STANDARD_INPUT, Input
from tokcli.errors import InputError, TokcliError, VocabularyError

MAX_BYTES = 64 << 20  # of a request: it is held as a whole
BLANK = b"\n"  # a line of its own, so that the records after it keep their numbers
OWN = ("text", "text_pair")  # members that a record of text has


class RenderedInputs:
    """Makes inputs of inputs; `is_records` says that each line is a request, `keeps` that its members are kept."""

    def __init__(self, request: Request[ChatOptions], *, is_records: bool, keeps: bool) -> None:
        self._request, self._is_records, self._keeps = request, is_records, keeps
        rules = template_rules(request)
        if rules is None:
            raise no_template(request)
        self._rules: TemplateRules = rules
        self._said: set[str] = set()

    def of(self, source: Input) -> Input:
        """Return an input with the rendered text of another one; or with JSON Lines, whose members `text` are texts."""
        blocks = self._lines if self._is_records else self._text
        if source.data is not None or (source.name == STANDARD_INPUT and not self._is_records):
            return Input(name=source.name, data=b"".join(blocks(source)))
        name = "/dev/stdin" if source.name == STANDARD_INPUT else source.name  # opened by `opens`, as a file is
        return Input(name=name, as_is=True, opens=lambda _: cast(BinaryIO, _Blocks(blocks(source))))

    def _text(self, source: Input) -> Iterator[bytes]:
        """Yield the text of the only request of an input."""
        data = read_all(source, MAX_BYTES, "messages")
        yield self._rendered(records.read_document(data, source.shown), source.shown).encode()

    def _lines(self, source: Input) -> Iterator[bytes]:
        """Yield a line for each line of the input, those together that were read together."""
        for unparsed in records.batches_of_lines(source):
            batch, lines = unparsed.parse(), list[bytes]()
            for number, text in zip(batch.numbers, batch.texts, strict=True):
                try:
                    lines.append(self._line(text, f"{source.shown}: record {number}"))
                except TokcliError as error:
                    if source.skips_invalid and not isinstance(error, VocabularyError):
                        messages.leave_out(1, str(error))
                        lines.append(BLANK)
                        continue
                    error.hint = records.with_way_out(error.hint)
                    yield b"".join(lines)
                    raise
            yield b"".join(lines)

    def _line(self, text: bytes, where: str) -> bytes:
        """Return the line for a record; that of a blank line is blank."""
        if not text.strip():
            return BLANK
        parsed = records.read_json(text, where)
        kept = parsed if self._keeps and isinstance(parsed, dict) else {}
        members = {name: value for name, value in kept.items() if name not in OWN}
        return line({"text": self._rendered(parsed, where), **members})

    def _rendered(self, parsed: object, where: str) -> str:
        """Return the text of a request; note what is left out of it."""
        with streams.naming(where):
            try:
                chat = read_request(parsed)
                text = self._rules.text_of(chat)
            except RecursionError:
                raise InputError("nested too deep") from None
        for kind in left_out_of(chat):
            if kind not in self._said:
                self._said.add(kind)
                self._request.note(f"{where}: the template is given no {kind}.")
        return text


class _Blocks(io.RawIOBase):
    """Blocks of bytes as a file that can be read."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._left and (block := next(self._blocks, None)) is not None:
            self._left = memoryview(block)
        size = min(len(self._left), len(buffer))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size
