"""Native code of the programs of equations, asked for by name and found in the cache without deriving them."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.named import NamedProgram, ProgramFamily
from kane.formulation.digest import equations_digest
from kane.formulation.equations import Equations

if TYPE_CHECKING:
    from kane.codegen.programs.alike import Unscheduled
    from kane.codegen.programs.program import Program

ProgramLabel = TypeVar("ProgramLabel", bound=Hashable)


class NamedPrograms:
    """Native code of the programs of equations, or of equations that are derived from them.

    Attributes:
        compile: compiler of programs.
    """

    def __init__(
        self, equations: Equations, compile: Callable[[Any], Any], base: NamedPrograms | None = None, part: str = ""
    ) -> None:
        """Name programs.

        Args:
            equations: equations with the programs.
            compile: compiler of programs.
            base, part: equations from which these are derived, and the attribute of them that these are.
        """
        self._given, self.compile, self._base, self._part = equations, compile, base, part

    @cached_property
    def equations(self) -> Equations:
        """Equations with the programs."""
        return self._given if self._base is None else getattr(self._base.equations, self._part)

    def of(self, part: str) -> NamedPrograms:
        """Return the programs of derived equations: ``unconstrained``, ``own`` or ``with_intermittent_rows``."""
        return NamedPrograms(self._given, self.compile, self, part)

    def code(
        self,
        name: str,
        make: Callable[[], Program] | None = None,
        notes: Callable[[], Any] | None = None,
    ) -> CompiledFunction:
        """Return the native code of a program; see ``code_with_notes``."""
        return self.code_with_notes(name, make, notes)[0]

    def code_with_notes(
        self,
        name: str,
        make: Callable[[], Program] | None = None,
        notes: Callable[[], Any] | None = None,
    ) -> tuple[CompiledFunction, Any]:
        """Return the native code of a program, and what callers need besides.

        Args:
            name: name of the program among all of these equations.
            make: derives the program; unless given, it is the quantity of this name.
            notes: derives what callers need besides, as JSON expresses it. It may depend on nothing but the equations.
        """
        arena, what, key = self._given.system.arena, self._what(name), self.key(name)
        make = make or (lambda: _quantity(self.equations, name))
        named = NamedProgram(name, key, arena, make, notes or (lambda: None))
        code: CompiledFunction = self.compile(named)
        if what is not None and key is not None:
            arena.history.note(what, key, None if named.is_derived else named.derive)
        return code, named.notes

    def codes(
        self, name: str, makers: Mapping[ProgramLabel, tuple[str, Callable[[], Unscheduled]]]
    ) -> dict[ProgramLabel, CompiledFunction]:
        """Return the native code of programs that are compiled together.

        Args:
            name: name of all together.
            makers: name of each program, and the function that derives its outputs.
        """
        arena, what, key = self._given.system.arena, self._what(name), self.key(name)
        family = ProgramFamily(name, key, arena, list(makers.values()))
        codes = self.compile(family)
        if what is not None and key is not None and not family.taken_apart:
            arena.history.note(what, key, None if family.is_derived else family.derive)
        return dict(zip(makers, codes, strict=True))

    def key(self, name: str) -> str | None:
        """Return the key of a program: programs with equal keys are equal to the last bit. None if there is none."""
        what = self._what(name)
        return None if what is None else self._given.system.arena.history.key(what)

    def _what(self, name: str) -> str | None:
        """Return a text that identifies a program of these equations and the code that derives it."""
        digest, path = self._digest
        return None if digest is None else json.dumps([digest, path, name])

    @cached_property
    def _digest(self) -> tuple[str | None, tuple[str, ...]]:
        """Digest of the equations of the whole model, and the attributes that lead from there to these."""
        if self._base is None:
            return equations_digest(self._given), ()
        digest, path = self._base._digest
        return digest, (*path, self._part)


def _quantity(equations: Equations, name: str) -> Program:
    from kane.formulation.quantities.programs import program

    return program(equations, name)
