"""Analysis of a model and its motions: assembly, linearization, margins, identification and certificates."""
