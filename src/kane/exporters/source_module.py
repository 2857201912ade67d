"""Exporters of modules in Python, for NumPy and JAX, and in JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane.codegen.emit.array_source import ArrayLanguage
from kane.codegen.emit.javascript import emit_javascript, javascript_name
from kane.codegen.emit.jax import JAX
from kane.codegen.emit.numpy import NUMPY
from kane.exporters.exporter import Exporter, file_stem, names_of_outputs, programs_of
from kane.formulation.equations import Equations
from kane.formulation.units.inferred_units import shown_units


@dataclass(frozen=True)
class NumPySource(Exporter):
    """Exporter of one Python module that needs only NumPy, with a function of arrays for every quantity.

    An example is ``forward(state, rest, parameters)`` with state = [t, q, u]. ``rest`` contains the inputs, or udot for
    "inverse"; it may be omitted if the result does not depend on it. ``parameters`` default to the model's values.
    Leading axes are a batch.
    """

    def files(self, equations: Equations, quantities: Sequence[str]) -> Mapping[str, str]:
        return {f"{file_stem(equations)}.py": _text(NUMPY, equations, quantities)}


@dataclass(frozen=True)
class JAXSource(Exporter):
    """Exporter of one Python module for JAX (extra ``jax``): pure functions to compile, map and differentiate.

    The functions have the arguments of ``NumPySource``. JAX computes in single precision unless jax_enable_x64 is set.
    """

    def files(self, equations: Equations, quantities: Sequence[str]) -> Mapping[str, str]:
        return {f"{file_stem(equations)}_jax.py": _text(JAX, equations, quantities)}


def _text(language: ArrayLanguage, equations: Equations, quantities: Sequence[str]) -> str:
    programs, outputs = programs_of(equations, quantities), names_of_outputs(equations, quantities)
    units = shown_units(equations).by_name
    return language.source(programs, name=equations.name, outputs=outputs, defaults=equations.defaults, units=units)


@dataclass(frozen=True)
class JavaScriptSource(Exporter):
    """Exporter of one self-contained ECMAScript module for browsers, Node and Deno, with an object for every quantity.

    import { forward } from "./arm.mjs";
    const stage = new Float64Array(forward.stages), udot = new Float64Array(forward.outputs.length);
    forward.stage(forward.defaults, stage);          // once for these parameters
    forward.main([t, ...q, ...u], inputs, stage, udot);
    """

    def files(self, equations: Equations, quantities: Sequence[str]) -> Mapping[str, str]:
        programs, outputs = programs_of(equations, quantities), names_of_outputs(equations, quantities)
        defaults, units = equations.defaults, shown_units(equations).by_name
        text = emit_javascript(programs, name=equations.name, outputs=outputs, defaults=defaults, units=units)
        exported = ", ".join(javascript_name(program) for program in programs)
        return {f"{file_stem(equations)}.mjs": f"{text}\nexport {{ {exported} }};\n"}
