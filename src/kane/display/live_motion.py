"""Data and programs with which a page moves a model (poses, sliders, integration) and draws its forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.program import Program
from kane.display.explained_terms import explained_form
from kane.display.page import Page, scene_form
from kane.display.scene import Numbers, Scene, poses_at, scene_of
from kane.errors import ModelError, shown
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.number_arguments import number, words
from kane.expression.traverse import substitute_nodes
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program
from kane.formulation.reactions.exerted import Exerted, exerted
from kane.formulation.reactions.reactions import reveal_reactions
from kane.formulation.recursive.measures import images
from kane.formulation.units.inferred_units import UNDETERMINED, shown_units
from kane.model.checks import require_known

# Tolerance for the relative error of one step; runs of seconds then keep nine digits.
PAGE_STEP_TOLERANCE = 1e-11
# Names of the energies that a session has delivered, in runs and streams.
LEDGER = ("work_on_hand", "work_on_mechanism")
# Stiffness of the mouse spring per mass [1/s^2].
PULL = 60.0


class Slider(NamedTuple):
    """Slider of a page.

    Attributes:
        kind: "coordinate", "input" or "parameter".
        name, place: name of the quantity, and its index among quantities of this kind.
        low, high, value: range and initial value.
        unit: unit of the quantity; empty if unknown.
    """

    kind: str
    name: str
    place: int
    low: float
    high: float
    value: float
    unit: str = ""


def motion_form(equations: Equations, parameters: Mapping[str, float], inputs: Mapping[str, float]) -> dict[str, Any]:
    """Return names, sizes and values for the page's class Motion."""
    defaults = {**equations.defaults, **parameters, **inputs}
    own = equations.own
    rows = [i for i, row in enumerate(own.constraints) if row.configuration is not None]

    def named(leaves: Sequence[Any]) -> list[dict[str, Any]]:
        return [{"name": leaf.name, "unit": written_unit(equations, leaf.name)} for leaf in leaves]

    def valued(leaves: Sequence[Any]) -> list[dict[str, Any]]:
        values = (float(defaults[leaf.name]) for leaf in leaves)
        return [given | {"value": value} for given, value in zip(named(leaves), values, strict=True)]

    return {
        "coordinates": named(equations.q),
        "speeds": named(equations.u),
        "neutral": list(equations.neutral),
        "quaternions": list(equations.quaternions),
        "parameters": valued(equations.parameters),
        "inputs": valued(equations.inputs),
        "rows": len(equations.constraints),
        "linear": all(row.linear for row in equations.constraints),
        "own": {"n": len(own.u), "closing": rows},
        "tolerance": PAGE_STEP_TOLERANCE,
    }


def written_unit(equations: Equations, name: str) -> str:
    """Return the unit of a quantity; an empty text if it is unknown."""
    return shown_units(equations)[name].replace(UNDETERMINED, "")


def posed_form(equations: Equations, parameters: Mapping[str, float]) -> dict[str, Any]:
    """Return the data for pages that only compute poses and ignore constraints."""
    found = motion_form(equations, parameters, {})
    return {**found, "rows": 0, "own": {"n": 0, "closing": []}}


def closing_programs(equations: Equations) -> list[Program]:
    """Return the programs that project coordinates onto the constraints."""
    own = equations.own
    if not equations.closing:
        return []
    found = [_renamed(own, "constraints"), _renamed(own.unconstrained, "kinematics")]
    return [*found, program(equations, "configuration")]


def moving_programs(equations: Equations) -> list[Program]:
    """Return the programs for integration: M, h, constraints before embedding, kinematics, energy and velocities."""
    free = equations.unconstrained
    found = [
        program(equations, "unconstrained"),
        program(free, "kinematics"),
        program(free, "energy"),
        velocities(free),
    ]
    return [*found, *([program(equations, "constraints")] if equations.constraints else [])]


def velocities(equations: Equations) -> Program:
    """Return the program of v_NBo and w_NB in N of each body but the ground, for the mouse spring."""
    N, bodies = equations.model.ground, equations.model.bodies[1:]
    measured = [x for body in bodies for x in (body.point().velocity, body.angular_velocity)]
    with collector_paused():
        leaves = [x.dot(axis) for x in measured for axis in (N.x, N.y, N.z)]
        outputs = equations.baked_in(substitute_nodes(leaves, images(equations.system, leaves, "a pull")))
        state = (equations.t, *equations.q, *equations.u)
        return Program("velocities", factor(outputs), state=state, rest=(), parameters=equations.parameters)


def _renamed(equations: Equations, name: str) -> Program:
    found = program(equations, name)
    return Program(f"own_{name}", found.outputs, state=found.state, rest=found.rest, parameters=found.parameters)


