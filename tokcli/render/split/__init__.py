"""The views of `split` for people: pieces as a table, explained, compared and counted, and what lint found.

Each module turns results of `tokcli.analysis` into lines; the colours of alternatives are the same in all of them.
"""
