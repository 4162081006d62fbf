"""SentencePiece's normalizer with its charsmaps, and its models: BPE, Unigram, words, characters; XLM-RoBERTa's.

The merging and the best path themselves are in `bpe/`, which other families use too. Reading .model files is left to
`formats/sentencepiece.py`, the native twins to `bindings/`.
"""
