"""A part of an STL file slides down a chute, over its end and onto a table.

The part is convex, a block with a ridge of ten corners, written here as a drawing program would write it, in
millimetres. It touches as the polyhedron that it is: the bottom of the chute by a face, then, as it tips over the end,
by edges across that, and the table by corners. Prints its acceleration down the chute beside g (sin a - mu cos a), and
where it comes to rest; draws out/part_on_chute.png.
"""

from itertools import product
from pathlib import Path

import numpy as np
import trimesh
from matplotlib.figure import Figure

import kane

OUT = Path("out")
SLOPE, G, KINETIC, MASS = 0.6, 9.81, 0.3, 0.2  # rad, m/s^2, 1, kg
CORNERS = [*product((-40, 40), (-25, 25), (0, 12)), (20, 0, 30), (-20, 0, 30)]  # mm
START, UNTIL = 0.8, 1.6  # m up the chute, s
DOWN = kane.Rotation.rpy(0.0, SLOPE, 0.0)


def write_stl(path: Path) -> Path:
    """The hull of the corners as an STL file."""
    trimesh.convex.convex_hull(np.array(CORNERS, float)).export(path)
    return path


def on_chute(x: float, height: float) -> tuple[float, ...]:
    """A place so far down the chute from its lower end, so high above its bottom [m]."""
    return tuple(map(float, DOWN.apply((x, 0.0, height))))


def machine(path: Path) -> kane.Dynamics:
    """The part, the bottom of the chute, whose end is in the origin, and a table below that."""
    m = kane.Model("part on a chute", gravity=(0, 0, -G))
    part = m.body("part", mass=MASS, inertia=(6e-5, 1.2e-4, 1.5e-4), com=(0, 0, 0.01))
    m.connect(m.ground, part, kane.Free("part"))
    shape = part.shape(kane.Mesh(str(path), scale=0.001))
    chute = m.ground.shape(kane.Box(1.0, 0.2, 0.02), at=on_chute(-0.5, -0.01), orientation=DOWN)
    table = m.ground.shape(kane.Box(1.6, 1.0, 0.02), at=(0.6, 0.0, -0.21))
    for name, surface in (("chute", chute), ("table", table)):
        m.contact(shape, surface, friction=kane.Coulomb(0.35, KINETIC), restitution=0.2, name=name)
    return kane.build(kane.formulate(m))


def slide(dyn: kane.Dynamics) -> kane.Trajectory:
    """It is let go with its bottom on that of the chute."""
    x, y, z = on_chute(-START, 0.0)
    q = {"part_qw": np.cos(SLOPE / 2), "part_qy": np.sin(SLOPE / 2), "part_x": x, "part_y": y, "part_z": z}
    return kane.simulate(dyn, until=UNTIL, q=q)


def main() -> None:
    """Let it go."""
    run = slide(machine(write_stl(OUT / "part.stl")))
    print(run)
    way = np.hypot(run["part_x"] - run["part_x"][0], run["part_z"] - run["part_z"][0])
    early = run.time < 0.5
    found = 2 * np.polyfit(run.time[early] ** 2, way[early], 1)[0]
    print(f"down the chute at {found:.9f} m/s^2, closed form {G * (np.sin(SLOPE) - KINETIC * np.cos(SLOPE)):.9f}")
    print(f"at rest {run['part_x'][-1]:.4f} m beyond its end, {run['part_z'][-1] + 0.2:.1e} m above the table")
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    plot = figure.subplots()
    plot.plot(run["part_x"], run["part_z"], "k")
    plot.plot([on_chute(-1.0, 0)[0], 0.0], [on_chute(-1.0, 0)[2], 0.0], "0.6")
    plot.plot([-0.2, 1.4], [-0.2, -0.2], "0.6")
    plot.set_aspect("equal")
    plot.set_xlabel("x [m]")
    plot.set_ylabel("height of the bottom [m]")
    figure.savefig(OUT / "part_on_chute.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
