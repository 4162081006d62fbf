"""`count --chat`: how many tokens the requests in the inputs take with a chat model."""

from __future__ import annotations

from tokcli.cli import streams
from tokcli.cli.chat.conversation import ChatRequest
from tokcli.cli.chat.read_request import read_request
from tokcli.cli.chat.rules import rules_for
from tokcli.cli.count.count_options import CountRequest
from tokcli.cli.count.many import ManyCounts, Outcome, row_of
from tokcli.cli.inputs import records
from tokcli.cli.walk.binary_files import is_binary
from tokcli.errors import InputError, TokcliError

MAX_BYTES = 64 << 20  # of a request: it is held as a whole


class ChatCounts(ManyCounts):
    """The counts of the requests to chat models in the inputs."""

    def __init__(self, requests: list[CountRequest]) -> None:
        super().__init__(requests)
        self.rules = rules_for(self.request)

    def outcomes(self, sources: list[streams.Input]) -> list[Outcome]:
        """Return the outcomes of some inputs, in order."""
        return list(map(self._outcome, sources))

    def _outcome(self, source: streams.Input) -> Outcome:
        try:
            data = records.read_all(source, MAX_BYTES, "messages")
            if is_binary(source, data):
                return Outcome(source)
            with streams.naming(source.shown):
                tokens = self._counted_chat(read_request(records.read_document(data, source.shown)))
        except RecursionError:
            return Outcome(source, error=InputError("nested too deep", where=source.shown))
        except TokcliError as error:
            return Outcome(source, error=error)
        return Outcome(source, row_of(source, (tokens,), len(data)))

    def _counted_chat(self, chat: ChatRequest) -> int:
        """Return the number of tokens of a request."""
        if chat.left_out:
            self.request.note("--chat counts texts and tools; images, sounds and files are left out.")
        return self.rules.counted(chat).total
