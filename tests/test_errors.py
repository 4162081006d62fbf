"""Errors carry facts as fields; their message is composed of them; hints with options are the command line's."""

from __future__ import annotations

import copy
import pickle

import pytest

from tokcli.cli.hints import hint_for
from tokcli.errors import (
    DisallowedSpecialTokenError,
    InputError,
    NotUtf8Error,
    OfflineError,
    OutputError,
    PatternTimeoutError,
    TokcliError,
    UnknownModelError,
)


def not_utf8() -> NotUtf8Error:
    with pytest.raises(UnicodeDecodeError) as caught:
        b"ab\xff".decode()
    return NotUtf8Error.of(caught.value, start=10)


ERRORS = [
    TokcliError("a"),
    InputError("no such file", "Look at the name.", where="a.txt", offset=3, unit="byte", detail="'x'"),
    OutputError("the disk is full", where="out"),
    UnknownModelError("no model 'x'"),
    DisallowedSpecialTokenError.found("<|end|>", 2, "byte"),
    not_utf8(),
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_that_was_pickled_or_copied_has_its_facts(error: TokcliError) -> None:
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(other), str(other), vars(other)) == (type(error), str(error), vars(error))


def test_the_message_is_composed_of_the_facts() -> None:
    assert [str(error) for error in ERRORS[1:]] == [
        "a.txt: no such file at byte 3: 'x'",
        "out: the disk is full",
        "no model 'x'",
        "special token '<|end|>' found at byte 2",
        "not UTF-8 at byte 12: 0xff (invalid start byte)",
    ]


@pytest.mark.parametrize(
    ("error", "option", "argument"),
    [
        (DisallowedSpecialTokenError.found("<|end|>", 2, "byte"), "--allow-special '<|end|>'", "allowed_special"),
        (not_utf8(), "--errors bytes", "errors='bytes'"),
        (PatternTimeoutError("pattern: more than 5 s", "Allow more time.", offset=0), "--timeout", "time"),
        (OfflineError("not here", "Allow the network (offline=False)."), "--offline", "offline=False"),
    ],
)
def test_the_library_speaks_of_arguments_and_the_command_line_of_options(
    error: TokcliError, option: str, argument: str
) -> None:
    assert option in hint_for(error)
    assert argument in error.hint
    assert "--" not in error.hint
