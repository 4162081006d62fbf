"""Shortcuts: ranks and a pattern that give the ids of a tokenizer with rules of its own, only faster.

A family proves that a tokenizer has one, and `Tokenizer` uses it.
"""
