"""`encode --chat`: the request whose inputs are the texts that a chat template makes, with their special tokens."""

from __future__ import annotations

from tokcli.cli.chat.rendered_inputs import RenderedInputs
from tokcli.cli.encode.encode_options import EncodeRequest

EVERYTHING = 2**62  # tokens: more than any text has


def rendered(request: EncodeRequest) -> EncodeRequest:
    """Return the request to encode what the chat template makes of the requests in the inputs."""
    asked = request.options
    inputs = RenderedInputs(request, is_records=asked.records is not None, keeps=asked.all_fields)
    limit = EVERYTHING if asked.as_text and asked.limit is None else asked.limit
    made = EncodeRequest(asked.replace(special="allow", limit=limit), request.encoding)
    made.inputs = made.texts = [inputs.of(source) for source in request.inputs]
    return made
