"""Programs that are derived only when they are needed; a key identifies each derivation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kane.codegen.programs.program import Program
from kane.expression.arena import Arena
from kane.expression.node import Expr


class NamedProgram:
    """A program with a key: programs with equal keys are equal to the last bit.

    Attributes:
        name: name of the program, for messages.
        key: hash of everything on which the derivation depends; None if there is no such hash.
        arena: arena of its expressions.
    """

    def __init__(
        self,
        name: str,
        key: str | None,
        arena: Arena,
        make: Callable[[], Program],
        notes: Callable[[], Any] = lambda: None,
    ) -> None:
        """Name a program.

        Args:
            name, key, arena: see the class.
            make: derives the program.
            notes: derives what callers need besides, as JSON expresses it.
        """
        self.name, self.key, self.arena = name, key, arena
        self._make, self._find_notes = make, notes
        self._made: tuple[Program, Any] | None = None
        self._known_notes: Any = None

    @property
    def program(self) -> Program:
        """The program, derived after all postponed derivations of its arena."""
        self.arena.catch_up()
        return self.derive()[0]

    @property
    def is_derived(self) -> bool:
        """Whether the program was derived in this process."""
        return self._made is not None

    @property
    def notes(self) -> Any:
        """What callers need besides the program."""
        return self._known_notes if self._made is None else self._made[1]

    def know(self, notes: Any) -> None:
        """Take notes from the cache instead of deriving the program."""
        self._known_notes = notes

    def derive(self) -> tuple[Program, Any]:
        """Derive the program and its notes, once."""
        if self._made is None:
            self._made = self._make(), self._find_notes()
        return self._made

    def reads(self, leaves: Any) -> frozenset[Expr]:
        """Return leaves by operation and name, without those that only a derivation would make."""
        return frozenset(self.arena.leaf(op, name) for op, name in leaves if self.arena.has_leaf(op, name))


def derived(source: Program | NamedProgram) -> Program:
    """Return a program, derived if it is a named one."""
    return source.program if isinstance(source, NamedProgram) else source
