"""minbpe's models: pairs of ids that merge into the next one, with a pattern or without. Begin with `model.py`."""
