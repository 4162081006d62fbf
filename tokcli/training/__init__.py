"""From a corpus to mergeable_ranks: pieces are counted, merges are learnt from the counts, and `train` does both.

`corpus_counter.py` counts in threads and within a limit of memory, `cluster.py` on other machines, `counts_file.py`
keeps counts. `trainer.py` says what every trainer promises; `reference_trainer.py` is the readable one, whose merges
the native one and the one on tensors make faster. The engine's pre-tokenizers say what a piece is; reading files of a
corpus, checkpoints and writing vocabularies are left to the command line and to `formats`.
"""
