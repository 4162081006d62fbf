"""The views of `split` for people: the pieces of a text as a table, and what explains, compares, counts and lints them.

Each module turns results of `tokcli.analysis` into lines; the colours of alternatives are the same in all of them.
"""
