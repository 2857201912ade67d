"""History of an arena as a hash, by which two processes recognize derivations that give the same nodes.

The order in which nodes are made decides the order of sums and products, and so the last bits of results. Two processes
therefore share a result only if they made the same nodes in the same order. A derivation whose result comes from the
cache is postponed: it comes before the next new node of the arena, so that all nodes get the ids that they would have
without a cache.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from kane.expression.node import Expr
from kane.expression.operations import CONSTANT

if TYPE_CHECKING:
    from kane.expression.arena import Arena


class History:
    """Hash of the nodes of an arena in their order, where each known derivation counts by its key.

    Attributes:
        keys: key of each derivation, by what it derives.
    """

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._state: str | None = ""
        self._hashed = 0  # number of nodes that the hash covers, from the oldest on
        self.keys: dict[str, str] = {}

    def key(self, what: str) -> str | None:
        """Return the key of a derivation: equal keys give equal nodes.

        A derivation that is repeated finds the nodes that it made, and keeps its key. The key is None if a leaf of the
        arena carries an object whose content is unknown.
        """
        self._advance()
        if what not in self.keys and self._state is not None:
            return hashlib.sha256(f"{self._state} {what}".encode()).hexdigest()
        return self.keys.get(what)

    def note(self, what: str, key: str, derive: Callable[[], object] | None) -> None:
        """Note a derivation that was made, or postpone ``derive``; the next nodes follow after it."""
        if what in self.keys:
            return
        self.keys[what] = key
        self._state = hashlib.sha256(f"{self._state} {key}".encode()).hexdigest()
        if derive is None:
            self.caught_up()
        else:
            self._arena.postpone(derive)

    def caught_up(self) -> None:
        """Note that the newest nodes follow from derivations, whose keys the hash has."""
        self._hashed = len(self._arena.nodes)

    @property
    def sent(self) -> tuple[str | None, dict[str, str]]:
        """What pickle sends of the history beside all nodes."""
        self._advance()
        return self._state, self.keys

    def receive(self, state: str | None, keys: dict[str, str]) -> None:
        """Continue the history of the arena of which this one is a copy."""
        self._state, self.keys = state, dict(keys)
        self.caught_up()

    def _advance(self) -> None:
        """Add the nodes to the hash that were made outside of known derivations."""
        first, nodes = self._hashed, self._arena.nodes
        self._hashed = len(nodes)
        if first == self._hashed or self._state is None:
            return
        numbers: list[int] = []
        carried = []
        for node in nodes[first : self._hashed]:
            numbers += (node.op, node.id, *[a.id for a in node.args])
            if node.data is not None:
                carried.append(node.data.hex() if node.op == CONSTANT else _form(node.data))
        if None in carried:
            self._state = None
            return
        content = struct.pack(f"<{len(numbers)}q", *numbers) + json.dumps([self._state, carried]).encode()
        self._state = hashlib.sha256(content).hexdigest()


def _form(x: Any) -> Any:
    """Return what a leaf carries as JSON expresses it, with expressions by their ids; None if that is unknown."""
    if isinstance(x, (str, int, float)):
        return repr(x)
    if isinstance(x, Expr):
        return [x.id]
    if isinstance(x, tuple):
        parts = [_form(part) for part in x]
    elif is_dataclass(x) and not isinstance(x, type):
        parts = [_form(getattr(x, field.name)) for field in fields(x)]
    else:
        return None
    return None if None in parts else [f"{type(x).__module__}.{type(x).__qualname__}", parts]
