"""From a corpus to mergeable_ranks; each module is imported by who needs it, so this one stays empty."""
