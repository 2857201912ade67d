"""Derive Equations from a Model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from kane.errors import ExpressionError, ModelError, shown
from kane.expression.arena import Arena
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.traverse import substitute_nodes as replace_leaves
from kane.formulation.constraints.embed import embed
from kane.formulation.constraints.intermittent_rows import controlled, intermittent_equations, left_out
from kane.formulation.constraints.rows import constraint_equations
from kane.formulation.equations import Equations
from kane.formulation.matrix_route import require_bodies
from kane.formulation.read_model import probe_of, snapshot, system_of
from kane.formulation.recursive.applied import applied_loads
from kane.formulation.recursive.measures import images
from kane.formulation.recursive.recursive_route import RecursiveRoute
from kane.formulation.route import Route
from kane.formulation.speeds.units import units_of_speeds
from kane.formulation.tree.body_tree import body_tree
from kane.formulation.tree.loads import forces_in
from kane.formulation.tree.speeds import leaves_of
from kane.model.checks import require_known
from kane.model.constraints import Constraint
from kane.model.contacts import IntermittentConstraint
from kane.model.model import Model
from kane.model.reaction import reaction_leaves
from kane.progress import stage

if TYPE_CHECKING:
    from kane.formulation.explicit.explicit_route import ExplicitRoute


def formulate(model: Model, *, near: Any = None) -> Equations:
    """Derive the equations of motion of a model: M udot + bias = B inputs, qdot = kinematics.

    The result is a snapshot of the model: later declarations do not change it.

    For closed loops, no selection of dependent speeds works at all states. By default it is made numerically at each
    state. With ``near`` it is made once, near that state, and there are expressions of all quantities. These hold
    wherever no expression of ``fails_where`` vanishes. If no selection is needed, ``near`` has no effect.

    Args:
        model: the model.
        near: state that satisfies the constraints, near which kane selects the dependent speeds that the model does not
            name. Give the result of ``kane.assemble``; the speeds in its ``free`` (held speeds are
            preferred there) stay independent. Or give q [m or rad], as an array or as a dict of some coordinates; the
            others are neutral. Then the speeds with the largest pivots of the constraints are dependent.

    Raises:
        ModelError: a body is not connected, a joint moves neither mass nor inertia, or a load depends on an unknown
            quantity. Also raised if the state ``near`` does not satisfy the constraints, or if fewer constraint rows
            are independent at this state than at neighbouring states.
    """
    require(model, Model, "formulate takes a kane.Model")
    if near is not None:
        from kane.formulation.constraints.near_state import read_near

        model = snapshot(model)
        model.speed_choice = replace(model.speed_choice, near=read_near(model, near))
    with stage("deriving the equations of motion"), collector_paused():
        system = system_of(model)
        tree = body_tree(model, system.speeds)
        applied_loads(tree.effects, system)  # raises an error if a load depends on an unknown quantity
        probe = probe_of(model)
        constraints = constraint_equations(model.constraints, system, probe)
        intermittents = intermittent_equations(model.intermittents, model.constraints, system, probe)
        parameters, inputs, t = leaves_of(model)
        embedding = embed(constraints, system, model, probe, t)
    joints = [c for c in system.speeds.motion if c.coordinate_names]
    starts = dict(zip(joints, accumulate((c.joint.nq for c in joints), initial=0), strict=False))
    reactions = reaction_leaves(forces_in(tree.loads))
    found = Equations(
        model=snapshot(model),
        system=system,
        tree=tree,
        route_of=recursive_route,
        parameters=parameters,
        inputs=(*inputs, *reactions),
        t=t,
        defaults={**model.parameters, **model.inputs},
        bodies=tuple(b.name for b in model.bodies),
        frames=dict(model.frames),
        coordinate_units=tuple(unit for c in joints for unit in c.joint.coordinate_units),
        speed_units=units_of_speeds(model.speed_choice.definitions, joints),
        neutral=tuple(x for c in joints for x in c.joint.neutral),
        quaternions=tuple(starts[c] + c.joint.quaternion_at for c in joints if c.joint.quaternion_at is not None),
        constraints=constraints,
        embedding=embedding,
        intermittents=intermittents,
        notes=(*model.notes, *left_out(model.intermittents, intermittents)),
    )
    return _with_reaction_loads(found, reactions).of_whole_model()


def _with_reaction_loads(equations: Equations, reactions: Sequence[Expr]) -> Equations:
    if not reactions:
        return equations
    from kane.formulation.reactions.reaction_loads import with_reaction_loads

    return with_reaction_loads(equations, reactions)


def recursive_route(equations: Equations) -> RecursiveRoute:
    """Return the route of ``formulate``: recursions along the tree."""
    return RecursiveRoute(equations.system, equations.applied, equations.inputs)


def explicit_route(equations: Equations) -> ExplicitRoute:
    """Return the route of ``explicit``: Kane's equations of the bodies as declared."""
    from kane.formulation.explicit.explicit_route import ExplicitRoute

    return ExplicitRoute(equations.system, equations.tree, equations.inputs)


ROUTES: Mapping[str, Callable[[Equations], Route]] = {
    RecursiveRoute.name: recursive_route,
    "explicit": explicit_route,  # ExplicitRoute.name
}


