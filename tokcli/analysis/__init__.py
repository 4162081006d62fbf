"""Analyses that explain what encodings do, and never encode: of patterns, pieces, merges and vocabularies.

Results are plain data. Showing them is left to `tokcli.render`, and matching, splitting and merging to `tokcli.engine`,
which is asked wherever an explanation depends on what really happens.
"""
