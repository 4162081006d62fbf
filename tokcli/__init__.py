"""A command-line tokenizer."""
