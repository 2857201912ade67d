"""An operator turns a crank against its stop.

The operator is simulated, and holds a knob at the crank's end through a virtual coupler with two axes. The commanded
path continues beyond the stop. There the crank bounces and comes to rest, and the operator feels two springs in series:
the arm's and the coupler's.

Prints the bounces, and the force with its closed form; draws out/turned_crank.png and out/turned_crank.html, an
animation.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane
from kane.haptics import Arm, Coupler, Session, Simulated, coupler_limits

OUT = Path("out")
LENGTH, STOP, RESTITUTION = 0.1, 0.5, 0.3  # m, rad, -
ARM, FURTHER = 250.0, 0.02  # stiffness of the arm [N/m]; distance that its path continues beyond the stop [m]


def crank() -> kane.Dynamics:
    """Return compiled equations of a crank that turns about z, without gravity."""
    m = kane.Model("turned_crank", gravity=(0, 0, 0))
    body = m.body("crank", mass=0.3, inertia=(1e-4, 1e-3, 1e-3), com=(LENGTH / 2, 0, 0))
    joint = m.connect(m.ground, body, kane.Revolute("angle", axis="z"))
    m.stop(joint, lower=-STOP, upper=STOP, restitution=RESTITUTION, name="stop")
    body.shape(kane.Box(LENGTH, 0.012, 0.012), at=(LENGTH / 2, 0, 0))
    body.shape(kane.Sphere(body.point((LENGTH, 0, 0)), 0.01))
    return kane.build(kane.formulate(m))


def main() -> None:
    """Turn the crank up to its stop, and push against the stop."""
    dyn = crank()
    knob = dyn.equations.model.bodies[1].point((LENGTH, 0, 0))
    at_stop, along = np.array([np.cos(STOP) - 1, np.sin(STOP)]), np.array([-np.sin(STOP), np.cos(STOP)])
    wanted = LENGTH * at_stop + FURTHER * along  # relative to the initial position of the knob
    hand = Simulated(arm=Arm(mass=0.5, damping=8.0, stiffness=ARM, path=[(0.3, 0, 0, 0), (1.0, *wanted, 0)]))
    limits = coupler_limits(hand)
    coupler = Coupler(knob, stiffness=0.3 * limits.stable, damping=0.5 * limits.damping, axes="xy")
    with Session(dyn, hand, coupler) as session:
        session.arm()
        session.rehearse(2.5)
    run, log = session.trajectory, session.log
    print(session.report)
    first, second = [e for e in run.events if e.cause == "bounces"][:2]
    print(f"first bounces at {first.time:.4f} s and {second.time:.4f} s, off the stop with {first.u[0]:.4f} rad/s")
    felt = np.linalg.norm(log["force"][-40])  # shortly before the end, where the force is ramped down
    closed = FURTHER / (1 / ARM + 1 / coupler.stiffness)
    print(f"the hand feels {felt:.5f} N, two springs in series {closed:.5f} N")
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    angle, force = figure.subplots(1, 2)
    angle.plot(run.time, run["angle"], "k")
    angle.axhline(STOP, color="0.6", linewidth=0.8)
    angle.set(xlabel="time [s]", ylabel="angle [rad]")
    for k, name in enumerate("xy"):
        force.plot(log["time"], log["force"][:, k], label=name)
    force.set(xlabel="time [s]", ylabel="force on the hand [N]")
    force.legend(frameon=False)
    figure.savefig(OUT / "turned_crank.png")
    session.save_html(OUT / "turned_crank.html", traces=[knob])


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
