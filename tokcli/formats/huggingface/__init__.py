"""Hugging Face's tokenizer.json: `reader.py` makes a pipeline of the components that the file names.

`model_tables.py` reads the vocabulary, merges and scores, `components.py` and `decoders.py` what comes before and after
the model, and `cut_pattern.py` finds the patterns that a pre-tokenizer cuts by. What components do with text is left to
engine/pipeline; truncation and padding (`batching.py`) are told in notes and, like dropout, not applied.
"""
