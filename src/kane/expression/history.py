"""History of an arena as a hash, and derivations that are postponed because their results are known.

The order in which nodes are made decides the order of sums and products, and so the last bits of results. Two processes
therefore share a result only if they made the same nodes in the same order. A derivation whose result comes from the
cache is postponed: it is made up for before the arena makes its next new node, so that all nodes get the ids that they
would have without a cache.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from kane.errors import FileError
from kane.expression.operations import CONSTANT

if TYPE_CHECKING:
    from kane.expression.arena import Arena


class History:
    """Hash of the nodes of an arena in their order, where each known derivation counts by its key."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._hash = hashlib.sha256()
        self._hashed = 0  # nodes that the hash covers, from the oldest on
        self._known = True

    @property
    def state(self) -> str | None:
        """The hash of all nodes and derivations so far; None if a leaf carries an object that JSON cannot express."""
        nodes = self._arena.nodes
        end = len(nodes)
        if self._known and self._hashed < end:
            numbers, parts = [], []
            for node in nodes[self._hashed : end]:
                numbers += (node.op, node.id, *[a.id for a in node.args])
                if node.data is not None:
                    parts.append(node.data.hex() if node.op == CONSTANT else self._written(node.data))
            self._hash.update(struct.pack(f"<{len(numbers)}q", *numbers))
            self._hash.update("\n".join(parts).encode())
        self._hashed = end
        return self._hash.hexdigest() if self._known else None

    def derived(self, key: str) -> None:
        """Note that the nodes made since the last call of ``state`` follow from a derivation with this key."""
        self._hash.update(key.encode())
        self._hashed = len(self._arena.nodes)

    def postpone(self, key: str, derive: Callable[[], object]) -> None:
        """Postpone the derivation with this key, see ``Arena.postpone``."""
        self._hash.update(key.encode())
        self._arena.postpone(derive)

    def made_up_for(self) -> None:
        """Note that the newest nodes follow from postponed derivations, whose keys the hash has."""
        self._hashed = len(self._arena.nodes)

    def _written(self, data: object) -> str:
        if data.__class__ is str:
            return f"'{data}'"
        from kane.expression.form import Writer  # here, because it imports the arena

        classes: list[object] = []
        try:
            form = Writer(self._arena, foreign=classes)(data, "a leaf")
        except FileError:
            self._known = False
            return ""
        # An object that is no dataclass has no form: its hash would say nothing of it.
        self._known = self._known and all(isinstance(c, type) for c in classes)
        return json.dumps([form, [f"{c.__module__}.{c.__qualname__}" for c in classes if isinstance(c, type)]])
