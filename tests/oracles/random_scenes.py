"""Random scenes of a few bodies with contacts, stops and dry friction in joints, and the outcomes of their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import kane
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.engine.memory.views import gap_terms_at
from oracles import varied_scenes

# End time of runs [s], and relative tolerance.
UNTIL, RTOL = 1.5, 1e-10
# Largest permitted growth of energy between two records [J], for scenes with kinetic energies up to USUAL [J]. The
# growth is proportional to RTOL, the permitted error of each step.
GROWTH, USUAL = 1e-8, 30.0
# Largest permitted penetration [m].
INSIDE = 1e-9


# A model and its initial coordinates.
Scene: TypeAlias = "tuple[kane.Model, dict[str, float]]"


class Size(NamedTuple):
    """Ranges of the numbers of bodies and contacts of a scene: minimum, and maximum plus 1."""

    bodies: tuple[int, int]
    contacts: tuple[int, int]


SMALL, LARGE = Size((1, 5), (1, 5)), Size((2, 9), (1, 13))


def scene(seed: int, *, spatial: bool, size: Size = SMALL) -> Scene:
    """Return a random model over a floor, and its initial coordinates."""
    rng = np.random.default_rng([seed, spatial, *([1] if size == LARGE else [])])
    m = kane.Model(f"scene {seed}", gravity=(0, -9.81, 0))
    floor, bodies, q = kane.Plane(m.ground.point(), m.ground.y), [], {}
    for k in range(int(rng.integers(*size.bodies))):
        body = m.body(f"b{k}", mass=float(rng.uniform(0.3, 2)), inertia=tuple(map(float, rng.uniform(0.01, 0.015, 3))))
        if k == 0 or rng.random() < 0.4:
            q |= _free(m, body, k, rng, spatial=spatial)
        else:
            axis = rng.normal(size=3) if spatial else np.array([0.0, 0.0, 1.0])
            joint = kane.Revolute(f"q{k}", axis=tuple(map(float, axis / np.linalg.norm(axis))))
            hinge = m.connect(bodies[-1], body, joint, at=(0.1, 0, 0), child_at=(-0.1, 0, 0))
            q[f"q{k}"] = float(rng.normal() * 0.5)
            kind = rng.random()
            if kind < 0.3:
                m.stick(hinge, static=0.1, kinetic=0.08)
            elif kind < 0.6:
                m.stop(hinge, lower=q[f"q{k}"] - 0.5, upper=q[f"q{k}"] + 0.5, restitution=float(rng.uniform(0, 0.8)))
        bodies.append(body)
    for i in range(int(rng.integers(*size.contacts))):
        body, p = bodies[int(rng.integers(len(bodies)))], rng.normal(size=3) * (1.0, 1.0, float(spatial))
        point = body.point(tuple(map(float, 0.15 * p / np.linalg.norm(p))))
        mu, share = float(rng.uniform(0, 0.8)), float(rng.uniform(0.6, 1))
        friction = kane.Coulomb(static=mu, kinetic=mu * share) if rng.random() < 0.8 else None
        feature = kane.Sphere(point, 0.05) if spatial and rng.random() < 0.3 else point
        m.contact(feature, floor, restitution=float(rng.uniform(0, 0.8)), friction=friction, name=f"c{i}")
    return m, q


def _free(m: kane.Model, body: Any, k: int, rng: np.random.Generator, *, spatial: bool) -> dict[str, float]:
    """Connect a body by a free joint; return its initial coordinates above the floor, apart from other bodies."""
    height = float(rng.uniform(0.8, 1.3))
    if not spatial:
        m.connect(m.ground, body, kane.Planar((f"x{k}", f"y{k}", f"th{k}")))
        return {f"x{k}": 3.0 * k, f"y{k}": height, f"th{k}": float(rng.normal())}
    m.connect(m.ground, body, kane.Free(f"f{k}"))
    turned = rng.normal(size=4)
    values = [*(turned / np.linalg.norm(turned)), 3.0 * k, height, 0.0]
    names = [f"f{k}_{word}" for word in ("qw", "qx", "qy", "qz", "x", "y", "z")]
    return dict(zip(names, map(float, values), strict=True))


class Family(NamedTuple):
    """Kind of scenes: a function of seed and ``spatial``, and the values of ``spatial`` that it supports."""

    scene: Callable[..., Scene]
    spatial: tuple[bool, ...] = (False, True)


FAMILIES: Mapping[str, Family] = {
    "small": Family(scene),
    "large": Family(partial(scene, size=LARGE)),
    "varied": Family(varied_scenes.scene),
    "robots": Family(varied_scenes.robot, (True,)),
}


@dataclass(frozen=True)
class Told:
    """Outcome of a scene.

    Attributes:
        error: message of an error of the run, or an empty text.
        growth: largest growth of energy between two records [J]; scaled down if the kinetic energy exceeds USUAL.
        inside: largest penetration [m].
        changes: number of transitions.
        contacts: number of contacts of the model; the parts of a contact count once.
    """

    error: str = ""
    growth: float = 0.0
    inside: float = 0.0
    changes: int = 0
    contacts: int = 0


def told(model: kane.Model, q: Mapping[str, float], rtol: float = RTOL) -> Told:
    """Run a scene and return its outcome."""
    dyn = kane.build(kane.formulate(model))
    contacts = len({c.name.split(":")[0] for c in model.intermittents if c.normal is not None})
    try:
        q = kane.assemble(dyn, q=q).q
        run = kane.simulate(dyn, until=UNTIL, q=q, integrator=kane.RK8(rtol=rtol))
    except kane.KaneError as error:
        return Told(error=str(error), contacts=contacts)
    kinetic, potential = np.array([dyn.energy(q, u) for q, u in zip(run.q, run.u, strict=True)]).T
    growth = float(np.diff(kinetic + potential).max()) / max(1.0, kinetic.max() / USUAL)
    inside = float(-min(gaps_of(dyn, run).min(initial=0.0), 0.0))
    return Told("", growth, inside, len(run.events), contacts)


def gaps_of(dyn: kane.Dynamics, run: kane.Trajectory) -> np.ndarray:
    """Return the gaps at the records, (records, intermittent constraints with a gap)."""
    functions = contact_functions(dyn)
    gaps = functions.parts.gaps
    states = np.column_stack([run.time, run.q, run.u])
    intermittents, found = (
        functions.equations.intermittents,
        gaps(states, np.zeros(gaps.n_rest), gaps.stage(dyn.parameters)),
    )
    return gap_terms_at(found, 0, len(intermittents)).gap[:, [c.constraint.gap is not None for c in intermittents]]
