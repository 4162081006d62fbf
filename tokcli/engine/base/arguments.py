"""Checks of the arguments of the Python API: errors name the argument, and are of the types that tiktoken raises.

Tokenizers and native code rely on these checks and do not repeat them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import index
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, cast

from tokcli.errors import VocabularyError

if TYPE_CHECKING:
    from typing import TypeGuard, TypeVar

    Token = TypeVar("Token", str, bytes)

MAX_ID = 2**32 - 1  # ids are uint32
NO_ID = MAX_ID  # stands for no id in arrays, as kNone does in native code
MAX_CHARACTER = 4  # bytes of UTF-8
NONE: frozenset[str] = frozenset()  # of the special tokens
MOST_THREADS = 256  # each has a stack, and waits for the others


def wrong_type(name: str, expected: str, value: object) -> TypeError:
    """Return the error for an argument of the wrong type.

    >>> wrong_type("text", "a str", None)
    TypeError('text: expected a str, not NoneType')
    """
    return TypeError(f"{name}: expected {expected}, not {type(value).__name__}")


def check_text(text: object, name: str = "text") -> None:
    """Raise TypeError for anything but a str."""
    if not isinstance(text, str):
        raise wrong_type(name, "a str", text)


def texts_in(texts: object, name: str) -> list[str]:
    """Return texts as a list; TypeError names the index of the first that is not a str."""
    if not isinstance(texts, Iterable):
        raise wrong_type(name, "a list of str", texts)
    if isinstance(texts, (list, tuple)) and set(map(type, texts)) <= {str}:
        return list(texts)
    found: list[str] = []
    for text in texts:  # which may be endless: the first that is not a str ends it
        if not isinstance(text, str):
            raise wrong_type(f"{name}[{len(found)}]", "a str", text)
        found.append(text)
    return found


def several_texts(texts: object, name: str) -> list[str]:
    """Return texts as a list; TypeError for one str, which is iterable, too, and for what `texts_in` refuses."""
    if isinstance(texts, (str, bytes)):
        raise one_text(name, texts)
    return texts_in(texts, name)


def one_text(name: str, value: object) -> TypeError:
    """Return the error for one text where several are expected.

    >>> one_text("corpus", "abc")
    TypeError('corpus: expected several texts, such as a list of str, not one str')
    """
    return TypeError(f"{name}: expected several texts, such as a list of str, not one {type(value).__name__}")


def bytes_in(data: object, name: str) -> bytes:
    """Return bytes, given as such or as a str; TypeError for anything else, UnicodeEncodeError for a lone surrogate."""
    if isinstance(data, str):
        return data.encode()
    if not isinstance(data, bytes):
        raise wrong_type(name, "a str or bytes", data)
    return data


def token_id(token: object, name: str = "token") -> int:
    """Return an id as an int; TypeError for anything but an integer, OverflowError for one outside 0 to MAX_ID."""
    try:
        number = index(cast(Any, token))
    except TypeError:
        raise wrong_type(name, "an int", token) from None
    if not 0 <= number <= MAX_ID:
        raise OverflowError(f"{name}: an id is a number from 0 to {MAX_ID}, not {shown_number(number)}")
    return number


def shown_number(number: int) -> str:
    """Return a number in digits or, above 128 bits, its size: Python refuses to print thousands of digits."""
    return str(number) if number.bit_length() <= 128 else f"one of {number.bit_length()} bits"


def token_ids(tokens: object, name: str = "tokens") -> list[int]:
    """Return ids as a list of ints; for the first that is not an id, raise the error that `token_id` raises."""
    if not isinstance(tokens, Iterable):
        raise wrong_type(name, "a sequence of ints", tokens)
    given = list(tokens)
    try:
        found = list(map(index, given))
    except TypeError:
        found = []
    if len(found) < len(given) or (found and not 0 <= min(found) <= max(found) <= MAX_ID):
        found = [token_id(token, f"{name}[{at}]") for at, token in enumerate(given)]
    return found


def id_array(tokens: object) -> memoryview | None:
    """Return ids in a list as an array of 32-bit numbers; None for what `token_ids` has to look at, or refuse.

    >>> id_array([7, True]) == memoryview(array("I", [7, 1])), id_array([-1]), id_array(["7"]), id_array((7,))
    (True, None, None, None)
    """
    if type(tokens) is not list:
        return None
    try:
        return memoryview(array("I", tokens))
    except (TypeError, ValueError, OverflowError):
        return None


def is_array(tokens: object) -> TypeGuard[memoryview]:
    """Return whether ids are such an array as `encode_array` returns: numbers of 32 bits without gaps between them.

    >>> is_array(memoryview(bytes(8)).cast("I")), is_array([0, 0])
    (True, False)
    """
    return isinstance(tokens, memoryview) and tokens.format == "I" and tokens.strides == (tokens.itemsize,)


def check_sequence(tokens: object, name: str = "tokens") -> None:
    """Raise TypeError for ids that have no order, as in a set, or can be read only once, as from an iterator."""
    if isinstance(tokens, (str, AbstractSet, Mapping, Iterator)) or not isinstance(tokens, Iterable):
        raise wrong_type(name, "a sequence of ints", tokens)


def threads_in(num_threads: object) -> int:
    """Return a number of threads, at most MOST_THREADS, and 8 for None; ValueError for less than one."""
    if num_threads is None:
        return 8
    try:
        number = index(cast(Any, num_threads))
    except TypeError:
        raise wrong_type("num_threads", "an int", num_threads) from None
    if number < 1:
        raise ValueError(f"num_threads: expected 1 or more, not {shown_number(number)}")
    return min(number, MOST_THREADS)


def batch_in(batch: Iterable[Sequence[int]], num_threads: object) -> Iterable[Sequence[int]]:
    """Return sequences of ids; TypeError if `batch` is not iterable. `num_threads` is checked, but has no effect."""
    threads_in(num_threads)
    if not isinstance(batch, Iterable):
        raise wrong_type("batch", "a list of sequences of ints", batch)
    return batch


def number_in(number: object, name: str) -> int:
    """Return a number as an int; TypeError for anything but an integer, OverflowError if it exceeds signed 64 bits."""
    try:
        found = index(cast(Any, number))
    except TypeError:
        raise wrong_type(name, "an int", number) from None
    if not -(2**63) <= found < 2**63:
        raise OverflowError(f"{name}: {shown_number(found)} does not fit into 64 bits")
    return found


def names_in(names: object, name: str) -> frozenset[str]:
    """Return the names of special tokens; TypeError for anything but a collection of str."""
    if not isinstance(names, Iterable):
        raise wrong_type(name, '"all" or a collection of str', names)
    given = list(names)
    for one in given:
        if not isinstance(one, str):
            raise wrong_type(name, "special tokens as str", one)
    return frozenset(given)


def path_in(path: object, name: str = "path") -> str | bytes:
    """Return the path of a file; TypeError for anything else, file descriptors included."""
    if not isinstance(path, (str, bytes, PathLike)):
        raise wrong_type(name, "a path", path)
    return fspath(path)


def paths_in(paths: object) -> Iterator[str | bytes]:
    """Return a lazy iterator over paths; TypeError names the index of the first that is not a path."""
    if isinstance(paths, (str, bytes)) or not isinstance(paths, Iterable):
        raise wrong_type("paths", "several paths", paths)
    return (path_in(path, f"paths[{at}]") for at, path in enumerate(paths))


def blocks_in(blocks: object) -> Iterator[bytes]:
    """Return a lazy iterator over blocks of bytes; TypeError names the index of the first that is not bytes."""
    if isinstance(blocks, (str, bytes)) or not isinstance(blocks, Iterable):
        raise wrong_type("blocks", "several blocks of bytes", blocks)
    return (_block_in(block, f"blocks[{at}]") for at, block in enumerate(blocks))


def _block_in(block: object, name: str) -> bytes:
    if not isinstance(block, (bytes, bytearray, memoryview)):
        raise wrong_type(name, "bytes", block)
    return bytes(block)


def ids_by_token(ids: object, kind: type[Token], name: str) -> dict[Token, int]:
    """Return a vocabulary, tokens of type `kind` to ids: the given one if it is a dict of ints, else a copy.

    TypeError and OverflowError name the first token or id that is wrong.
    """
    if not isinstance(ids, Mapping):
        raise wrong_type(name, "a dict", ids)
    if not set(map(type, ids)) <= {kind}:
        for token in ids:
            if not isinstance(token, kind):
                raise wrong_type(name, f"{kind.__name__} as tokens", token)
    numbers = ids.values()
    are_int = set(map(type, numbers)) <= {int}
    if isinstance(ids, dict) and are_int and (not ids or (min(numbers) >= 0 and max(numbers) <= MAX_ID)):
        return ids
    return {token: token_id(number, f"{name}[{_shown(token)}]") for token, number in ids.items()}


def _shown(token: object) -> str:
    shown = repr(token)
    return shown if len(shown) <= 40 else f"{shown[:40]}..."


def check_ranks(ranks: Mapping[bytes, int], encoding: str) -> None:
    """Raise VocabularyError (a ValueError) if there are no ranks, or if two tokens have the same rank."""
    if not ranks:
        raise VocabularyError(f"encoding {encoding!r}: no tokens")
    if len(set(ranks.values())) < len(ranks):
        seen: dict[int, bytes] = {}
        for token, rank in ranks.items():
            if (first := seen.setdefault(rank, token)) is not token:
                both = f"{_shown(first)} and {_shown(token)}"
                raise VocabularyError(f"encoding {encoding!r}: two tokens have the same rank {rank}: {both}")


def check_utf8(text: str, name: str) -> None:
    """Raise UnicodeEncodeError (a ValueError) for a text with lone surrogates, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        why = f"{error.reason}, in {name}"
        raise UnicodeEncodeError(error.encoding, error.object, error.start, error.end, why) from None
