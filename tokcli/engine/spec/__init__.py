"""What a tokenizer is, as frozen data without behaviour: all that running one needs beside its native tables.

The families in `engine/` say it of their tokenizers, the registry keeps it in the cache (json_form.py), and its
compiled tokenizer does what it says.
"""
