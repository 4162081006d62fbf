"""Chat templates: the Jinja2 programs beside a tokenizer that turn a list of messages into the text that its model sees.

`files.py` finds templates and special tokens in files, `conversation.py` has what a template is given, `renderer.py` runs
it in a process with limits, in the sandbox of `sandbox.py`. Which file belongs to a tokenizer is left to the registry.
"""
