"""A ball is thrown with backspin onto a rough floor: it bounces, comes back, slips, and rolls.

Prints the events of the run and compares the final speed with a conservation law. Friction impulses P change m v by P
and I w by r P, so v - I w / (m r) is constant; rolling means v = -w r. Draws out/bouncing_ball.png.
"""

from pathlib import Path

from matplotlib.figure import Figure

import kane

OUT = Path("out")
G, R, E, MU = 9.81, 0.1, 0.6, 0.3  # m/s^2, m
THROWN = {"x_dot": 2.0, "spin_dot": 60.0}  # m/s, rad/s
HEIGHT, UNTIL = 0.5, 3.0  # m, s


def ball(restitution: float | kane.Newton = E, friction: float = MU) -> kane.Model:
    """Return the model of a ball in a vertical plane above a floor."""
    m = kane.Model("ball", gravity=(0, -G, 0))
    body = m.body("ball", mass=1.0, inertia=(0.4 * R * R,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "spin")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(
        kane.Sphere(body.point(), R), floor, restitution=restitution, friction=kane.Coulomb(friction), name="floor"
    )
    return m


def main() -> None:
    """Throw the ball."""
    dyn = kane.build(kane.formulate(ball()))
    run = kane.simulate(dyn, until=UNTIL, q={"y": R + HEIGHT}, u=THROWN)
    print(run)
    rolling = (5 * THROWN["x_dot"] - 2 * R * THROWN["spin_dot"]) / 7
    print(f"rolls at {run['x_dot'][-1]:.12f} m/s, by the conservation law {rolling:.12f} m/s")

    figure = Figure(figsize=(8, 5), layout="constrained")
    path, speeds = figure.subplots(2, 1)
    path.plot(run["x"], run["y"], "k")
    path.set_xlabel("x [m]")
    path.set_ylabel("y [m]")
    speeds.plot(run.time, run["x_dot"], "k", label="centre")
    speeds.plot(run.time, -R * run["spin_dot"], "tab:red", linestyle="--", label="-r w, rolling")
    speeds.set_xlabel("time [s]")
    speeds.set_ylabel("speed [m/s]")
    speeds.legend(frameon=False)
    figure.savefig(OUT / "bouncing_ball.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
