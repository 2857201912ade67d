"""From one to thirty contacts with friction: what slides comes to rest where a closed form says, kane beside MuJoCo."""

import math
import time
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.mode import Mode
from benchmarks.report import Table

Array = npt.NDArray[np.float64]
G, SPEED, HEIGHT, UNTIL = 9.81, 1.0, 0.05, 0.6
BLOCKS, BOXES, FEET = (1, 2, 4, 8, 16, 30), (1, 4, 8), (3, 4, 8, 16, 30)
STEPS = (1e-3, 1e-4)
# What touches the floor and nothing else, with its own friction.
ALONE = "contype='0' conaffinity='1' priority='1'"


class Sliders(NamedTuple):
    """Blocks that slide on a floor until friction has stopped them.

    Attributes:
        title: of the row.
        model: kane's.
        start: q, u by name.
        mjcf: MuJoCo's, with a place for the step.
        places: coordinates along the slide, in the order of MuJoCo's.
        exact: where they come to rest, v^2 / (2 mu g) [m].
    """

    title: str
    model: kane.Model
    start: dict[str, Any]
    mjcf: str
    places: list[str]
    exact: Array


def blocks(count: int) -> Sliders:
    """So many blocks of one contact each, which slide and rise, with friction from 0.3 to 0.6."""
    m, bodies = kane.Model(f"{count} blocks", gravity=(0, 0, -G)), ""
    floor, friction = kane.Plane(m.ground.point(), m.ground.z), np.linspace(0.3, 0.6, count)
    for k, mu in enumerate(friction):
        rider, block = m.body(f"r{k}", mass=0.0), m.body(f"b{k}", mass=1.0)
        m.connect(m.ground, rider, kane.Prismatic(f"x{k}", axis="x"))
        m.connect(rider, block, kane.Prismatic(f"z{k}", axis="z"))
        m.contact(block.point((0, 0, -HEIGHT)), floor, friction=kane.Coulomb(float(mu)), name=f"c{k}")
        slides = "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
        foot = f"<geom type='sphere' size='{HEIGHT}' mass='1' friction='{mu}' {ALONE}/>"
        bodies += f"<body pos='0 {k} {HEIGHT}'>{slides}{foot}</body>"
    heights = {f"z{k}": HEIGHT for k in range(count)}
    start = {"q": heights, "u": {f"x{k}_dot": SPEED for k in range(count)}}
    names = [f"x{k}" for k in range(count)]
    return Sliders(f"{count} blocks", m, start, _mjcf(bodies), names, SPEED**2 / (2 * G * friction))


