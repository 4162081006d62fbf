"""Vocabularies in the formats of other programs: `losses.py` lists what a format cannot hold, `writers.py` writes.

A file that is written gives, in the program that it is for, the ids that `encode` gives here; where that cannot be, the
vocabulary is refused. Replacing files on the disk is left to the command line.
"""
