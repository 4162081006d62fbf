"""Vocabularies in the formats of other programs: `losses.py` lists what a format cannot hold, `writers.py` writes.

An exported file gives, in the program that reads it, the ids that `encode` gives here; a vocabulary is refused where
that is impossible. Replacing files on the disk is left to the command line.
"""
