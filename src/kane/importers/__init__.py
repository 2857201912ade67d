"""Models from files and tables of other programs; ``kane/__init__.pyi`` lists what users call."""
