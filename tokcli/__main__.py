"""`python -m tokcli`, and what the installed `tokcli` calls."""

from __future__ import annotations

import gc
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Runs the program. Ctrl-C while it is being loaded ends it too without a traceback."""
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # ignored in the background: it stays so
    if is_ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # nothing of what is loaded will be garbage: looking for it costs 3 ms
    from tokcli.cli.main import main as run

    gc.freeze()
    gc.enable()
    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
