"""Text and bytes in, ids out: no files, no screen, no network, no environment."""