def boxes(count: int) -> Sliders:
    """So many boxes on four corners each, which slide, with friction from 0.3 to 0.6: one corner repeats the others."""
    m, bodies, start = kane.Model(f"{count} boxes", gravity=(0, 0, -G)), "", {"q": {}, "u": {}}
    floor, friction = kane.Plane(m.ground.point(), m.ground.z), np.linspace(0.3, 0.6, count)
    corners = [(x, y, -HEIGHT) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    for k, mu in enumerate(friction):
        box = m.body(f"b{k}", mass=2.0, inertia=(0.02, 0.02, 0.04))
        m.connect(m.ground, box, kane.Free(f"f{k}"))
        start["q"] |= {f"f{k}_qw": 1.0, f"f{k}_y": 1.0 * k, f"f{k}_z": HEIGHT}
        start["u"][f"f{k}_vx"] = SPEED
        geoms = "<inertial pos='0 0 0' mass='2' diaginertia='.02 .02 .04'/>"
        for i, (x, y, z) in enumerate(corners):
            m.contact(box.point((x, y, z)), floor, friction=kane.Coulomb(float(mu)), name=f"c{k}{i}")
            geoms += f"<geom type='sphere' size='0.01' pos='{x} {y} {0.01 + z}' friction='{mu}' {ALONE}/>"
        bodies += f"<body pos='0 {k} {HEIGHT}'><freejoint/>{geoms}</body>"
    exact = SPEED**2 / (2 * G * friction)
    return Sliders(f"{count} boxes on four corners", m, start, _mjcf(bodies), [f"f{k}_x" for k in range(count)], exact)


def plate(feet: int) -> Sliders:
    """A plate on so many feet, friction 0.4: three of the normal forces say all others."""
    m, mu = kane.Model(f"{feet} feet", gravity=(0, 0, -G)), 0.4
    body = m.body("plate", mass=2.0, inertia=(0.02, 0.02, 0.04))
    m.connect(m.ground, body, kane.Free("f"))
    floor, geoms = kane.Plane(m.ground.point(), m.ground.z), ""
    for k in range(feet):
        x, y = 0.2 * math.cos(2 * math.pi * k / feet), 0.2 * math.sin(2 * math.pi * k / feet)
        m.contact(body.point((x, y, -HEIGHT)), floor, friction=kane.Coulomb(mu), name=f"c{k}")
        geoms += f"<geom type='sphere' size='0.01' pos='{x} {y} {0.01 - HEIGHT}' friction='{mu}' priority='1'/>"
    inertial = "<inertial pos='0 0 0' mass='2' diaginertia='.02 .02 .04'/>"
    bodies = f"<body pos='0 0 {HEIGHT}'><freejoint/>{inertial}{geoms}</body>"
    start = {"q": {"f_qw": 1.0, "f_z": HEIGHT}, "u": {"f_vx": SPEED}}
    return Sliders(f"a plate on {feet} feet", m, start, _mjcf(bodies), ["f_x"], np.array([SPEED**2 / (2 * G * mu)]))


def part(ground: str) -> Sliders:
    """A polyhedron of six corners on a plane or on a box, friction 0.4; a mesh and a box for MuJoCo."""
    m, mu = kane.Model(f"part on a {ground}", gravity=(0, 0, -G)), 0.4
    body = m.body("part", mass=2.0, inertia=(0.02, 0.02, 0.04))
    m.connect(m.ground, body, kane.Free("f"))
    corners = [(x, y, -HEIGHT) for x in (-0.1, 0.1) for y in (-0.05, 0.05)]
    corners += [(x, 0.0, HEIGHT) for x in (-0.05, 0.05)]
    floor: kane.Plane | kane.Box = kane.Plane(m.ground.point(), m.ground.z)
    geom = PLANE
    if ground == "box":
        floor, geom = (
            kane.Box(20.0, 20.0, 1.0, m.ground.point((0, 0, -0.5))),
            "<geom type='box' size='10 10 .5' pos='0 0 -.5'/>",
        )
    m.contact(kane.Polyhedron(corners, body.point()), floor, friction=kane.Coulomb(mu), name="c")
    written = " ".join(f"{x}" for corner in corners for x in corner)
    inertial = "<inertial pos='0 0 0' mass='2' diaginertia='.02 .02 .04'/>"
    touches = f"<geom type='mesh' mesh='part' friction='{mu}' priority='1'/>"
    bodies = f"<body pos='0 0 {HEIGHT}'><freejoint/>{inertial}{touches}</body>"
    start = {"q": {"f_qw": 1.0, "f_z": HEIGHT}, "u": {"f_vx": SPEED}}
    mjcf = _mjcf(bodies, geom, f"<asset><mesh name='part' vertex='{written}'/></asset>")
    return Sliders(f"a polyhedron on a {ground}", m, start, mjcf, ["f_x"], np.array([SPEED**2 / (2 * G * mu)]))


PLANE = "<geom type='plane' size='99 99 1'/>"


def _mjcf(bodies: str, ground: str = PLANE, assets: str = "") -> str:
    return (
        "<mujoco><compiler balanceinertia='false'/><option timestep='STEP' gravity='0 0 -9.81' cone='elliptic'/>"
        f"{assets}<worldbody>{ground}{bodies}</worldbody></mujoco>"
    )


def table(mode: Mode) -> Table:
    """Costs of a run and of a step, with the error of each."""
    columns = ["scene", "kane: error, m", "steps", "ms a run", "kane, RK4, 1 ms: error, m", "us a step", "ms a run"]
    for step in STEPS:
        columns += [f"MuJoCo, {1e3 * step:g} ms: error, m", "us a step", "ms a run"]
    result = Table("Contacts: from one to thirty", columns)
    for sliders in [*map(blocks, BLOCKS), *map(boxes, BOXES), *map(plate, FEET), part("plane"), part("box")]:
        cells = [sliders.title, *_kane(sliders, mode.batches)]
        for step in STEPS:
            cells += _mujoco(sliders, step, mode.batches) if find_spec("mujoco") else ["-"] * 3
        result.rows.append(cells)
    result.note(
        f"What slides at {SPEED:g} m/s for {UNTIL:g} s and is stopped by friction; error: of where it lies in the end, "
        "beside v^2 / (2 mu g), the largest of all. CPU time, medians of a run, with what Python does once for each. "
        "kane with its default method, and with fixed steps; each change of the mode is located. MuJoCo with elliptic "
        "cones and its defaults otherwise: its contacts are soft and creep, so that no step makes its error kane's."
    )
    return result


def _kane(sliders: Sliders, batches: int) -> list[str]:
    """The default method, whose steps are few and long; fixed steps, as many as MuJoCo's."""
    dyn = kane.build(kane.formulate(sliders.model))
    fixed: dict[str, Any] = {"integrator": kane.RK4(), "dt": STEPS[0], "every": 10}
    error, taken, steps = _run(partial(kane.simulate, dyn, until=UNTIL, every=1, **sliders.start), sliders, batches)
    again, longer, _ = _run(partial(kane.simulate, dyn, until=UNTIL, **fixed, **sliders.start), sliders, batches)
    cells = _cells(error, taken, steps)
    return [cells[0], str(steps), cells[2], *_cells(again, longer, round(UNTIL / STEPS[0]))]


def _run(simulate: Any, sliders: Sliders, batches: int) -> tuple[Array, float, int]:
    """Errors, CPU time and how many records there are, but for the first."""
    run = simulate()
    places = np.array([run[name][-1] for name in sliders.places])
    return places - sliders.exact, _median(simulate, batches), len(run.time) - 1


def _mujoco(sliders: Sliders, step: float, batches: int) -> list[str]:
    import mujoco

    model = mujoco.MjModel.from_xml_string(sliders.mjcf.replace("STEP", f"{step:g}"))
    data, steps = mujoco.MjData(model), round(UNTIL / step)
    # The first of each body's speeds, and of its coordinates: two slides, or a free joint.
    free, bodies = model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE, len(sliders.places)
    along, places_of = (6 if free else 2) * np.arange(bodies), (7 if free else 2) * np.arange(bodies)

    def once() -> None:
        mujoco.mj_resetData(model, data)
        data.qvel[along] = SPEED
        mujoco.mj_step(model, data, nstep=steps)

    once()
    places = data.qpos[places_of] - model.qpos0[places_of]
    return _cells(places - sliders.exact, _median(once, batches), steps)


def _median(run: Any, batches: int) -> float:
    found = []
    for _ in range(batches):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return float(np.median(found))


def _cells(errors: Array, seconds: float, steps: int) -> list[str]:
    return [f"{np.abs(errors).max():.1g}", f"{1e6 * seconds / steps:.1f}", f"{1e3 * seconds:.2f}"]
