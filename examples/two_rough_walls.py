"""Poisson's law can create energy in a simultaneous impact of two rough contacts, one elastic and one inelastic.

Glocker 2013 shows this; the numbers are chosen here. A body of 1 kg flies into a groove of two rough walls at right
angles and strikes both walls with two of its points. In the compression the first point slips and the second sticks.
The second wall is elastic. Returning its full normal impulse would create more energy than the slip of the first point
dissipates. So kane scales the expansion down until no energy is created. Prints the energies and the impulses.
"""

from math import sqrt

import numpy as np

import kane

GYRATION, FRICTION = 0.5, 1.0  # m, -
# For each contact: point of the body, which is also the point of the wall; normal; restitution.
CONTACTS = (((-1.0, -0.5), (-1.0, 1.0), 0.0), ((-1.0, -1.0), (1.0, 1.0), 1.0))
CAME = {"x_dot": 1.0, "y_dot": -2.0, "turn_dot": 1.0}


def groove() -> kane.Model:
    """Return the model: the body, and both walls at the contact points."""
    m = kane.Model("groove", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, inertia=(GYRATION**2,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "turn")))
    for name, (point, normal, e) in zip(("first", "second"), CONTACTS, strict=True):
        wall = kane.Plane(m.ground.point((*point, 0)), m.ground.direction((*(np.array(normal) / sqrt(2)), 0)))
        rough = kane.Coulomb(FRICTION)
        m.contact(body.point((*point, 0)), wall, restitution=e, friction=rough, name=name)
    return m


def by_poisson() -> tuple[float, float]:
    """Return the kinetic energy before the impact, and after it by Poisson's law, computed without kane [J].

    The rows are n1, t1, n2, t2. Compression: v_n1 = v_n2 = v_t2 = 0 and p_t1 = -mu p_n1, as the first point slips along
    t1. Expansion: p_n2 again, without friction, as the first point separates and the second no longer slips.
    """
    M, u = np.diag([1.0, 1.0, GYRATION**2]), np.array(list(CAME.values()))
    J = []
    for (x, y), (a, b), _ in CONTACTS:
        for n in (np.array([a, b]) / sqrt(2), np.array([b, -a]) / sqrt(2)):
            J.append([*n, x * n[1] - y * n[0]])
    G, v = J @ np.linalg.inv(M) @ np.transpose(J), J @ u
    A = np.array([G[0], [FRICTION, 1.0, 0.0, 0.0], G[2], G[3]])
    p = np.linalg.solve(A, [-v[0], 0.0, -v[2], -v[3]])
    p[2] += p[2]
    after = u + np.linalg.solve(M, np.transpose(J) @ p)
    return float(u @ M @ u / 2), float(after @ M @ after / 2)


def struck() -> kane.Trajectory:
    """Simulate the impact, and a short flight after it."""
    return kane.simulate(kane.build(kane.formulate(groove())), until=0.01, u=CAME)


def main() -> None:
    """Compare Poisson's law with the run."""
    before, made = by_poisson()
    print(f"energy before {before:.6f} J; by unscaled Poisson's law {made:.6f} J")
    run = struck()
    print(f"after the impact {run.energy[-1]:.6f} J;", *(f"{e.name} {e.cause}: {e.impulse} N s" for e in run.events))


if __name__ == "__main__":
    main()
