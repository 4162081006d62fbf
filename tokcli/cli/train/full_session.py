"""`train` of records, of counts files, on a cluster, and with checkpoints: what these load, other runs do without."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tokcli.cli.inputs.records import read_records
from tokcli.cli.train.checkpoint import Checkpoint, fingerprint_of
from tokcli.cli.train.corpus_files import TextsIn, path_of
from tokcli.cli.train.session import Session
from tokcli.errors import OutputError
from tokcli.training.cluster import count_on_cluster
from tokcli.training.corpus_counter import CorpusCounter, merge_files


class FullSession(Session):
    """A run with any options: the texts may be records, and the counts in files, or made on a cluster."""

    def _texts_in(self) -> TextsIn | None:
        asked, kind = self._asked, self._asked.records
        if kind is None:
            return super()._texts_in()
        return lambda source: (record.data for record in read_records(source, kind, asked.field, asked.errors))

    def _read(self, counting: CorpusCounter, checkpoint: Checkpoint | None) -> None:
        asked = self._asked
        if asked.counts:
            counting.add_blocks(merge_files([path_of(source) for source in self._sources]))
        elif asked.dask:
            count_on_cluster(asked.dask, [path_of(source) for source in self._sources], counting, self._threads)
        else:
            super()._read(counting, checkpoint)
            if checkpoint:
                checkpoint.save()

    def _open_checkpoint(self, output: str) -> AbstractContextManager[Checkpoint | None]:
        asked, plan = self._asked, self._plan
        if asked.checkpoint is None:
            return super()._open_checkpoint(output)
        own = fingerprint_of(asked, self._sources, plan.pat_str, plan.all_special_tokens, plan.rules.tokens)
        checkpoint = Checkpoint(asked.checkpoint, own, asked.checkpoint_every)
        if checkpoint.holds(output):
            raise OutputError("is in the folder of the checkpoint", "Write to another file.", where=output)
        return checkpoint
