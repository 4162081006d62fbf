"""The commands: read, one call into the engine, write."""
