"""`count --chat`: how many tokens the requests in the inputs, or in their records, take with a chat model."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from tokcli.cli import streams
from tokcli.cli.chat.conversation import CountedChat
from tokcli.cli.chat.read_request import WHAT_IS_READ, read_request
from tokcli.cli.chat.rules import Rules, rules_for
from tokcli.cli.count.budget import check_budget
from tokcli.cli.count.chat_parts import write_parts
from tokcli.cli.count.chat_tally import KEYS, ChatTally
from tokcli.cli.count.count_forms import RowTotals, check_encodings, write_rows
from tokcli.cli.count.count_options import CountRequest
from tokcli.cli.count.count_records import RecordCounts
from tokcli.cli.count.estimates import scaled_chat
from tokcli.cli.count.many import ManyCounts, Outcome, row_of
from tokcli.cli.inputs import records
from tokcli.cli.inputs.columns import file_of_columns
from tokcli.cli.inputs.left_of import Left
from tokcli.cli.inputs.whole_input import read_all
from tokcli.cli.walk.binary_files import is_binary
from tokcli.errors import InputError, TokcliError, VocabularyError

MAX_BYTES = 64 << 20  # of a request: it is held as a whole
LINES = "If each line is a request, count them with --records jsonl."


def write(request: CountRequest, output: streams.Output, *, is_alone: bool) -> tuple[str | None, int]:
    """Write the counts of requests in the form that was asked for; with `is_alone`, as one number.

    Return a phrase for what is above --max (None if nothing is), and the exit status.
    """
    asked = request.options
    check_encodings(asked)
    check_budget(asked)
    if asked.records and asked.by is None and (asked.order or asked.top):
        raise InputError("--sort and --top have no rows to choose from", "Name the rows with --by role or --by tool.")
    rules = rules_for(request)
    if asked.only_estimate:
        counted = rules.counted
        rules = rules._replace(counted=lambda chat: scaled_chat(asked.only_estimate, counted(chat)))
    if asked.exact_only and not rules.is_exact:
        raise InputError(
            f"--exact-only: --chat is an estimate with {request.encoding.name}",
            "How messages reach OpenAI's models is not public; a tokenizer with a chat template counts exactly.",
        )
    tally = ChatTally(request, rules)
    if asked.records:
        above, status = _write_records(request, output, rules, tally), 0
    else:
        counts = ChatCounts(request, rules)
        totals = RowTotals(1, asked.limit, tally)
        rows = totals.of(counts.rows())
        if asked.by in KEYS:
            for _ in rows:
                pass
            write_parts(asked, output, tally, totals.tokens[0], inputs=totals.rows)
        else:
            write_rows(asked, output, rows, totals, is_alone=is_alone)
        above, status = totals.above(is_alone=is_alone), counts.status
    output.flush()
    tally.note()
    return above, max(status, request.status)


def counted_chat(parsed: Any, rules: Rules) -> CountedChat:
    """Return the count of a request from its JSON; InputError for JSON that is none."""
    try:
        chat = read_request(parsed)
        return CountedChat(rules.counted(chat), rules.left_out(chat))
    except RecursionError:
        raise InputError("nested too deep") from None


class ChatCounts(ManyCounts):
    """The counts of the requests to chat models in the inputs."""

    def __init__(self, request: CountRequest, rules: Rules) -> None:
        super().__init__([request])
        self._rules = rules

    def outcomes(self, sources: list[streams.Input]) -> list[Outcome]:
        """Return the outcomes of some inputs, in order."""
        return list(map(self._outcome, sources))

    def _outcome(self, source: streams.Input) -> Outcome:
        try:
            data = read_all(source, MAX_BYTES, "messages")
            if is_binary(source, data):
                return Outcome(source)
            with streams.naming(source.shown):
                found = counted_chat(_parsed(data, source.shown), self._rules)
        except TokcliError as error:
            return Outcome(source, error=error)
        row = row_of(source, (found.counted.total,), len(data))
        return Outcome(source, row._replace(chat=found))


def _parsed(data: bytes, where: str) -> Any:
    """Return the value of a JSON document; InputError for anything else says what --chat reads, and how."""
    try:
        return records.read_document(data, where)
    except InputError as error:
        error.hint = error.hint or (LINES if _is_lines(data) else WHAT_IS_READ)
        raise


def _is_lines(data: bytes) -> bool:
    """Return whether the first line, of several, is a JSON object or list by itself."""
    first, _, rest = data.partition(b"\n")
    try:
        return bool(rest.strip()) and isinstance(records.read_json(first, None), (dict, list))
    except InputError:
        return False


# --- records ---------------------------------------------------------------------------------------------------------


class _CountedBatch:
    """The requests in a batch of records: their numbers, JSON and counts, and the error of the record after them."""

    def __init__(self, batch: records.Batch, rules: Rules, left: Left) -> None:
        self.numbers: list[int] = []
        self.objects: list[bytes] = []
        self.chats: list[CountedChat] = []
        self.error: TokcliError | None = None
        for number, text in zip(batch.numbers, batch.texts, strict=True):
            if not text.strip():
                continue
            where = f"{batch.source.shown}: record {number}"
            is_json = False
            try:
                with streams.naming(where):
                    parsed = records.read_json(text, where)
                    is_json = True
                    self.chats.append(counted_chat(parsed, rules))
            except TokcliError as error:
                if batch.source.skips_invalid and not isinstance(error, VocabularyError):
                    left.add(0, [error], has_objects=is_json)
                    continue
                error.hint = records.with_way_out(error.hint)
                if number == 1 and text.strip() in (b"{", b"["):
                    error.hint = "A file that is one request is read without --records."
                self.error = error
                break
            self.numbers.append(number)
            self.objects.append(text)
        left.add(len(self.numbers), [], has_objects=bool(self.numbers))


def _write_records(request: CountRequest, output: streams.Output, rules: Rules, tally: ChatTally) -> str | None:
    """Write the count of each record, or with --by of the parts of all; return a phrase for the first above --max."""
    asked = request.options
    answers = RecordCounts(request, output, instead=asked.by in KEYS)
    total = 0
    for source in request.texts:
        if file_of_columns(source) is not None:
            raise InputError("--chat reads JSON Lines, not the columns of a file", where=source.shown)
        batches, left = records.batches_of_lines(source), Left(source)
        for _, counted in request.shared_batches(batches, partial(_CountedBatch, rules=rules, left=left)):
            for chat in counted.chats:
                tally.add(chat, source.shown)
            counts = memoryview(array("Q", [chat.counted.total for chat in counted.chats]))
            total += sum(counts)
            output.answer(counted.objects)
            answers.add(source.shown, counted.numbers, [counts], _marks(tally, counted))
            if counted.error is not None:
                raise counted.error
            output.flush()
        if (nothing := left.error()) is not None:
            raise nothing
    if asked.by in KEYS:
        write_parts(asked, output, tally, total, inputs=0)
    else:
        answers.end(tally.marks())
    return answers.above


def _marks(tally: ChatTally, counted: _CountedBatch) -> Iterator[Mapping[str, object]]:
    return (tally.marks(chat.left_out) for chat in counted.chats)
