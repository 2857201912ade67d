"""Drop-in replacements of other programs' interfaces."""
