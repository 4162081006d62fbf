"""The entry point of the program, for `python -m tokcli` and for the installed command `tokcli`."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # what `signal` has, without its enumerations, and sooner
import sys

# A Ctrl-C while the rest is being imported, of the program alone, ends it as it would end any other program.
# False in the background, where a shell sets SIGINT to be ignored.
_IS_OURS = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if (
    _IS_OURS
    and (__name__ == "__main__" or sys.argv[0].rpartition("/")[2] == "tokcli")
    and "__mp_main__" not in sys.modules
):
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc
import os
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

# What many runs import and few use: click needs `inspect` (4.5 ms with its own imports) for some messages, the headers
# of .npy files need `ast` (0.8 ms), what does not fit into memory `tempfile` (3 ms) and `pathlib` (2 ms), checkpoints
# `hashlib` (3 ms), and URLs with addresses in brackets `ipaddress` (1.6 ms).
_SELDOM_USED = ("inspect", "ast", "tempfile", "pathlib", "hashlib", "ipaddress")
# What click imports for types of options that no option here has, and for translations, of which it has none: 2 ms.
_ONLY_NAMED: dict[str, dict[str, object]] = {
    "uuid": {"UUID": type("UUID", (), {})},
    "datetime": {"datetime": type("datetime", (), {})},
    "gettext": {"gettext": str, "ngettext": lambda one, several, number: one if number == 1 else several},
}
_ROOM_BYTES = 1 << 25  # loading takes two thirds of it; with less, other packages fail, each with its own message


def _load_when_used(name: str, **known: object) -> None:
    """Put a module in place of the one of this name, which loads that as soon as anything but `known` of it is used."""
    if name in sys.modules:
        return
    stand_in = type(sys)(name)
    stand_in.__dict__.update(known)

    def find(attribute: str) -> object:
        if attribute == "__path__" and known:  # `from name import ...` asks for it first: of a package, it has others
            raise AttributeError(attribute)
        if sys.modules.get(name) is stand_in:
            sys.modules.pop(name, None)  # (another thread may have done so)
        return getattr(import_module(name), attribute)

    stand_in.__dict__["__getattr__"] = find  # PEP 562
    sys.modules[name] = stand_in


def main() -> NoReturn:
    """Run the program. Ctrl-C or too little memory while it is being loaded ends it without a traceback."""
    if _IS_OURS:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        bytes(_ROOM_BYTES)  # allocated and freed again: 14 µs
    except MemoryError:
        os.write(2, b"Error: out of memory: tokcli needs 32 MiB more than Python itself (see `ulimit -v`)\n")
        os._exit(2)
    is_debugging, message = bool(os.environ.get("TOKCLI_DEBUG")), b"Error: tokcli cannot be loaded: out of memory\n"
    for name in _SELDOM_USED:
        _load_when_used(name)
    only_named = [name for name in _ONLY_NAMED if name not in sys.modules]
    for name in only_named:
        _load_when_used(name, **_ONLY_NAMED[name])
    gc.disable()  # nothing that is loaded becomes garbage, and looking for it takes 1.2 ms of `tokcli count`
    try:
        from tokcli.cli.main import main as run
    except Exception as error:  # without memory, an import may raise many kinds of errors, and so may reporting them
        if is_debugging:
            raise
        with suppress(MemoryError, SystemError):
            if not isinstance(error, MemoryError):
                message = f"Error: tokcli cannot be loaded: {type(error).__name__}: {str(error)[:200]!a}\n".encode()
        os.write(2, message)
        os._exit(2)

    for name in only_named:
        sys.modules.pop(name, None)  # what is imported from now on gets the module itself
    gc.freeze()
    gc.set_threshold(50_000, *gc.get_threshold()[1:])  # as many objects as a command loads, before which 1 ms is wasted
    gc.enable()
    if _IS_OURS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
