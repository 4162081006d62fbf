"""`tokcli train`: the plan that the options make (plan.py), the steps of a run (session.py), checkpoints and progress.

Counting pieces and learning merges is left to `training/`, and the formats of what is written to `formats/`.
"""
