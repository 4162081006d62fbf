"""Segmentations of a text drawn at random, or the best of all: what subword regularization trains models on.

dropout.py leaves merges out, lattices.py draws and ranks Unigram's paths, families.py makes tokenizers that do so of
any other, and sampler.py is the way in. What a text's ids are without chance is left to the families themselves.
"""
