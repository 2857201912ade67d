"""Named programs of equations as listings and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from kane.codegen.emit.latex import emit_latex
from kane.codegen.emit.listing import emit_listing
from kane.codegen.emit.typesetting import Typesetting
from kane.expression.node import Expr
from kane.formulation.quantities.programs import written_quantity

if TYPE_CHECKING:
    from kane.formulation.equations import Equations

# Options, or digits, names and columns.
Style: TypeAlias = "Typesetting | tuple[int, Mapping[str, str], int]"


def written_listing(equations: Equations, name: str, style: Style) -> str:
    """Return a program as text.

    Raises:
        ModelError: another name belongs to no leaf, is given to two leaves, or is not an identifier.
    """
    style = _read(equations, style)
    style.require_identifiers()
    return emit_listing(_outputs(equations, name), style=style)


def written_latex(equations: Equations, name: str, style: Style) -> str:
    """Return a program as a LaTeX align environment.

    Raises:
        ModelError: a symbol belongs to no leaf, or is given to two leaves.
    """
    return emit_latex(_outputs(equations, name), style=_read(equations, style))


def _read(equations: Equations, style: Style) -> Typesetting:
    found = style if isinstance(style, Typesetting) else Typesetting(*style)
    require_leaves(equations, found)
    return found


def require_leaves(equations: Equations, style: Typesetting) -> None:
    """Raise unless other names belong to coordinates, speeds, inputs and parameters."""
    if style.names:
        style.require_names([x.name for x in (*equations.q, *equations.u, *equations.inputs, *equations.parameters)])


def _outputs(equations: Equations, name: str) -> list[tuple[str, Expr]]:
    found = written_quantity(equations, name)
    return list(zip(found.names, found.outputs, strict=True))
