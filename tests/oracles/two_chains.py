"""Two chains of bodies with general relative motion, and their states by poses and Jacobians alone."""

from functools import cache
from types import SimpleNamespace

import numpy as np

import kane
from kane.expression.interpret import interpret

SKEW = kane.Rotation.euler("zxz", 0.3, -0.8, 1.1)
PARAMETERS = {"r": 0.35, "L": 1.3, "slope": 0.4}
P, Q = (0.1, -0.2, 0.3), (-0.4, 0.2, 0.1)


def machine():
    """Return two chains of bodies with general motion relative to each other and to the ground."""
    m = kane.Model("machine")
    p = SimpleNamespace(**{name: m.parameter(name, x) for name, x in PARAMETERS.items()})
    A, B, C, D = (m.body(n, mass=1.0, inertia=(0.2, 0.3, 0.25)) for n in "ABCD")
    free = m.connect(m.ground, A, kane.Free("free"))
    turn = m.connect(A, B, kane.Revolute("turn", axis="y"), at=(0.2, -0.1, 0.3), orientation=SKEW)
    ball = m.connect(m.ground, C, kane.Spherical("ball"), at=(0.4, 0.5, -0.2))
    slide = m.connect(C, D, kane.Prismatic("slide", axis="y"), at=(0.1, 0.3, 0.2), child_orientation=SKEW)
    return SimpleNamespace(
        m=m, N=m.ground, A=A, B=B, C=C, D=D, free=free, turn=turn, ball=ball, slide=slide, t=m.time, p=p
    )


@cache
def bare():
    """Return the compiled equations without constraints."""
    return kane.build(kane.formulate(machine().m))


class State:
    """Random state, with poses and Jacobians of the machine without constraints."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.bare = bare()
        self.t, n = 0.7, self.bare.equations
        self.q, self.u = random.normal(size=len(n.q)), random.normal(size=len(n.u))
        for k in n.quaternions:
            self.q[k : k + 4] /= np.linalg.norm(self.q[k : k + 4])
        self.poses = self.bare.poses(self.q)

    def R(self, body):
        return np.eye(3) if body.index == 0 else self.poses[body.name].orientation

    def place(self, point):
        """Return p_NoP in N."""
        body, at = point.body, np.array(point.position_in_body, float)
        return at if body.index == 0 else self.poses[body.name].position + self.R(body) @ at

    def w(self, body):
        return np.zeros(3) if body.index == 0 else self.bare.jacobian(body.name, self.q).angular @ self.u

    def velocity(self, body, place):
        """Return the velocity of the body-fixed point at ``place`` in N."""
        if body.index == 0:
            return np.zeros(3)
        origin = self.bare.jacobian(body.name, self.q).linear @ self.u
        return origin + np.cross(self.w(body), place - self.poses[body.name].position)

    def values(self, equations, expressions, **changed):
        leaves = dict(zip(equations.q, self.q, strict=True)) | dict(zip(equations.u, self.u, strict=True))
        leaves |= {x: changed.get(x.name, PARAMETERS[x.name]) for x in equations.parameters} | {equations.t: self.t}
        return np.array(interpret(list(expressions), leaves))
