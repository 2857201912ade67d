"""Importers of models from files and tables of other programs; ``kane/__init__.pyi`` lists the public functions."""
