"""Laws of unilateral constraints: reactions, impulses and internal forces of a problem of rows."""
