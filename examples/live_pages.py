"""A page for each model of the library that simulates its equations in the browser, and an index: out/pages."""

import sys
from html import escape
from pathlib import Path
from typing import Any

import kane
from kane.cli.run import initial_state

MODELS = (
    "andrews_squeezer",
    "bricard",
    "chain",
    "chaplygin_sleigh",
    "flyball_governor",
    "four_bar",
    "mobile_manipulator",
    "n_four_bar",
    "n_link_pendulum",
    "random_tree",
    "rolling_coin",
    "rolling_disk",
    "shopping_cart",
    "six_axis_arm",
    "slider_crank",
    "sliding_disk",
    "spacecraft_tree",
    "stanford_arm",
    "stewart_platform",
    "whipple_bicycle",
    "wrist",
)
# Where rest in the neutral position shows nothing: coordinates and speeds to begin with.
STARTS: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "four_bar": ({"q1": 0.5}, {"u1": 7.0}),
    "n_link_pendulum": ({"q2": 1.0, "q3": 1.5, "q4": 2.0}, {}),
    "flyball_governor": ({"q2": 1.0472, "q3": 1.0472, "q4": 0.5}, {"u1": 6.2832}),
}


def start_of(dyn: kane.Dynamics, name: str) -> dict[str, Any]:
    """Where a page begins, on the constraints."""
    if name not in STARTS:
        return initial_state(dyn)
    q, u = STARTS[name]
    if not dyn.equations.constraints:
        return {"q": q, "u": u}
    found = kane.assemble(dyn, q=q, u=u, fixed=[*q, *u] if name == "four_bar" else ())
    return {"q": found.q, "u": found.u}


def main(folder: Path) -> None:
    """Write the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in MODELS:
        dyn = kane.build(kane.formulate(getattr(kane.library, name)()))
        sliders = [leaf.name for leaf in (*dyn.equations.inputs, *dyn.equations.parameters)][:12]
        dyn.save_html(folder / f"{name}.html", sliders=sliders, **start_of(dyn, name))
        rows.append(f'<li><a href="{name}.html">{escape(name)}</a>')
        print(folder / f"{name}.html")
    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>kane: live pages</title>'
    (folder / "index.html").write_text(f"{head}<h1>kane: live pages</h1><ul>{''.join(rows)}</ul>", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/pages"))
