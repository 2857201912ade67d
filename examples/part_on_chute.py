"""A part from an STL file slides down a chute, over its end and onto a table.

The part is a convex block with a ridge and ten corners; this example writes its STL file in millimetres. Contacts use
the exact polyhedron: a face on the bottom of the chute, edges at the end of the chute, and corners on the table. Prints
the acceleration down the chute, g (sin a - mu cos a) for comparison, and the position at rest; draws
out/part_on_chute.png.
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
    """Write the hull of the corners to an STL file and return its path."""
    trimesh.convex.convex_hull(np.array(CORNERS, float)).export(path)
    return path


def on_chute(x: float, height: float) -> tuple[float, ...]:
    """Return the position at a distance x down the chute from its lower end, and a height above its bottom [m]."""
    return tuple(map(float, DOWN.apply((x, 0.0, height))))


def machine(path: Path) -> kane.Dynamics:
    """Return compiled equations of the part, the bottom of the chute, which ends at the origin, and a table below."""
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
    """Simulate the part from rest on the bottom of the chute."""
    x, y, z = on_chute(-START, 0.0)
    q = {"part_qw": np.cos(SLOPE / 2), "part_qy": np.sin(SLOPE / 2), "part_x": x, "part_y": y, "part_z": z}
    return kane.simulate(dyn, until=UNTIL, q=q)


def main() -> None:
    """Release the part."""
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
