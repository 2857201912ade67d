"""Units of the quantities of equations, found by unification: ``kane.units``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from weakref import WeakKeyDictionary

from kane.errors import ModelError, warn
from kane.expression import operations as ops
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.text import name_of
from kane.expression.traverse import leaves
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import lower_triangle
from kane.formulation.speeds.units import UNKNOWN as ANY_SPEED_UNIT
from kane.formulation.units.unit_inference import OF_MEASURE_KINDS, Contradiction, Form, Inference, UnitSlot
from kane.formulation.units.unit_slots import JOULE, NEWTON, SECOND, slots_of
from kane.model.checks import require_known
from kane.model.reaction import REACTION_PREFIX
from kane.model.unit_text import multiplied, read_unit, unit_text

UNDETERMINED = "?"
# Largest number of slots that are left out one by one to find the declaration that explains contradictions.
MOST_SUSPECTS = 400
# Units that displays have written, by the equations.
_SHOWN: WeakKeyDictionary[Equations, Units] = WeakKeyDictionary()
_GROUPS = ("coordinates", "speeds", "parameters", "inputs", "reactions", "outputs")


@dataclass(frozen=True, repr=False)
class Units:
    """Units of the quantities of equations, as texts such as "N s/m"; "?" for a unit that nothing determines.

    ``units["k1"]`` is the unit of a quantity by its name, and ``print(units)`` shows all of them.

    Attributes:
        name: name of the model.
        coordinates, speeds, parameters, inputs: units by name. Angles are in rad, other pure numbers have the unit "1".
        reactions: units of the forces of constraint rows.
        outputs: units of rates q1', accelerations u1', generalized forces f_u1, entries M_i_j, and of the energies.
    """

    name: str
    coordinates: Mapping[str, str]
    speeds: Mapping[str, str]
    parameters: Mapping[str, str]
    inputs: Mapping[str, str]
    reactions: Mapping[str, str]
    outputs: Mapping[str, str]

    @cached_property
    def by_name(self) -> Mapping[str, str]:
        """The units of all quantities and of the time by name, for displays."""
        return {"t": "s"} | {name: unit for group in reversed(_GROUPS) for name, unit in getattr(self, group).items()}

    def __getitem__(self, name: str) -> str:
        """Return the unit of a quantity.

        Raises:
            ModelError: there is no quantity of this name.
        """
        require_known(name, self.by_name, "quantity")
        return self.by_name[name]

    def __repr__(self) -> str:
        lines = [f"units of {self.name!r}"]
        for group in _GROUPS:
            table: Mapping[str, str] = getattr(self, group)
            lines += [f"  {group}"] * bool(table) + [f"    {name:<16} {unit}" for name, unit in table.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def units(equations: Equations) -> Units:
    """Infer the unit of every parameter, input, reaction and output of equations; SI units without prefixes.

    The declarations give units: masses kg, positions m, gravity m/s^2, loads N or N m. In their expressions

        [a + b] = [a] = [b],   [a < b]: [a] = [b],   [a b] = [a] [b],   [a^p] = [a]^p,   [sin a] = [a] = 1.

    A literal number may have any unit at each occurrence. Parameters whose units these rules leave open get the units
    that they have if literal factors are pure numbers. ``unit=`` of ``Model.parameter`` and ``Model.input`` declares a
    unit. A factor of exactly 1 leaves no trace in an expression, so that terms without parameters and inputs are not
    compared.

    Returns:
        Units by name; "?" if nothing determines the unit.

    Raises:
        ModelError: two units contradict each other. The message names the terms, the factor by which they differ, and
            the line of the declaration.

    Source: unification as in Kennedy 1997, "Relational parametricity and units of measure".
    """
    require(equations, Equations, "units takes Equations, which kane.formulate(model) returns")
    return _named(equations, _solved(equations))


def expression_unit(equations: Equations, x: Expr) -> str:
    """Return the unit of an expression for displays; "?" if it is undetermined or if units contradict each other.

    The literals of the expression may have units, so that a product with a literal is undetermined.
    """
    if not x.args and name_of(x) in shown_units(equations).by_name:
        return shown_units(equations).by_name[name_of(x)]
    found = Inference(_leaf_units(equations))
    try:
        found.solved |= _solved(equations).solved
    except ModelError:
        return UNDETERMINED
    return _text(found, found.unit(x))


def shown_units(equations: Equations) -> Units:
    """Return the units that all displays write; inferred units are "?", with a warning, if units contradict."""
    if equations not in _SHOWN:
        try:
            _SHOWN[equations] = units(equations)
        except ModelError:
            warn(
                f"units of {equations.name!r} contradict each other, so that displays leave out inferred units; "
                "kane.units(equations) names the terms"
            )
            _SHOWN[equations] = _named(equations, Inference(_leaf_units(equations)))
    return _SHOWN[equations]


def _solved(equations: Equations) -> Inference:
    """Return the inference over all slots.

    Raises:
        ModelError: two units contradict each other.
    """
    slots = slots_of(equations)
    found = _inferred(equations, slots)
    if found.contradictions:
        raise ModelError(_blamed(equations, slots, found))
    plain = Inference(_leaf_units(equations), plain=True)
    plain.solved |= found.solved
    for slot in slots:
        plain.add(slot)
    return plain


def _inferred(equations: Equations, slots: Sequence[UnitSlot]) -> Inference:
    found = Inference(_leaf_units(equations))
    for slot in slots:
        found.add(slot)
    return found


def _leaf_units(equations: Equations) -> Callable[[Expr], Form]:
    """Return the function that gives the unit of a leaf; parameters, inputs and chosen speeds are unknown."""
    model, known = equations.model, dict[tuple[int, str], Form]()
    for c in model.connections:
        for name, text in zip(c.coordinate_names, c.joint.coordinate_units, strict=bool(c.coordinate_names)):
            known[ops.COORDINATE, name] = read_unit(text, f"the unit of {name!r}")
            known[ops.RATE, name] = multiplied(read_unit(text, ""), SECOND, -1)
        for name, text in zip(c.speed_names, c.joint.speed_units, strict=bool(c.speed_names)):
            known[ops.RATE, name] = known[ops.SPEED, name] = read_unit(text, f"the unit of {name!r}")
    for leaf in equations.u if model.speed_choice.definitions else ():
        known[ops.RATE, leaf.data] = known[ops.SPEED, leaf.data] = {leaf: 1}
    for c in model.connections:
        for axis in "xyz":
            known[ops.INPUT, f"{REACTION_PREFIX}{c.name} F{axis}"] = NEWTON
            known[ops.INPUT, f"{REACTION_PREFIX}{c.name} T{axis}"] = JOULE
    for touching in (c for c in model.intermittents if c.surfaces):
        for name in (touching.name, *(f"{touching.name}: {row.name}" for row in touching.rows)):
            known[ops.INPUT, f"{REACTION_PREFIX}{name}"] = NEWTON

    def unit_of(leaf: Expr) -> Form:
        if leaf.op == ops.CONSTANT:
            return None
        if leaf.op == ops.TIME:
            return SECOND
        if leaf.op == ops.MEASURE:
            plain = all(not isinstance(x, Expr) for x in leaf.data.direction)
            return OF_MEASURE_KINDS[leaf.data.kind] if plain else None
        return known.get((leaf.op, leaf.data), {leaf: 1})

    return unit_of


def _blamed(equations: Equations, slots: Sequence[UnitSlot], found: Inference) -> str:
    """Return the message that blames the declaration whose removal leaves the fewest contradictions."""
    culprit = found.contradictions[0]
    suspects = [s for s in slots if s.binding and isinstance(s.value, Expr) and not s.title.startswith("unit=")]
    if len(suspects) <= MOST_SUSPECTS:
        left = {id(s): len(_inferred(equations, [x for x in slots if x is not s]).contradictions) for s in suspects}
        least = min(left.values(), default=0)
        if left.get(id(culprit.slot), least) > least:
            return _moved(equations, slots, next(s for s in reversed(suspects) if left[id(s)] == least))
    return _message(equations, found, [culprit])


def _moved(equations: Equations, slots: Sequence[UnitSlot], last: UnitSlot) -> str:
    """Return the message for the contradictions that appear if a slot comes last."""
    found = _inferred(equations, [*(s for s in slots if s is not last), last])
    return _message(equations, found, [c for c in found.contradictions if c.slot is last] or found.contradictions)


def _message(equations: Equations, found: Inference, contradictions: Sequence[Contradiction]) -> str:
    culprit = contradictions[0]
    sources = {leaf: found.sources[leaf] for leaf in _unknowns(culprit.slot.value) if leaf in found.sources}
    declared = equations.model.units
    told = [
        (
            f"{name_of(leaf)} has unit={declared[name_of(leaf)]!r}"
            if name_of(leaf) in declared
            else f"{name_of(leaf)} is in {unit_text(found.resolved(found.solved[leaf]))} by {source.title}"
        )
        + (f" ({source.where})" if source.where else "")
        for leaf, source in sources.items()
        if source is not culprit.slot
    ]
    because = f"; {', '.join(told)}" if told else ""
    return f"{culprit}{because}. Correct the term, or give a factor with a unit as a parameter"


def _unknowns(x: Expr) -> list[Expr]:
    return [leaf for leaf in leaves([x]) if leaf.op in (ops.PARAMETER, ops.INPUT)]


def _named(equations: Equations, found: Inference) -> Units:
    """Return the units as texts."""

    def of(leaf: Expr) -> str:
        typed: str | None = equations.model.units.get(leaf.data)
        return typed or _text(found, found.unit(leaf))

    u, power = equations.u, multiplied(JOULE, SECOND, -1)
    speeds = [found.unit(leaf) for leaf in u]
    known = equations.speed_units if len(equations.speed_units) == len(u) else [ANY_SPEED_UNIT] * len(u)
    written = [_text(found, x) if told == ANY_SPEED_UNIT else told for x, told in zip(speeds, known, strict=True)]
    forces = {leaf.data: _times(power, x, -1) for leaf, x in zip(u, speeds, strict=True)}
    of_mass: dict[tuple[str, str], str] = {}  # few different pairs of units
    for i, j in lower_triangle(len(u)):
        if (written[i], written[j]) not in of_mass:
            of_mass[written[i], written[j]] = _text(found, _times(_times(JOULE, speeds[i], -1), speeds[j], -1))
    return Units(
        name=equations.name,
        coordinates={leaf.data: x for leaf, x in zip(equations.q, equations.coordinate_units, strict=True)},
        speeds={leaf.data: x for leaf, x in zip(u, written, strict=True)},
        parameters={leaf.data: of(leaf) for leaf in equations.parameters},
        inputs={name_of(leaf): of(leaf) for leaf in equations.inputs},
        reactions={row.name: _text(found, _times(power, found.unit(row.motion), -1)) for row in equations.constraints},
        outputs={
            **{
                f"{x.data}'": _per_second(unit) for x, unit in zip(equations.q, equations.coordinate_units, strict=True)
            },
            **{f"{leaf.data}'": _per_second(x) for leaf, x in zip(u, written, strict=True)},
            **{f"f_{name}": _text(found, x) for name, x in forces.items()},
            **{f"M_{i + 1}_{j + 1}": of_mass[written[i], written[j]] for i, j in lower_triangle(len(u))},
            "kinetic": "J",
            "potential": "J",
        },
    )


def _text(found: Inference, unit: Form) -> str:
    resolved = None if unit is None else found.resolved(unit)
    return UNDETERMINED if resolved is None or any(isinstance(s, Expr) for s in resolved) else unit_text(resolved)


def _per_second(unit: str) -> str:
    if unit == UNDETERMINED or " or " in unit:
        return UNDETERMINED
    return f"{unit}^2" if unit.endswith("/s") else f"{unit}/s"


def _times(a: Form, b: Form, power: int) -> Form:
    """Return a b^power; None if a unit is undetermined."""
    return None if a is None or b is None else multiplied(a, b, power)
