"""One file per file format: untrusted bytes to and from checked tables."""