def sliders(equations: Equations, asked: Any, values: Mapping[str, float]) -> list[Slider]:
    """Return sliders for names of inputs and parameters, or for a dict from names to (low, high).

    Raises:
        ModelError: an input or parameter is unknown, or a range is not two numbers, the lower first.
    """
    given = asked if isinstance(asked, Mapping) else dict.fromkeys(words(asked, "sliders=", "names"))
    found = []
    places = {leaf.name: ("input", i) for i, leaf in enumerate(equations.inputs)}
    places |= {leaf.name: ("parameter", i) for i, leaf in enumerate(equations.parameters)}
    for name, span in given.items():
        require_known(name, places, "input or parameter", " for a slider")
        kind, place = places[name]
        value = float(values[name])
        low, high = _usual(kind, value) if span is None else _span(name, span)
        found.append(Slider(kind, name, place, low, high, value, written_unit(equations, name)))
    return found


def _usual(kind: str, value: float) -> tuple[float, float]:
    """Return the default range: zero to twice the value; for inputs and zero values, symmetric about zero."""
    if kind == "input" or value == 0.0:
        reach = 2.0 * abs(value) or 10.0
        return -reach, reach
    return (0.0, 2.0 * value) if value > 0.0 else (2.0 * value, 0.0)


def _span(name: str, span: Any) -> tuple[float, float]:
    if not isinstance(span, Sequence) or isinstance(span, str) or len(span) != 2:
        raise ModelError(f"the range of the slider {name!r} is {shown(span)}; give two numbers, (low, high)")
    low, high = (number(x, f"the range of the slider {name!r}") for x in span)
    if not low < high:
        raise ModelError(f"the range of the slider {name!r} is {low} to {high}; give the lower number first")
    return low, high


def coordinate_sliders(equations: Equations, q: Sequence[float], size: float) -> list[Slider]:
    """Return one slider for each coordinate; its range is half a turn, or the size of the scene, to both sides."""
    found = []
    for i, (leaf, unit) in enumerate(zip(equations.q, equations.coordinate_units, strict=True)):
        reach = np.pi if unit == "rad" else size if unit == "m" else 1.0
        found.append(Slider("coordinate", leaf.name, i, float(q[i] - reach), float(q[i] + reach), float(q[i]), unit))
    return found


def page(
    mode: str,
    equations: Equations,
    scene: Scene,
    motion: Mapping[str, Any],
    *,
    start: tuple[float, Sequence[float]],
    programs: Sequence[Program],
    extra: Mapping[str, Any] | None = None,
) -> Page:
    """Return a page of any mode: "run", "live", "model" or "stream".

    Args:
        start: t and x = [q, u].
        programs: programs besides the program of poses.
        extra: entries that replace empty entries of the content.
    """
    leaves = (*motion["parameters"], *motion["inputs"], *motion["coordinates"], *motion["speeds"])
    units = {leaf["name"]: leaf["unit"] for leaf in leaves}
    defaults = {p["name"]: p["value"] for p in motion["parameters"]}
    energies = dict.fromkeys(("energy", "kinetic_energy", "potential_energy", *LEDGER), "J")
    content = {
        "mode": mode,
        "title": equations.name,
        "subtitle": "",
        "scene": scene_form(scene),
        "motion": dict(motion),
        "start": {"time": float(start[0]), "x": [float(x) for x in start[1]]},
        "runs": [],
        "sliders": [],
        "traces": [],
        "arrows": [],
        "scales": {"force": 0.0, "torque": 0.0},
        "plots": [],
        "equations": [],
        "units": {**units, **energies},
        "flat": looked_at(equations, scene, [start[0], *start[1]], Numbers(equations, defaults)),
        **(extra or {}),
    }
    return Page(f"{equations.name} - kane", content, [scene.where, *programs], defaults)


def looked_at(equations: Equations, scene: Scene, state: Sequence[float], numbers: Numbers) -> list[float] | None:
    """Return the view direction of a mechanism that moves in one vertical plane; None for other mechanisms."""
    random, count = np.random.default_rng(1), len(equations.q)
    found = []
    for _ in range(3):
        moved = np.array(state, float)
        moved[1 : 1 + count] += random.normal(scale=0.3, size=count)
        found.append(poses_at(scene.where, moved.tolist(), numbers)[0][1 : scene.bodies])
    axes = [a for k in range(len(found[0])) for a in _axes(found[1][k] @ found[0][k].T, found[2][k] @ found[0][k].T)]
    if equations.quaternions or not axes:
        return None
    n = axes[0]
    level = abs(float(n @ np.array(scene.up))) < 1e-6
    return n.tolist() if level and all(abs(abs(float(n @ a)) - 1.0) < 1e-6 for a in axes) else None


