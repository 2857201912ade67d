"""Units inferred from declarations, by unification over the expression graph."""
