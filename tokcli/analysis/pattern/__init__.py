"""Analyses of a pattern (pat_str): a trace of its alternatives, what is wrong with it, and which engines can read it.

`trace` tries each alternative at a place of a text; `lint` looks for text left out, dead alternatives and, with
`ambiguity`, for backtracking; `flavours` compares engines. The syntax tree and what a pattern matches always come from
`tokcli.engine.pretokenizers`: its `parser` and its `pretokenizer`.
"""
