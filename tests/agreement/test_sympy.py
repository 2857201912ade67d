"""A small arm has the equations that SymPy's own Kane's method derives."""

from __future__ import annotations

import numpy as np
import sympy
from oracles.numbers import close, evaluated, mass_matrix, random_state
from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

import kane

# Some hundred products of numbers of order one on each side.
ROUNDING = 1e-12
MASSES = (1.5, 1.0, 0.7)
INERTIAS = ((0.1, 0.2, 0.15), (0.03, 0.05, 0.06), (0.01, 0.02, 0.025))


def in_kane():
    """Turns about y, turns about x, slides along y."""
    m = kane.Model("arm", gravity=(0.0, -9.81, 0.0))
    a, b, c = (
        m.body(n, mass=M, inertia=I, com=(0.1, 0.2, 0.05)) for n, M, I in zip("abc", MASSES, INERTIAS, strict=True)
    )
    j1 = m.connect(m.ground, a, kane.Revolute("q1", axis="y"))
    j2 = m.connect(a, b, kane.Revolute("q2", axis="x"), at=(0.3, 0.4, 0.0))
    j3 = m.connect(b, c, kane.Prismatic("q3", axis="y"), at=(0.0, 0.1, 0.2))
    for k, j in enumerate((j1, j2, j3)):
        m.load(kane.Motor(j, m.input(f"tau{k + 1}")))
    m.load(kane.Damper(j2, 0.3))
    m.load(kane.Spring(j3, 20.0, rest=0.1))
    return m


def in_sympy():
    """Mass matrix and forcing of the same arm as a function of q, u and the inputs."""
    q, u = dynamicsymbols("q1:4"), dynamicsymbols("u1:4")
    t = dynamicsymbols._t
    tau = sympy.symbols("tau1:4")
    N = ReferenceFrame("N")
    A = N.orientnew("A", "Axis", (q[0], N.y))
    B = A.orientnew("B", "Axis", (q[1], A.x))
    A.set_ang_vel(N, u[0] * N.y)
    B.set_ang_vel(A, u[1] * A.x)
    O = Point("O")
    O.set_vel(N, 0)
    P = O.locatenew("P", 0.3 * A.x + 0.4 * A.y)
    P.v2pt_theory(O, N, A)
    C = P.locatenew("C", 0.1 * B.y + 0.2 * B.z + q[2] * B.y)
    C.set_vel(B, u[2] * B.y)
    C.v1pt_theory(P, N, B)
    bodies, loads = [], []
    for frame, origin, mass, moments in zip((A, B, B), (O, P, C), MASSES, INERTIAS, strict=True):
        com = origin.locatenew(f"G{len(bodies)}", 0.1 * frame.x + 0.2 * frame.y + 0.05 * frame.z)
        com.v2pt_theory(origin, N, frame)
        bodies.append(RigidBody(f"B{len(bodies)}", com, frame, mass, (inertia(frame, *moments), com)))
        loads.append((com, -9.81 * mass * N.y))
    hinge = tau[1] - 0.3 * u[1]
    slide = tau[2] - 20.0 * (q[2] - 0.1)
    loads += [(A, tau[0] * N.y - hinge * A.x), (B, hinge * A.x)]
    back = P.locatenew("back", 0.1 * B.y + 0.2 * B.z + q[2] * B.y)  # of the second body, where the third is now
    back.v2pt_theory(P, N, B)
    loads += [(C, slide * B.y), (back, -slide * B.y)]
    method = KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=[x.diff(t) - y for x, y in zip(q, u, strict=True)])
    method.kanes_equations(bodies, loads)
    return sympy.lambdify([*q, *u, *tau], (method.mass_matrix, method.forcing))


def test_a_small_arm_has_the_equations_of_sympys_kane_method():
    e, theirs = kane.formulate(in_kane()), in_sympy()
    for seed in range(3):
        s = random_state(e, np.random.default_rng(seed))
        M, f = theirs(*s.q, *s.u, *s.inputs)
        close(mass_matrix(e, s), M, ROUNDING)
        close(evaluated(e, "forward", s), np.linalg.solve(M, f)[:, 0], ROUNDING * np.linalg.cond(M))
