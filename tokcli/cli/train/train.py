"""`tokcli train`: train a vocabulary on a corpus."""

from __future__ import annotations

from typing import Any

import click

from tokcli.cli.declare.command import Command
from tokcli.cli.train.train_options import MOST_USED, TrainOptions, declared


@click.command(cls=Command, name="train", params=[*declared], most_used=MOST_USED)
def command(**given: Any) -> int:
    """Train a byte pair encoding on FILEs, or on standard input.

    The most frequent pair of neighbouring tokens becomes the next token, again and again; of equally frequent pairs,
    the one with the smaller left id, then the smaller right id. FILE.json beside a .tiktoken FILE keeps the pattern and
    the special tokens, and is read whenever FILE is.

    \b
      tokcli train corpus.txt --vocab-size 4096 -o my.tiktoken
      tokcli count -e ./my.tiktoken other.txt
      tokcli train -r corpus/ --counts-only -o part1.counts
      tokcli train --counts part*.counts --vocab-size 32768 -o my.tiktoken
    """
    from tokcli.cli.train.session import Session, with_form

    asked = with_form(TrainOptions(**given))
    kind: type[Session] = Session
    if asked.records or asked.counts or asked.dask or asked.checkpoint:
        from tokcli.cli.train.full_session import FullSession

        kind = FullSession
    session = kind(asked)
    if asked.dry_run:
        session.report()
    elif asked.counts_only:
        session.write_counts(asked.output or "")
    else:
        session.train(asked.output or "", asked.vocab_size or 0)
    return session.status
