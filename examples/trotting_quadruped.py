"""ANYmal stands on its four feet, and trots: diagonal pairs of legs follow joint angles that depend only on time.

Each foot of its URDF is a sphere on a rough floor. A digital controller computes torques towards the angles every
2.5 ms. It does not measure contacts and does not balance. Prints the distance; draws out/trotting_quadruped.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
LEGS = ("LF", "RF", "LH", "RH")  # left and right, fore and hind: hip abduction, hip flexion, knee
PAIRS = np.array([0.0, 0.5, 0.5, 0.0])  # phase at which a leg begins to swing, as a fraction of a stride
FORE = np.array([1.0, 1.0, -1.0, -1.0])  # hind knees point forwards
STANDS = np.array([[-0.1, 0.7, -1.0], [0.1, 0.7, -1.0], [-0.1, -0.7, 1.0], [0.1, -0.7, 1.0]])  # rad
RADIUS, UP = 0.03, 0.0225  # radius of a foot, height of its centre above its frame, both from the URDF [m]
STRIDE, SWING, LIFT = 0.5, 0.15, 0.25  # duration [s]; amplitudes of hip flexion, horizontal and upwards [rad]
STIFFNESS, DAMPING, PERIOD, FRICTION = 600.0, 10.0, 0.0025, kane.Coulomb(0.8, 0.5)  # N m/rad, N m s/rad, s


def robot() -> kane.Dynamics:
    """Return compiled equations of ANYmal C above a level floor."""
    path = kane.example_robot("anymal_c_simple_description/urdf/anymal")
    m = kane.load_urdf(path, base=kane.Free("base"), stops=False)
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for leg in LEGS:
        frame = m.frames[f"{leg}_FOOT"]
        centre = frame.body.point(tuple(np.add(frame.position, (0, 0, UP))))
        m.contact(kane.Sphere(centre, RADIUS), floor, friction=FRICTION, name=leg)
    return kane.build(kane.formulate(m))


def angles(t: float, trots: float) -> np.ndarray:
    """Return all joint angles; a leg swings forwards in the first half of its stride, and back in the second half."""
    turn = 2 * np.pi * ((t / STRIDE + PAIRS) % 1.0)
    lift = np.where(turn < np.pi, LIFT * np.sin(turn) ** 2, 0.0)
    bent = np.column_stack([0.0 * turn, FORE * lift + SWING * np.cos(turn), -2 * FORE * lift])
    return np.asarray((STANDS + trots * min(t / STRIDE, 1.0) * bent).ravel())


def torques(trots: float) -> kane.Sampled:
    """Return the sampled controller of the motors: springs and dampers towards the angles."""

    def law(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        rates = (angles(t + 1e-4, trots) - angles(t, trots)) / 1e-4
        return np.asarray(STIFFNESS * (angles(t, trots) - q[7:]) + DAMPING * (rates - u[6:]))

    return kane.Sampled(law, period=PERIOD)


def walk(dyn: kane.Dynamics, until: float, trots: float = 1.0) -> kane.Trajectory:
    """Simulate from standing; ``trots`` scales the motion of the legs."""
    q = dict(zip([x.name for x in dyn.equations.q[7:]], STANDS.ravel(), strict=True))
    start = kane.assemble(dyn, q=q | {"base_z": 0.5}, fixed=list(q))  # the guess is inside the floor
    return kane.simulate(dyn, until=until, q=start.q, inputs=torques(trots), integrator=kane.RK8(rtol=1e-9))


def main() -> None:
    """Stand, and trot."""
    dyn = robot()
    stands, run = walk(dyn, 1.0, trots=0.0), walk(dyn, 4.0)
    print(stands.modes[-1], *(f"{stands.reactions[leg][-1][0]:.2f} N" for leg in LEGS))
    print(f"trots {run['base_x'][-1]:.3f} m in {run.time[-1]:g} s, {len(run.events)} events")
    way, *forces = (figure := Figure(figsize=(8, 6), layout="constrained")).subplots(5, 1, sharex=True)
    way.plot(run.time, run["base_x"], "k")
    way.set_ylabel("way [m]")
    for ax, leg in zip(forces, LEGS, strict=True):
        ax.plot(run.time, run.reactions[leg][:, 0], "k", linewidth=0.8)
        ax.set_ylabel(f"{leg} [N]")
    ax.set_xlabel("time [s]")
    figure.savefig(OUT / "trotting_quadruped.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
