"""A corpus becomes pre-token counts, counts become merges, merges become ranks."""
