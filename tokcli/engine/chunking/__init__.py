"""Cuts text into passages of at most so many tokens each, for `encode --chunk`, `-n --as-text` and `tokcli.chunks`.

`boundaries.py` knows where lines, sentences and paragraphs end, `cutter.py` chooses the ends of passages. What tokens a
text has is left to the tokenizers.
"""
