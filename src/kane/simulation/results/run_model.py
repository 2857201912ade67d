"""Model, names and parameters of a run, from memory or from the file of the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kane.errors import ImportFileError, ModelError

if TYPE_CHECKING:
    from kane.dynamics.dynamics import Dynamics
    from kane.formulation.equations import Equations


def dynamics_of(run: Any, model: Equations | None = None) -> Dynamics:
    """Return the dynamics of a run; for a run from a file, build them from its model or from ``model``.

    Raises:
        ModelError: the file does not contain its model.
        ImportFileError: the model in the file is damaged.
    """
    if run._dyn is None:
        from kane.dynamics.build import build
        from kane.formulation.formulate import formulate
        from kane.model.model_form import model_from_form

        if model is not None:
            run._dyn = build(model)
            return run._dyn
        if not run._form:
            raise ModelError(
                "this run was read from a file that does not hold its model; simulate it again and save it, or "
                "give the model: kane.view(run, model=model)"
            )
        try:
            run._dyn = build(formulate(model_from_form(json.loads(run._form))))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ImportFileError(f"the model in the file of this run is damaged: {error}; simulate it again") from None
    return run._dyn


def names_of(run: Any, kind: str) -> list[str]:
    """Return the names of one kind: "coordinate", "speed", "input" or "parameter"."""
    return [str(name) for name in run._values(kind)]


def parameters_of(run: Any) -> dict[str, float]:
    """Return the parameter values of this run by name."""
    return dict(zip(names_of(run, "parameter"), map(float, run._values("parameters")), strict=True))
