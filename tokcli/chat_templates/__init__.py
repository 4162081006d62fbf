"""Chat templates: the Jinja2 programs beside a tokenizer that turn messages into the text that its model sees.

`template_files.py` finds templates and special tokens in files, `conversation.py` has what a template is given, and
`renderer.py` runs it in a process with limits, in the sandbox of `sandbox.py`. Which files belong to a tokenizer is
left to the registry.
"""