def _axes(*turns: np.ndarray) -> list[np.ndarray]:
    """Return the unit axes of the rotations with a nonzero angle."""
    found = []
    for R in turns:
        axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        if np.linalg.norm(axis) > 1e-6:
            found.append(axis / np.linalg.norm(axis))
    return found


def pull_of(equations: Equations, scene: Scene, numbers: Numbers) -> dict[str, float]:
    """Return stiffness and damping of the mouse spring; a mechanism follows it in some tenths of a second."""
    mass = float(numbers.of([body.mass for body in equations.model.bodies[1:]]).sum()) or 1.0
    stiffness = PULL * mass
    return {"stiffness": stiffness, "damping": 0.4 * float(np.sqrt(stiffness * mass))}


def live_page(
    equations: Equations,
    *,
    start: tuple[float, Sequence[float]],
    sliders_asked: Any,
    parameters: Mapping[str, float],
    inputs: Mapping[str, float],
    arrows: Sequence[str] = (),
    extra: Mapping[str, Any] | None = None,
) -> Page:
    """Return the page that integrates these equations in the browser and draws the forces named by ``arrows``.

    Raises:
        ModelError: a name is unknown, or redundant constraints share its reaction.
    """
    scene = scene_of(equations, parameters=parameters, q=start[1][: len(equations.q)])
    values = {**equations.defaults, **parameters, **inputs}
    acting = acting_form(equations, arrows, Numbers(equations, parameters))
    explained = explained_form(equations)
    more = {
        "arrows": list(arrows),
        "exerted": {"parts": acting.parts, "reactions": acting.reactions},
        "equations": explained.equations,
        "sliders": [s._asdict() for s in sliders(equations, sliders_asked, values)],
        "pull": pull_of(equations, scene, Numbers(equations, parameters)),
        "subtitle": "equations by kane, integrated here",
        **(extra or {}),
    }
    programs = [*moving_programs(equations), *closing_programs(equations), *acting.programs, *explained.programs]
    motion = motion_form(equations, parameters, inputs)
    return page("live", equations, scene, motion, start=start, programs=programs, extra=more)


def model_page(equations: Equations, *, start: tuple[float, Sequence[float]], parameters: Mapping[str, float]) -> Page:
    """Return the page that moves a model by sliders."""
    scene = scene_of(equations, parameters=parameters, q=start[1][: len(equations.q)])
    shown_sliders = coordinate_sliders(equations, start[1], scene.size)
    motion = {**motion_form(equations, parameters, {}), "rows": 0}
    more = {"sliders": [s._asdict() for s in shown_sliders], "subtitle": "double click on a slider: back"}
    return page("model", equations, scene, motion, start=start, programs=closing_programs(equations), extra=more)


class ActingForm(NamedTuple):
    """Data for ``Motion.acting`` of the page: acting parts with the indices of their outputs, and the programs."""

    parts: list[dict[str, Any]]
    reactions: dict[str, int] | None
    programs: list[Program]


def acting_form(equations: Equations, names: Sequence[str], numbers: Numbers) -> ActingForm:
    """Return forces and torques on bodies per unit multiplier (program "exerted") and multipliers ("reactions").

    Raises:
        ModelError: a name is unknown, or redundant constraints share its reaction.
    """
    found = [exerted(equations, name) for name in names]
    parts, outputs, first = list[dict[str, Any]](), list[Expr](), 0
    for one in found:
        for part in one.parts:
            place = {"name": one.name, "body": part.body, "at": numbers.of(part.at).tolist()}
            rows = {"rows": len(part.forces), "first": len(outputs)}
            parts.append({**place, **rows, "multipliers": first if one.source == "reaction" else None})
            outputs += [equations.system.arena.lift(x) for v in (*part.forces, *part.torques) for x in v]
        first += len(one.parts[0].forces) if one.source == "reaction" else 0
    if not parts:
        return ActingForm([], None, [])
    state = (equations.t, *equations.q, *equations.u)
    program = Program("exerted", outputs, state=state, rest=equations.inputs, parameters=equations.parameters)
    sizes, programs = _reactions(equations, [one for one in found if one.source == "reaction"])
    return ActingForm(parts, sizes, [program, *programs])


def _reactions(equations: Equations, found: Sequence[Exerted]) -> tuple[dict[str, int] | None, list[Program]]:
    """Return sizes and program of the reactions."""
    if not found:
        return None, []
    made = reveal_reactions(equations, *(one.name for one in found))
    if made.indeterminate:
        shared = ", ".join(made.indeterminate)
        raise ModelError(
            f"redundant constraints share {shared}, so these reactions are indeterminate; leave them out of arrows="
        )
    return {"own": made.own, "count": len(made.names), "rows": len(made.rows)}, [made.program()]
