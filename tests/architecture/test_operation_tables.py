"""Every operation has a row in every table that reads the graph, and its name a function that users can call."""

import importlib
import pkgutil

import pytest

from kane.codegen import emit
from kane.codegen.emit.array_source import ArrayLanguage
from kane.expression import text
from kane.expression.derivative import CHOICES, PARTIALS
from kane.expression.operations import COST_CLASSES, OPERATIONS, SPLINE
from kane.expression.traverse import CONSTRUCTORS
from kane.formulation.units.unit_inference import UNIT_RULES

COMPUTED = {op for op, row in enumerate(OPERATIONS) if row.arity > 0}
MODULES = {m.name: importlib.import_module(f"kane.codegen.emit.{m.name}") for m in pkgutil.iter_modules(emit.__path__)}
# A file that defines emit_<its name>, or an ArrayLanguage, is an emitter.
# Rows stand in that file, or in one of its operations.
EMITTERS = [
    name
    for name, module in MODULES.items()
    if hasattr(module, f"emit_{name}") or any(isinstance(x, ArrayLanguage) for x in vars(module).values())
]


def test_every_operation_has_a_constructor_and_a_derivative():
    assert set(CONSTRUCTORS) == COMPUTED
    assert set(PARTIALS) | set(CHOICES) == COMPUTED
    assert not set(PARTIALS) & set(CHOICES)


def test_every_operation_has_a_meaning_and_a_known_cost():
    assert {op for op in COMPUTED if OPERATIONS[op].meaning is None} == {SPLINE}  # whose data is its meaning
    assert {OPERATIONS[op].cost for op in COMPUTED} <= {*COST_CLASSES, ""}


def test_every_operation_has_a_rule_of_units():
    assert set(UNIT_RULES) == COMPUTED


def test_every_operation_can_be_printed():
    assert set(text.TYPED_SPELLINGS) == COMPUTED


def test_there_are_emitters():
    assert {"llvm", "c", "numpy", "jax", "latex", "listing"} <= set(EMITTERS)


@pytest.mark.parametrize("name", EMITTERS)
def test_every_operation_has_a_row_in_every_emitter(name):
    module = MODULES.get(f"{name}_operations", MODULES[name])
    table = module.EMITTERS if hasattr(module, "EMITTERS") else module.ROWS
    assert set(table) == COMPUTED
