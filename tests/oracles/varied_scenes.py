"""Random scenes of several kinds: solids on grounds and on each other, mechanisms, loops, rows of balls, and robots.

The kind is the seed modulo the number of kinds, so that consecutive seeds cover all kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import kane

Random: TypeAlias = np.random.Generator
Start: TypeAlias = "dict[str, float]"


def scene(seed: int, *, spatial: bool) -> tuple[kane.Model, Start]:
    """Return a random model and its initial coordinates."""
    kinds = IN_SPACE if spatial else IN_PLANE
    rng = np.random.default_rng([seed, spatial, 2])
    return kinds[seed % len(kinds)](rng)


def _laws(rng: Random) -> dict[str, Any]:
    """Return random restitution and friction of a contact."""
    mu, share = float(rng.uniform(0, 0.8)), float(rng.uniform(0.6, 1))
    friction = kane.Coulomb(static=mu, kinetic=mu * share) if rng.random() < 0.8 else None
    return {"restitution": float(rng.choice([0.0, rng.uniform(0, 0.8)])), "friction": friction}


def _body(m: kane.Model, name: str, rng: Random, com: tuple[float, float, float] = (0, 0, 0)) -> kane.Body:
    inertia = tuple(map(float, rng.uniform(0.01, 0.015, 3)))
    return m.body(name, mass=float(rng.uniform(0.3, 2)), inertia=inertia, com=com)


def _cast(m: kane.Model, body: kane.Body, k: int, place: tuple[float, float, float], rng: Random) -> Start:
    """Connect a body by a free joint; return its initial coordinates. Some bodies are unrotated, to fall flat."""
    m.connect(m.ground, body, kane.Free(f"f{k}"))
    turned = rng.normal(size=4) if rng.random() < 0.7 else np.array([1.0, 0.0, 0.0, 0.0])
    names = [f"f{k}_{word}" for word in ("qw", "qx", "qy", "qz", "x", "y", "z")]
    return dict(zip(names, map(float, [*(turned / np.linalg.norm(turned)), *place]), strict=True))


def _solid(body: kane.Body, rng: Random, kinds: str) -> Any:
    """Return a sphere, capsule, box, polyhedron or ellipsoid of about 0.1 m; ``kinds`` are first letters."""
    a, b, c = map(float, rng.uniform(0.05, 0.15, 3))
    match str(rng.choice(list(kinds))):
        case "s":
            return kane.Sphere(body.point((0.0, 0.02, 0.01)), a)
        case "c":
            return kane.Capsule(body.point((-b, 0, 0)), body.point((b, 0.02, 0)), 0.5 * a)
        case "b":
            return kane.Box(2 * a, 2 * b, 2 * c, body.point())
        case "e":
            return kane.Ellipsoid(a, b, c, body.point())
        case _:
            points = rng.normal(size=(int(rng.integers(4, 9)), 3))
            return kane.Polyhedron(0.13 * points / np.linalg.norm(points, axis=1)[:, None], body.point())


def _ground(m: kane.Model, rng: Random, kinds: str) -> Any:
    """Return a plane, a table, waves or a dome of at most about 0.2 m height; z is up, ``kinds`` are first letters."""
    match str(rng.choice(list(kinds))):
        case "p":
            return kane.Plane(m.ground.point(), m.ground.direction((float(rng.choice([0.0, 0.1])), 0, 1)))
        case "t":
            return kane.Box(1.0, 0.8, 0.1, m.ground.point())
        case "w":
            x = np.linspace(-2.0, 2.0, 9)
            heights = 0.1 * np.sin(1.5 * x)[:, None] * np.cos(1.2 * x)
            return kane.HeightField(m.ground.point(), x, x, heights)
        case _:
            return kane.Sphere(m.ground.point((0, 0, -0.9)), 1.0)


def on_ground(rng: Random) -> tuple[kane.Model, Start]:
    """Return a solid that falls onto a ground."""
    m = kane.Model("on ground", gravity=(0, 0, -9.81))
    body = _body(m, "part", rng)
    kind, grounds = str(rng.choice(["s", "c", "b", "p", "e"])), {"e": "pd", "p": "ptw", "b": "ptwd"}
    ground = _ground(m, rng, grounds.get(kind, "ptwd"))
    m.contact(_solid(body, rng, kind), ground, name="ground", **_laws(rng))
    return m, _cast(m, body, 0, (0.05, 0.02, float(rng.uniform(0.5, 0.9))), rng)


def on_each_other(rng: Random) -> tuple[kane.Model, Start]:
    """Return two or three solids; each falls onto the next lower one, and the lowest onto a plane."""
    m = kane.Model("on each other", gravity=(0, 0, -9.81))
    floor, below, q = kane.Plane(m.ground.point(), m.ground.z), None, {}
    for k in range(int(rng.integers(2, 4))):
        body = _body(m, f"b{k}", rng)
        solid = _solid(body, rng, "scb" if below is None else "sc")
        m.contact(solid, floor, name=f"floor {k}", **_laws(rng))
        if below is not None:
            m.contact(solid, below, name=f"{k} on {k - 1}", **_laws(rng))
        q |= _cast(m, body, k, (0.02 * k, 0.01 * k, 0.3 + 0.5 * k), rng)
        below = solid
    return m, q


def blocks(rng: Random) -> tuple[kane.Model, Start]:
    """Return a box or a polyhedron above a box that is free too."""
    m = kane.Model("blocks", gravity=(0, 0, -9.81))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    lower, upper = _body(m, "lower", rng), _body(m, "upper", rng)
    table = kane.Box(0.5, 0.4, 0.1, lower.point())
    m.contact(table, floor, name="floor", **_laws(rng))
    m.contact(_solid(upper, rng, "bp"), table, name="on", **_laws(rng))
    q = _cast(m, lower, 0, (0.0, 0.0, 0.4), rng)
    return m, q | _cast(m, upper, 1, (0.03, 0.01, float(rng.uniform(0.9, 1.2))), rng)


def robot(seed: int, *, spatial: bool) -> tuple[kane.Model, Start]:
    """Return ANYmal (primitives) or a UR5 (mesh hulls) that falls on a floor, with or without dampers."""
    rng = np.random.default_rng([seed, spatial, 3])
    name, options = (
        ("anymal_c_simple_description/urdf/anymal", {"stops": True}),
        ("ur5", {"hulls": int(rng.integers(6, 10)), "lock": ("wrist_1_joint", "wrist_2_joint", "wrist_3_joint")}),
    )[seed % 2]
    m = kane.load_urdf(kane.example_robot(name), base=kane.Free("f0"), floor=0.0, **_laws(rng), **options)
    if seed % 4 < 2:
        for joint in m.connections[1:]:
            m.load(kane.Damper(joint, 5.0))
    turned = np.array([1.0, 0, 0, 0]) + 0.3 * rng.normal(size=4)
    names = [f"f0_{word}" for word in ("qw", "qx", "qy", "qz", "x", "y", "z")]
    return m, dict(zip(names, map(float, [*(turned / np.linalg.norm(turned)), 0, 0, 1.2]), strict=True))


def mechanism(rng: Random) -> tuple[kane.Model, Start]:
    """Return a pendulum of two to five links with stops, dry friction, switches, a floor and a wall."""
    m = kane.Model("mechanism", gravity=(0, -9.81, 0))
    last, q = m.ground, {}
    floor = kane.Plane(m.ground.point((0, -0.8, 0)), m.ground.y)
    wall = kane.Plane(m.ground.point((0.5, 0, 0)), m.ground.direction((-1, 0, 0)))
    for k in range(int(rng.integers(2, 6))):
        body = _body(m, f"b{k}", rng, (0.15, 0, 0))
        hinge = m.connect(last, body, kane.Revolute(f"q{k}", axis="z"), at=(0.3 * (k > 0), 0, 0))
        q[f"q{k}"] = float(rng.normal() * 0.4)
        if rng.random() < 0.4:
            ends = q[f"q{k}"] + np.array([-0.6, 0.6])
            m.stop(hinge, lower=float(ends[0]), upper=float(ends[1]), restitution=float(rng.uniform(0, 0.8)))
        if rng.random() < 0.4:
            m.stick(hinge, static=0.2, kinetic=float(rng.uniform(0.1, 0.2)))
        if rng.random() < 0.4:
            on = float(rng.uniform(0, 1))
            m.switch(hinge.qdot, on=m.time - on, off=m.time - on - 0.3, name=f"brake {k}")
        for word, surface in (("floor", floor), ("wall", wall)):
            m.contact(body.point((0.3, 0, 0)), surface, name=f"{word} {k}", **_laws(rng))
        last = body
    return m, q


def loop(rng: Random) -> tuple[kane.Model, Start]:
    """Return a four-bar linkage with a foot that strikes the floor, and with stops and dry friction."""
    m = kane.Model("loop", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (_body(m, name, rng, (0.2, 0, 0)) for name in ("crank", "coupler", "rocker"))
    shaft = m.connect(m.ground, crank, kane.Revolute("q0", axis="z"))
    m.connect(crank, coupler, kane.Revolute("q1", axis="z"), at=(0.3, 0, 0))
    swing = m.connect(m.ground, rocker, kane.Revolute("q2", axis="z"), at=(1.0, 0, 0))
    ends = coupler.point((0.9, 0, 0)), rocker.point((0.7, 0, 0))
    m.constrain(kane.Coincidence(*ends, along=[m.ground.x, m.ground.y]), name="loop")
    if rng.random() < 0.5:
        m.stick(shaft, static=0.5, kinetic=float(rng.uniform(0.3, 0.5)))
    if rng.random() < 0.5:
        m.stop(swing, lower=0.2, upper=2.4, restitution=float(rng.uniform(0, 0.8)))
    floor = kane.Plane(m.ground.point((0, float(rng.uniform(-0.5, -0.1)), 0)), m.ground.y)
    m.contact(coupler.point((0.45, -0.2, 0)), floor, name="foot", **_laws(rng))
    m.contact(crank.point((0.3, 0, 0)), floor, name="crank", **_laws(rng))
    return m, {"q0": float(rng.uniform(0.8, 1.5)), "q1": -0.6, "q2": 1.7}


def row(rng: Random) -> tuple[kane.Model, Start]:
    """Return a row of balls that touch or nearly touch on a level floor; a ramp drives the first one at the others."""
    m = kane.Model("row", gravity=(0, -9.81, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    ramp = kane.Plane(m.ground.point((-0.1, 0, 0)), m.ground.direction((1, 0.2, 0)))
    below, x, q = None, 0.0, {}
    for k in range(int(rng.integers(3, 6))):
        body = _body(m, f"b{k}", rng)
        m.connect(m.ground, body, kane.Planar((f"x{k}", f"y{k}", f"th{k}")))
        ball = kane.Sphere(body.point(), 0.1)
        m.contact(ball, floor, name=f"floor {k}", **_laws(rng))
        m.contact(ball, ramp if below is None else below, name=f"{k} on {k - 1}", **_laws(rng))
        q |= {f"x{k}": x, f"y{k}": float(rng.choice([0.1, 0.5])), f"th{k}": 0.0}
        below, x = ball, x + float(rng.choice([0.2, 0.25]))
    return m, q | {"x0": -0.02 + q["y0"] * 0.1}


def flat(rng: Random) -> tuple[kane.Model, Start]:
    """Return a crate with a hinged lid that falls flat or askew onto a floor."""
    m = kane.Model("flat", gravity=(0, -9.81, 0))
    crate, lid = _body(m, "crate", rng), _body(m, "lid", rng, (0.1, 0, 0))
    m.connect(m.ground, crate, kane.Planar(("x", "y", "th")))
    hinge = m.connect(crate, lid, kane.Revolute("q0", axis="z"), at=(-0.1, 0.1, 0))
    m.stop(hinge, lower=0, upper=1.2, restitution=float(rng.uniform(0, 0.8)))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(kane.Box(0.2, 0.2, 0.2, crate.point()), floor, name="crate", **_laws(rng))
    m.contact(lid.point((0.2, 0, 0)), floor, name="lid", **_laws(rng))
    return m, {"y": float(rng.uniform(0.3, 0.8)), "th": float(rng.choice([0.0, rng.normal()])), "q0": 0.3}


Kinds: TypeAlias = "tuple[Callable[[Random], tuple[kane.Model, Start]], ...]"
IN_SPACE: Kinds = (on_ground, on_each_other, blocks, on_ground)
IN_PLANE: Kinds = (mechanism, loop, row, flat)
