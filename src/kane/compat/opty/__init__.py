"""Drop-in replacement of opty 1.5: direct collocation of SymPy equations, compiled by kane.

    from kane.compat.opty import Problem  # in place of: from opty import Problem

Functions have opty's arguments, free variables, rows and Jacobian entries, in opty's order. The derivatives are exact;
``create_objective_function`` adds an exact Hessian. Ipopt comes with the package casadi, an extra.
"""

from kane.compat.opty.constraint_collocator import ConstraintCollocator as ConstraintCollocator
from kane.compat.opty.free_vector import parse_free as parse_free
from kane.compat.opty.objective_function import create_objective_function as create_objective_function
from kane.compat.opty.opty_problem import OptyProblem as Problem

__all__ = ["ConstraintCollocator", "Problem", "create_objective_function", "parse_free"]
