"""What a tokenizer is, as frozen data without behaviour.

The readers of files return a `TokenizerSpec` (spec.py); the data of its stages are in a module each, and `rules_of`
(engine/roles/rules.py) makes the rules that follow it. An `ImageSpec` (image.py) is what the registry keeps of a
tokenizer in the cache, beside native tables, as JSON (json_form.py).
"""
