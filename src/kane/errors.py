"""Errors that name the thing and the cure."""


class KaneError(Exception):
    """Every error that kane raises on purpose."""


class ModelError(KaneError, ValueError):
    """A model, or something asked of it, is not meaningful."""


class ExpressionError(ModelError):
    """An expression is malformed, mixes models or is not of the form asked for."""


class FrameError(ModelError):
    """Vectors, dyadics or points of different frames were combined without a rotation between them."""


class ImportFileError(ModelError):
    """A file could not be read as the model it claims to be."""


class FileError(KaneError, OSError):
    """A file cannot be written where it was asked for, or what it should hold cannot stand in a file."""


class CompileError(KaneError, RuntimeError):
    """Native code could not be produced."""


class SimulationError(KaneError, RuntimeError):
    """A simulation could not go on; the message carries time and state."""
