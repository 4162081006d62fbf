"""What the process that runs a template and the one that asks it agree on: sizes, limits, and kinds of answers."""

from __future__ import annotations

import struct

SIZE = struct.Struct("<Q")  # of what follows, in bytes
SECONDS = struct.Struct("<d")  # for the template, after the size of a question
# The first byte of an answer: a text, or why there is none. A line of the template, a colon and a message follow.
TEXT, RAISED, FAILED, SYNTAX, TOO_MUCH, MEMORY, RECURSION = (bytes([code]) for code in b"TRFSLMD")
MEMORY_BYTES = 2**29  # more than the process has when it starts; the largest conversation takes most of it
BYTES_A_SECOND = 10_000_000  # of a conversation, which both sides write and read, beside the time for the template
WAITS = 2  # times as long as the template may work: other processes may need the processor, too
SHOWN_CHARS = 300  # of what a template says
