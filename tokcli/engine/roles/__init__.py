"""The roles of a `Tokenizer` beside whole texts, which engine/executor.py encodes.

`readers.py` cuts streams into parts where the tokenizer allows it, `lookups.py` tells what is known of tokens, and
`record_runs.py` encodes records in runs. engine/tokenizer.py puts them together.
"""
