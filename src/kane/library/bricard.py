"""Bricard's mechanism: a closed chain of six hinges that moves although the count of its equations forbids motion."""

from __future__ import annotations

from kane.geometry.scalars import Triple
from kane.library.rods import bar
from kane.model.joints import Revolute
from kane.model.model import Model

# The chain runs along edges of a cube: axis index and sign of each step, and the hinge axis at the start of each bar.
CUBE_EDGES = ((0, 1.0), (1, -1.0), (2, 1.0), (0, -1.0), (1, 1.0))
HINGE_AXES = ("y", "z", "x", "y", "z", "x")


def bricard() -> Model:
    """Return a model of five bars along edges of a cube, with six hinges, each normal to both of its bars.

    The angles of the hinges in order are q1, ..., q5 [rad]. The hinge q6 between the ground and the fifth bar closes
    the loop. All angles are zero when the bars connect (0, 0, 0), (l, 0, 0), (l, -l, 0), (l, -l, l), (0, -l, l),
    (0, 0, l). The loop has six closure equations, of which five are independent, so 6 - 5 = 1 degree of freedom
    remains. Parameters: length l [m], mass m [kg] and width w [m] of each bar, acceleration of free fall g along -y
    [m/s^2].

    Source: Bricard 1897; Gonzalez, Dopico, Lugris & Cuadrado 2006: benchmark A04, which starts at rest at zero angles.
    """
    model = Model("bricard")
    defaults = {"l": 1.0, "m": 1.0, "w": 0.1, "g": 9.81}
    l, m, w, g = (model.parameter(name, value) for name, value in defaults.items())
    model.gravity = (0.0, -g, 0.0)
    parent = model.ground
    at: Triple = (0.0, 0.0, 0.0)
    for i, (axis, sign) in enumerate(CUBE_EDGES):
        rod = bar(model, f"bar{i + 1}", m, sign * l, w, axis=axis)
        model.connect(parent, rod, Revolute(f"q{i + 1}", axis=HINGE_AXES[i]), at=at)
        parent, at = rod, tuple(sign * l if k == axis else 0.0 for k in range(3))
    model.close(model.ground, parent, Revolute("q6", axis=HINGE_AXES[5]), at=(0.0, 0.0, l), child_at=at)
    return model
