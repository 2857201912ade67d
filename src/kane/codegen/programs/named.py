"""Programs that are derived only when they are needed; a key identifies each derivation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kane.expression.arena import Arena
from kane.expression.node import Expr

if TYPE_CHECKING:
    from kane.codegen.programs.alike import AlikeProgram, Unscheduled
    from kane.codegen.programs.program import Program


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


class ProgramFamily:
    """Programs that are compiled together, because many of them may be alike; one key identifies all.

    Attributes:
        name: name of the whole, for messages.
        key, arena: see ``NamedProgram``.
        names: names of the programs.
        taken_apart: whether one of the programs was derived by itself, which makes nodes that the key does not cover.
    """

    def __init__(
        self, name: str, key: str | None, arena: Arena, makers: Sequence[tuple[str, Callable[[], Unscheduled]]]
    ) -> None:
        """Name programs; ``makers`` are the name of each and the function that derives its outputs."""
        self.name, self.key, self.arena = name, key, arena
        self.names = [name for name, _ in makers]
        self._makers = [make for _, make in makers]
        self.taken_apart = False

    @property
    def alike(self) -> list[AlikeProgram]:
        """The programs, derived after all postponed derivations of their arena."""
        self.arena.catch_up()
        return self.derive()

    @property
    def is_derived(self) -> bool:
        """Whether the programs were derived in this process."""
        return "_derived" in vars(self)

    def derive(self) -> list[AlikeProgram]:
        """Derive the programs, once."""
        return self._derived

    @cached_property
    def _derived(self) -> list[AlikeProgram]:
        from kane.codegen.programs.alike import find_alike

        return find_alike(self._unscheduled)

    @cached_property
    def _unscheduled(self) -> list[Unscheduled]:
        return [make() for make in self._makers]

    def members(self) -> list[NamedProgram]:
        """Return each program by itself."""

        def of(number: int) -> Callable[[], Program]:
            def make() -> Program:
                self.taken_apart = True
                return self._unscheduled[number].program

            return make

        return [NamedProgram(name, None, self.arena, of(k)) for k, name in enumerate(self.names)]


def derived(source: Program | NamedProgram) -> Program:
    """Return a program, derived if it is a named one."""
    return source.program if isinstance(source, NamedProgram) else source
