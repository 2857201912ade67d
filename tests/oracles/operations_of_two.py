"""Expressions of two operands, one for each operation with operands except splines."""

import kane

OPERATIONS_OF_TWO = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a, b: -(a * b),
    "pow": lambda a, b: a**b,
    "sqrt": lambda a, b: kane.sqrt(a),
    "sin": lambda a, b: kane.sin(a),
    "cos": lambda a, b: kane.cos(a),
    "tan": lambda a, b: kane.tan(a),
    "asin": lambda a, b: kane.asin(a),
    "acos": lambda a, b: kane.acos(a),
    "atan2": kane.atan2,
    "exp": lambda a, b: kane.exp(b),
    "log": lambda a, b: kane.log(a),
    "tanh": lambda a, b: kane.tanh(b),
    "abs": lambda a, b: kane.absolute(b),
    "sign": lambda a, b: kane.sign(b),
    "min": kane.minimum,
    "max": kane.maximum,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "equal": kane.equal,
    "select": lambda a, b: kane.select(a < b, a, kane.select(b < a, b, 7.0)),
}
