"""Native tokenizers as Python sees them: all stages from text to ids in one call, of any family.

`text_model.py` wraps a native model; `rank_models.py` makes one of ranks. The modules of `bindings/` make those of the
families that have more than ranks.
"""
