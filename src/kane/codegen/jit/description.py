"""Description of native code for its callers: lengths of its arrays, kept as text in the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kane.expression.operations import CONSTANT
from kane.expression.traverse import leaves

if TYPE_CHECKING:
    from kane.codegen.emit.llvm import Module
    from kane.codegen.programs.alike import AlikeProgram
    from kane.codegen.programs.program import Program


class CodeDescription(NamedTuple):
    """Lengths of the arrays of a program and of its native code.

    Attributes:
        n_state, n_rest, n_parameters, n_stage, n_out, n_work: lengths of the arrays.
        operations: operations of one state.
        symbols: functions of the C library that the code calls.
        text: hash of the LLVM text, which is part of the key of the object code.
        number: first constant of a program that shares its code with others, see ``emit_alike``; else None.
        reads: operation and name of each leaf on which the outputs depend; empty if unknown.
        notes: what callers need besides.
    """

    n_state: int
    n_rest: int
    n_parameters: int
    n_stage: int
    n_out: int
    n_work: int
    operations: int
    symbols: Sequence[str] = ()
    text: str = ""
    number: int | None = None
    reads: Sequence[tuple[int, str]] = ()
    notes: Any = None

    @classmethod
    def of(cls, program: Program, n_work: int) -> CodeDescription:
        """Return the lengths of a program."""
        return cls(
            n_state=len(program.state),
            n_rest=len(program.rest),
            n_parameters=len(program.parameters),
            n_stage=len(program.stage_outputs),
            n_out=program.n_out,
            n_work=n_work,
            operations=sum(program.operations),
        )

    @classmethod
    def whole(cls, program: Program, module: Module, notes: Any) -> CodeDescription:
        """Return everything from which another process calls the code without the program."""
        reads = [(leaf.op, leaf.data) for leaf in leaves(program.outputs)]
        return cls.of(program, module.n_work)._replace(
            symbols=module.symbols, text=text_hash(module.text), reads=reads, notes=notes
        )

    @classmethod
    def of_alike(cls, one: AlikeProgram, module: Module, text: str) -> CodeDescription:
        """Return the description of a program that shares code; ``text`` is the hash of the module's text."""
        numbers = sum(x.op == CONSTANT for x in one.reads.values())
        return cls.of(one.shared, module.n_work)._replace(
            n_parameters=len(one.shared.parameters) - numbers,
            n_stage=1 + len(one.shared.stage_outputs),
            n_out=len(one.outputs),
            symbols=module.symbols,
            text=text,
            number=one.number,
            reads=[(leaf.op, leaf.data) for leaf in one.leaves],
        )

    def written(self) -> bytes:
        """Return the description as JSON."""
        return json.dumps(self._asdict()).encode()

    @classmethod
    def read(cls, content: bytes) -> CodeDescription:
        """Return the description that ``written`` expressed."""
        return cls(**json.loads(content))


def text_hash(text: str) -> str:
    """Return the hash of LLVM text."""
    return hashlib.sha256(text.encode()).hexdigest()
