"""Shortcuts: ranks and a pattern that give the ids of a tokenizer with rules of its own, only faster.

A shortcut says for which text it holds, and text_check.py finds, in one native pass, where it does not. A family proves
that a tokenizer has one; adapters/ uses it.
"""
