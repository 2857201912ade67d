"""Exporter of a JavaScript module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane.codegen.emit.javascript import emit_javascript, javascript_name
from kane.exporters.exporter import Exporter, file_stem, names_of_outputs, programs_of
from kane.formulation.equations import Equations


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
        text = emit_javascript(programs, name=equations.name, outputs=outputs, defaults=equations.defaults)
        exported = ", ".join(javascript_name(program) for program in programs)
        return {f"{file_stem(equations)}.mjs": f"{text}\nexport {{ {exported} }};\n"}
