"""Shortcuts: ranks and a pattern that give the ids of a tokenizer with rules of its own, only faster.

A family proves that a tokenizer has one, `bindings/` makes its native stages of it, and `adapters/` uses it in streams.
"""
