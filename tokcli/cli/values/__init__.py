"""The values of options that click has no type for: numbers of a range, and numbers of tokens such as 8k."""
