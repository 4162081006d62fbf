"""Models by name: a table of which tokenizer each has, how names are spelled, and what is refused.

OpenAI's names as tiktoken has them are in registry/model_names.py; registry/encodings.py makes an `Encoding` of what
is found here.
"""
