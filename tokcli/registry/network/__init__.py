"""Gets files from the network, and keeps them: downloads by https, the cache folder, and Hugging Face's hub.

Bytes are checked by their SHA-256 wherever one is known, and time and size are limited. What the bytes mean is left to
tokcli.formats; where a vocabulary comes from is decided by tokcli.registry.
"""
