"""``kane.model_from_sympy``: a Model from the kinematics of SymPy's ``System`` or ``KanesMethod``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.errors import ModelError, list_names
from kane.expression.collector import collector_paused
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import COORDINATE, PARAMETER, RATE, SPEED
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.constraints.elimination import LinearRow, eliminate
from kane.formulation.read_model import natural_system, probe_of
from kane.formulation.recursive.measures import images
from kane.formulation.tree.probe import Probe
from kane.importers.sympy.from_sympy import declared_symbols
from kane.importers.sympy.sympy_places import LinkPlace, Places
from kane.importers.sympy.sympy_system import CURE, SymPySystem, mass_centre, read_system
from kane.model.body import Body, Direction
from kane.model.joints import Weld
from kane.model.loads import Force, Torque
from kane.model.model import Model
from kane.model.symbols.symbol_names import SymbolNames
from kane.model.symbols.sympy_reader import SymPyReader
from kane.progress import stage

# Largest difference of velocities of SymPy and kane at random states, relative to the speeds.
VELOCITY_TOLERANCE = 1e-8


def model_from_sympy(
    system: Any,
    *,
    parameters: Mapping[Any, float] | None = None,
    inputs: Any = (),
    bodies: Sequence[Any] | None = None,
    loads: Sequence[Any] | None = None,
    name: str = "model",
) -> Model:
    """Return the model that a ``System`` or ``KanesMethod`` of sympy.physics.mechanics describes.

        m = kane.model_from_sympy(KM, parameters={l: 0.5, g: 9.81, mass: 1.0}, inputs=[T])
        eqs = kane.formulate(m)

    Only the declarations are read: positions of points, orientations of frames, mass, inertia, loads, kinematical
    differential equations and constraints. SymPy's equations need not be formed. Coordinates and speeds keep their
    names and their order, so that udot is SymPy's; only the angles of a general orientation are moved together.
    Massless links carry the steps from frame to frame and from point to point. The first use of a coordinate becomes a
    joint, and later uses follow it. Weights m g of all mass centres become the model's gravity. Auxiliary speeds are
    zero; ``kane.reveal_reactions`` returns the forces that they show.

    Args:
        system: ``System``, or ``KanesMethod`` before or after its equations are formed.
        parameters: default value of each constant symbol, by symbol or name.
        inputs: symbols or functions of time, or a dict from them to default values.
        bodies, loads: as for ``KanesMethod.kanes_equations``, if they were not given to the KanesMethod.
        name: name of the model.

    Raises:
        ModelError: a part is not supported: points without positions, velocities that are not the derivatives of the
            positions, speeds without kinematical equations, quaternions, general orientations whose
            coordinates occur elsewhere. The message names the part and the change to make.
    """
    given = read_system(system, bodies, loads)
    model = Model(name, gravity=(0.0, 0.0, 0.0))
    with stage("reading a SymPy model"), collector_paused():
        names = SymbolNames(model.arena, "add it to parameters= or inputs=")
        declared_symbols(names, model, parameters, inputs)
        q, u = names.add_leaves(COORDINATE, given.q), names.add_leaves(SPEED, given.u)
        for x in given.auxiliary:
            names.add(x, model.arena.zero)
        names.rates = {leaf.name: model.arena.leaf(RATE, leaf.name) for leaf in q}
        read = SymPyReader(model.arena, names)
        needed = [x.frame for x in (*given.bodies, *(x for x, _ in given.loads)) if hasattr(x, "frame")]
        needed += [x for x, _ in given.loads if hasattr(x, "_dcm_dict")]
        places = Places(model, read, (given.frame, given.origin), q, needed)
        placed = [(body, _add_body(model, read, places, body)) for body in given.bodies if not _is_fixed(places, body)]
        if places.unclaimed:
            idle = list_names([leaf.name for leaf in places.unclaimed])
            raise ModelError(f"no body's position or orientation depends on the coordinate {idle}; {CURE}")
        model.coordinate_order = tuple(leaf.name for leaf in q)
        speeds = _speeds(given, read, u)
        _require_velocities(model, given, places, speeds, placed)
        _add_loads(model, given, read, places, speeds)
        _add_constraints(model, given, read, speeds)
        model.speeds(dependent=given.dependent, **{leaf.name: x for leaf, x in speeds.items()})
    return model


def _is_fixed(places: Places, body: Any) -> bool:
    """Check whether a body is fixed in N, so that its mass has no effect."""
    return _place(places, body).body.index == 0


def _place(places: Places, body: Any) -> LinkPlace:
    """Return the place of a rigid body with its axes, or of a particle."""
    return places.at(mass_centre(body), body.frame if hasattr(body, "central_inertia") else None)


def _add_body(model: Model, read: SymPyReader, places: Places, body: Any) -> Body:
    """Add a rigid body or a particle at its place."""
    what, place = f"body {body.name!r}", _place(places, body)
    mass: Any = _number(read(body.mass, f"the mass of {what}"))
    inertia: list[list[Any]] = [[0.0] * 3] * 3
    if hasattr(body, "central_inertia"):
        rows = body.central_inertia.to_matrix(body.frame).tolist()
        inertia = [[_number(read(x, f"the inertia of {what}")) for x in row] for row in rows]
    entries = [x for row in inertia for x in row if isinstance(x, Expr)]
    moving = [leaf for leaf in leaves(entries) if leaf.op != PARAMETER]
    if moving:
        raise ModelError(
            f"the inertia of {what} depends on {moving[0].name!r} along its own axes; give it along axes of its frame"
        )
    found = model.body(str(body.name), mass=mass, inertia=inertia)
    title = f"weld of {body.name}"
    model.connect(place.body, found, Weld(), at=place.position, orientation=place.orientation, name=title)
    return found


def _number(x: Expr) -> Any:
    return x.data if x.is_constant else x


def _located(places: Places, location: Any) -> tuple[LinkPlace, bool]:
    """Return the place on which a load acts, and whether it is a force at a point."""
    if hasattr(location, "_pos_dict"):
        return places.at(location), True
    frame = getattr(location, "frame", location)
    place = places.on(frame)
    if place is None:
        raise ModelError(f"a torque acts on the frame {frame}, which no body has; let it act on the frame of a body")
    return place, False


def _speeds(given: SymPySystem, read: SymPyReader, u: Sequence[Expr]) -> dict[Expr, Expr]:
    """Solve the kinematical differential equations for the speeds, as functions of the rates of the coordinates.

    Raises:
        ModelError: a speed does not occur in them, or they are singular.
    """
    rows = [read(x, f"kinematical equation {k + 1}") for k, x in enumerate(given.kinematics)]
    factors, rests = linear_coefficients(rows, u)
    zero = u[0].arena.zero
    named = [
        LinearRow(f"equation {k + 1}", {j: c for j, c in enumerate(row) if c is not zero}, rest)
        for k, (row, rest) in enumerate(zip(factors, rests, strict=True))
    ]
    found = eliminate(named, range(len(u)), Probe({})).values()
    missing = [leaf.name for j, leaf in enumerate(u) if j not in found]
    if missing:
        raise ModelError(
            f"the kinematical differential equations do not determine the speed {list_names(missing)}; give one "
            "equation for each speed, with a coordinate for each velocity"
        )
    return {leaf: u[0].arena.lift(found[j].rest) for j, leaf in enumerate(u)}


def _require_velocities(
    model: Model, given: SymPySystem, places: Places, speeds: Mapping[Expr, Expr], placed: Sequence[tuple[Any, Body]]
) -> None:
    """Check at a random state that SymPy's velocities are the derivatives of its positions.

    Raises:
        ModelError: they differ; the message names the point or frame.
    """
    words, pairs = [], []
    for body, own in placed:
        centre = mass_centre(body)
        measures = [(f"velocity of the point {centre}", centre.vel, own.point().velocity)]
        if hasattr(body, "central_inertia"):
            turning = body.frame.ang_vel_in
            measures.append((f"angular velocity of the frame {body.frame}", turning, own.angular_velocity))
        for what, vector_in, measure in measures:
            try:
                vector = vector_in(given.frame)
            except ValueError:  # SymPy does not know this velocity, and would not form the equations
                continue
            for axis in (own.model.ground.x, own.model.ground.y, own.model.ground.z):
                words.append(what)
                pairs += [_along(places.in_bodies(vector.args, f"the {what}"), axis), measure.dot(axis)]
    system = natural_system(model)
    pairs = substitute_nodes(pairs, speeds)
    values = probe_of(model)(substitute_nodes(pairs, images(system, pairs, "a velocity"))).reshape(-1, 2)
    wrong = np.abs(values[:, 0] - values[:, 1]) > VELOCITY_TOLERANCE * max(1.0, float(np.abs(values).max(initial=0.0)))
    if wrong.any():
        raise ModelError(
            f"the {words[int(np.argmax(wrong))]} in {given.frame} is not the derivative of its position or "
            "orientation; leave set_vel and set_ang_vel out, or write them with the speeds of the kinematical "
            "equations, and give velocities that rolling implies as velocity constraints"
        )


def _along(parts: Sequence[tuple[Body, Any]], axis: Direction) -> Expr:
    """Return the measure number of a vector along a direction."""
    total = axis.body.model.arena.zero
    for body, v in parts:
        for x, e in zip(v, (body.x, body.y, body.z), strict=True):
            total = total + x * e.dot(axis)
    return total


def _add_loads(
    model: Model, given: SymPySystem, read: SymPyReader, places: Places, speeds: Mapping[Expr, Expr]
) -> None:
    """Add forces and torques; the weights of all bodies become gravity."""
    acting = [(x, *_located(places, x), [(list(v), frame) for v, frame in vector.args]) for x, vector in given.loads]
    parts = [(x, part) for x, _, _, parts in acting for part in parts if part[1] is given.frame]
    masses = {mass_centre(body): body.mass for body in given.bodies if not _is_fixed(places, body) and body.mass != 0}
    _weights_to_gravity(model, read, masses, parts)
    for location, place, pushes, rest in acting:
        if place.body is model.ground:
            continue
        for body, v in places.in_bodies(rest, f"the load on {location}"):
            components = substitute_nodes([model.arena.lift(x) for x in v], speeds)
            if any(x is not model.arena.zero for x in components):
                point = place.body.point(place.position)
                model.load(Force(point, components, body) if pushes else Torque(place.body, components, body))


def _weights_to_gravity(
    model: Model, read: SymPyReader, masses: Mapping[Any, Any], parts: Sequence[tuple[Any, Any]]
) -> None:
    """Take forces m g along an axis of N out of the loads, if all mass centres have one with the same g."""
    gravity: list[Any] = [0.0, 0.0, 0.0]
    for k in range(3):
        of = {point: {v[k] / masses[x]: v for x, (v, _) in parts if x == point and v[k] != 0} for point in masses}
        common = [g for g in next(iter(of.values()), ()) if all(g in found for found in of.values())]
        values = {g: read(g, "the gravity") for g in common}
        fixed = [g for g, x in values.items() if all(leaf.op == PARAMETER for leaf in leaves([x]))]
        for g in fixed[:1]:
            gravity[k] = _number(values[g])
            for found in of.values():
                found[g][k] = 0
    model.gravity = gravity


def _add_constraints(model: Model, given: SymPySystem, read: SymPyReader, speeds: Mapping[Expr, Expr]) -> None:
    """Add configuration constraints, and the motion constraints that these do not imply."""
    configuration = [read(x, f"configuration constraint {k + 1}") for k, x in enumerate(given.configuration)]
    motion = [read(x, f"velocity constraint {k + 1}") for k, x in enumerate(given.motion)]
    for k, x in enumerate(configuration):
        model.constrain(x, name=f"configuration constraint {k + 1}")
    rates = {leaf: model.arena.leaf(RATE, leaf.name) for leaf in leaves(configuration) if leaf.op == COORDINATE}
    known = total_time_derivative(configuration, {**rates, model.time: model.arena.one}) if configuration else []
    moving = [model.arena.leaf(RATE, name) for name in model.coordinate_order]
    probe = probe_of(model)
    for k, x in enumerate(substitute_nodes(motion, speeds)):
        rows, rests = linear_coefficients([*known, x], moving)
        values = probe([e for row, rest in zip(rows, rests, strict=True) for e in (*row, rest)]).reshape(len(rows), -1)
        if np.linalg.matrix_rank(values) == len(rows):
            known.append(x)
            model.constrain(x, name=f"velocity constraint {k + 1}")
