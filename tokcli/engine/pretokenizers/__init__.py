"""Pre-tokenizers: a pat_str cuts text into pieces, by the character classes of Unicode 16.0.

Here are the patterns in use, word for word, how a pattern is read, rewritten for the `regex` package and compiled
within limits of time and size, and where the text of a pattern may be cut into chunks. Explaining patterns is left to
`analysis/pattern/`; the splitters of tokenizer.json are in `engine/pipeline/`.
"""
