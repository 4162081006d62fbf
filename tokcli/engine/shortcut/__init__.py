"""Shortcuts: ranks and a pattern that give the ids of a tokenizer with rules of its own, only faster.

A shortcut says for which text it holds, and text_check.py finds, in one native pass, where it does not. Families prove
that they have one; adapters/ takes it.
"""
