"""Model files in TOML: the declarations of a model for readers, with formulas as texts."""
