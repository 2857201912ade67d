"""Users' expressions rewritten in symbols that native code knows at a state, for events and sampled laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.operations import OPERATIONS
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.equations import Equations
from kane.formulation.recursive.measures import images, measure_accelerations
from kane.model.reaction import reaction_leaves

# Cures if an expression depends on a reaction, of a joint or of an intermittent constraint.
OF_JOINT = "take its expression from kane.reveal_reactions(equations, ...).forward"
OF_MODE = (
    "only on= and off= of latches and switches may depend on the reaction of a contact, stop, latch or switch: let a "
    "switch note when it passes a bound, or read run.reactions after the run"
)


def known_in_state(
    e: Equations, named: Mapping[str, Expr], input_program: Mapping[Expr, Expr], unknown: Sequence[str]
) -> list[Expr]:
    """Rewrite expressions in time, coordinates, speeds, inputs and parameters.

    Args:
        e: equations of motion.
        named: expressions by their names in messages, such as "the event 'lift'".
        input_program: expression that drives an input, by leaf of the input.
        unknown: names of inputs whose values native code does not know: Python functions.

    Raises:
        ModelError: an expression belongs to another model, or depends on a quantity that the state does not determine.
    """
    given = list(named.values())
    for who, expression in named.items():
        if expression.arena is not e.t.arena:
            raise ModelError(f"{who} belongs to another model")
    udot = e.known_accelerations if measure_accelerations(given) else ()
    outputs = substitute_nodes(given, {**images(e.system, given, udot=udot), **e.baked})
    outputs = substitute_nodes(outputs, input_program) if input_program else outputs
    known = {e.t, *e.q, *e.u, *e.parameters, *(leaf for leaf in e.inputs if leaf.name not in unknown)}
    for who, output in zip(named, outputs, strict=True):
        for leaf in leaves([output]):
            if leaf in reaction_leaves([leaf]):
                name = leaf.name.strip()
                of_mode = any(name in (c.name, *(row.name for row in c.rows)) for c in e.intermittents)
                raise ModelError(f"{who} depends on the reaction {name!r}; {OF_MODE if of_mode else OF_JOINT}")
            if leaf not in known:
                raise ModelError(
                    f"{who} depends on the {OPERATIONS[leaf.op].name} '{leaf!r}', which native code cannot compute "
                    "from time, coordinates, speeds and inputs (it does not know inputs that are Python functions)"
                )
    return outputs
