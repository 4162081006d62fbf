"""tiktoken's way from text to ids: a pattern cuts pieces, and mergeable_ranks merge the bytes of each.

The native twin does both at once, for every pattern that native code can match. Patterns are left to pretokenizers/,
merging in Python to bpe/, the API to encoding.py.
"""
