"""Long texts for tokenizers that see a text whole: where one may be cut without changing its ids, and the parts of it.

Short texts are encoded at once (executor.py); native code cuts these for its threads by rules of its own.
"""
