"""Read a model for derivation: as a system in its generalized speeds."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from dataclasses import replace

from kane.expression.node import Expr
from kane.formulation.constraints.rows import constraint_equations
from kane.formulation.tree.frames import computational_frames
from kane.formulation.tree.links import LinkTree, link_tree
from kane.formulation.tree.mass_parameters import mass_parameters
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.speeds import Speeds, natural_speeds, speeds_of
from kane.formulation.tree.system import System
from kane.model.body import Mechanism
from kane.model.connection import Connection
from kane.model.model import Model


def system_of(model: Model) -> System:
    """Read a model as a system in its generalized speeds.

    Raises:
        ModelError: the model is not a tree rooted in the ground, a joint moves nothing, or the user-defined speeds do
            not span the motion.
    """
    system = natural_system(model)
    definitions = model.speed_choice.definitions
    if not definitions:
        return system
    from kane.formulation.speeds.chosen import chosen_speeds
    from kane.formulation.speeds.declared_velocities import (
        declared_angular_velocities,
        declared_measures,
        declared_point_velocities,
    )

    probe = probe_of(model)
    chosen = chosen_speeds(definitions, system, constraint_equations(model.constraints, system, probe), probe)
    speeds = speeds_of(model, list(system.speeds.first), chosen.own, chosen.u, chosen.names)
    # If each joint speed is a generalized speed, the recursion finds the declared velocities by itself.
    declared = [] if speeds.are_natural else declared_measures(definitions, _motions(model, chosen.completed))
    return replace(
        _system(model, link_tree(model), speeds),
        declared_turns=declared_angular_velocities(declared, system),
        declared_points=declared_point_velocities(declared, system),
        own=system,
        definitions=chosen.definitions if len(chosen.u) == len(system.speeds.u) else (),
        completed=chosen.completed,
        fails_where=chosen.fails_where,
    )


def _motions(model: Model, names: Collection[str]) -> Iterator[Expr | None]:
    """Yield the motion expressions of the constraint rows with these names."""
    for imposed in model.constraints:
        yield from (row.motion for row in imposed.rows if imposed.name_of(row) in names)


def natural_system(model: Model, apart: Collection[Connection] = ()) -> System:
    """Return the system in the joints' own speeds; welds in ``apart`` do not merge their bodies into one link."""
    tree = link_tree(model, apart)
    connections = [link.connection for link in tree.links if link.connection is not None]
    return _system(model, tree, natural_speeds(model, connections))


def snapshot(model: Model) -> Model:
    """Return a copy that later declarations do not change; it shares bodies, joints and expressions with the model."""
    taken = Model.__new__(Model)
    for name, value in vars(model).items():
        setattr(taken, name, copy.copy(value) if isinstance(value, (list, dict, set)) else value)
    return taken


def probe_of(model: Mechanism, *, seed: int = 0) -> Probe:
    """Return a probe of a model's expressions at a random state given by a seed, with default parameters."""
    quaternions = []
    for c in model.connections:
        if c.joint.quaternion_at is not None:
            quaternions.append(c.coordinate_names[c.joint.quaternion_at : c.joint.quaternion_at + 4])
    return Probe({**model.parameters, **model.inputs}, quaternions, seed=seed)


def _system(model: Model, tree: LinkTree, speeds: Speeds) -> System:
    steps = computational_frames(tree.links, speeds)
    masses = mass_parameters(tree.links, steps)
    return System(model.arena, tree.links, tree.places, speeds, steps, masses, model.gravity)
