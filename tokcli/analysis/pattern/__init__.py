"""A pattern (pat_str) taken apart: its syntax tree, a trace of it, what is wrong with it, and who else can read it.

`parser` makes the tree of `nodes`; `trace` tries each alternative at a place of a text; `lint` looks for text left out,
dead alternatives and, with `ambiguity`, for backtracking; `flavours` compares engines. Which text a pattern matches is
always the engine's to say: `tokcli.engine.pretokenizers.pretokenizer`.
"""