def explicit(source: Model | Equations) -> Equations:
    """Derive the equations of a model by the explicit route; they can be used wherever equations are used.

    Up to round-off, the result is the same as by ``formulate``. It costs O(n^3) operations; the recursive route costs
    O(n) to O(n^2). For a few bodies it is easier to read: ``listing()`` follows a derivation by hand.

    Args:
        source: a model, or equations of a model.

    Source: Kane & Levinson 1983, Eqs. 23, 44, 78-79, 88-90, 117.
    """
    equations = source if isinstance(source, Equations) else formulate(source)
    require_bodies(equations, "the explicit route")
    found = replace(equations, route_of=explicit_route)
    return found.of_whole_model() if equations.whole else found


def substitute(equations: Equations, **values: Any) -> Equations:
    """Return the equations with parameters or inputs permanently replaced by numbers or expressions.

    A number is folded into the constants. An expression of the model's coordinates, rates, measures, time, parameters,
    inputs and reactions turns an input into a controller, whose force then belongs to the bias.

    Args:
        equations: equations of a model.
        values: a number or an expression for each name of a parameter or input.

    Raises:
        ModelError: a name is neither a parameter nor an input, or a parameter is given an expression of the motion.
    """
    from kane.formulation.reactions.reaction_loads import with_reaction_loads

    require(equations, Equations, "substitute takes Equations, which kane.formulate(model) returns")
    system = equations.system
    leaves = {leaf.name: leaf for leaf in (*equations.parameters, *equations.inputs)}
    for name in values:
        require_known(name, leaves, "parameter or input")
    given = {leaves[name]: _lifted(name, value, system.arena) for name, value in values.items()}
    expressions = list(given.values())
    resolved = dict(zip(given, replace_leaves(expressions, images(system, expressions)), strict=True))
    forces = {leaf: x for leaf, x in resolved.items() if leaf in equations.inputs}
    constants = {leaf: x for leaf, x in resolved.items() if leaf not in forces}
    _require_parameters_only(constants, equations)
    reactions = reaction_leaves(forces.values())
    found = replace(
        equations,
        tree=equations.tree.replaced(forces),
        parameters=tuple(p for p in equations.parameters if p not in constants),
        inputs=(*(i for i in equations.inputs if i not in forces), *reactions),
        baked={**equations.baked, **constants},
        controllers={**_replaced(equations.controllers, forces), **forces},
        intermittents=controlled(equations.intermittents, forces),
    )
    if constants:
        found.parameter_bounds.given(None)
    found = with_reaction_loads(found, reactions) if reactions else found
    return found.of_whole_model() if equations.whole else found


def constrain(
    equations: Equations, *constraints: Constraint | Expr, dependent: Sequence[str] | None = None
) -> Equations:
    """Return the equations with additional constraints; earlier substitutions are kept.

    Args:
        equations: equations of a model.
        constraints: constraints as in ``Model.constrain``.
        dependent: names of all dependent speeds; by default those named before.

    Raises:
        ModelError: as ``Model.constrain`` and ``formulate``.

    Source: Gillespie 2003, Eqs. 44-46, 64.
    """
    require(equations, Equations, "constrain takes Equations, which kane.formulate(model) returns")
    require_bodies(equations, "another constraint")
    model = snapshot(equations.model)
    for constraint in constraints:
        model.constrain(constraint)
    if dependent is not None:
        model.speeds(dependent=dependent, **model.speed_choice.definitions)
    return reformulated(equations, model)


def reformulated(equations: Equations, model: Model) -> Equations:
    """Return the equations of a changed model, with the substitutions made in ``equations``."""
    return resubstituted(
        formulate(model),
        parameters=equations.parameters,
        inputs=equations.inputs,
        baked=equations.baked,
        controllers=equations.controllers,
    )


def with_other_intermittent(equations: Equations, intermittents: Sequence[IntermittentConstraint]) -> Equations:
    """Return the equations with other intermittent constraints; the rest of the system is the same.

    Raises:
        ModelError: a constraint restricts nothing, or is not linear in the speeds.
    """
    model = snapshot(equations.model)
    model.intermittents = list(intermittents)
    with collector_paused():
        known = intermittent_equations(intermittents, model.constraints, equations.system, probe_of(model))
        known = controlled(known, equations.controllers)
    return replace(equations, model=model, intermittents=known)


def resubstituted(
    found: Equations,
    *,
    parameters: tuple[Expr, ...],
    inputs: tuple[Expr, ...],
    baked: Mapping[Expr, Expr],
    controllers: Mapping[Expr, Expr],
) -> Equations:
    """Return equations without substitutions, with the given ones applied; ``Equations`` explains the arguments."""
    made = replace(
        found,
        tree=found.tree.replaced(controllers),
        parameters=parameters,
        inputs=inputs,
        baked=baked,
        controllers={**controllers, **found.controllers},
        intermittents=controlled(found.intermittents, controllers),
    )
    return made.of_whole_model() if found.whole else made


def _replaced(given: Mapping[Expr, Expr], values: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """Return earlier controllers, with newly substituted inputs replaced by their values."""
    return dict(zip(given, replace_leaves(list(given.values()), values), strict=True))


def _lifted(name: str, value: Any, arena: Arena) -> Expr:
    try:
        lifted = arena.lift(value)
    except ExpressionError as error:
        raise ModelError(f"{name!r} cannot be replaced by {shown(value)}: {error}") from None
    if lifted.arena is not arena:
        raise ModelError(f"{name!r} cannot be replaced by {shown(value)}, which belongs to another model")
    return lifted


def _require_parameters_only(constants: dict[Expr, Expr], equations: Equations) -> None:
    for leaf, value in constants.items():
        if not value.is_constant:
            raise ModelError(
                f"the parameter {leaf.name!r} of {equations.name!r} can only be replaced by a number, "
                f"not {shown(value)}"
            )
