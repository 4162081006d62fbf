"""`tokcli inspect-ranks`: the list of encodings, look-ups of tokens, and views of whole vocabularies.

inspect_ranks.py is the command; a view is loaded only when it is asked for. Facts about tokens come from
`analysis/vocabulary`, and `formats/export` knows what an export would lose.
"""
