"""Write a page for each model of the library that simulates its equations in the browser, and an index: out/pages."""

import inspect
import sys
from html import escape
from pathlib import Path
from typing import Any

import kane
from kane.cli.run import initial_state

MODELS = (
    "andrews_squeezer", "bricard", "chain", "chaplygin_sleigh", "flyball_governor", "four_bar",
    "mobile_manipulator", "n_four_bar", "n_link_pendulum", "n_link_pendulum_to_vertical", "random_tree",
    "rolling_coin", "rolling_disk", "shopping_cart", "six_axis_arm", "slider_crank", "sliding_disk", "spacecraft_tree",
    "stanford_arm", "stanford_arm_dh", "stewart_platform", "stiff_flyball_governor", "stuck_shopping_cart",
    "whipple_bicycle", "wrist", "wrist_measure_numbers",
)  # fmt: skip
# Initial coordinates and speeds of models for which rest in the neutral position shows no motion.
STARTS: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "four_bar": ({"q1": 0.5}, {"u1": 7.0}),
    "n_link_pendulum": ({"q2": 1.0, "q3": 1.5, "q4": 2.0}, {}),
    "flyball_governor": ({"q2": 1.0472, "q3": 1.0472, "q4": 0.5}, {"u1": 6.2832}),
    "stiff_flyball_governor": ({"q2": 1.0472, "q3": 1.0472, "q4": 0.5}, {"u1": 6.2832}),
    "n_link_pendulum_to_vertical": ({"q2": 1.0, "q3": 2.0, "q4": 2.5}, {}),
    "stuck_shopping_cart": ({"q4": 0.6}, {"u1": 0.6}),
    "wrist_measure_numbers": ({"q2": 1.0}, {"u1": 1.0, "u3": 2.0}),
    "chaplygin_sleigh": ({}, {"u1": 1.0, "u2": 2.0}),
    "n_four_bar": ({}, {"a0_dot": 3.0}),
    "slider_crank": ({"q1": 0.5}, {"u1": 8.0}),
    "spacecraft_tree": ({}, {"root_wx": 0.3, "G1_1_dot": 0.5, "G3_dot": 0.8, "G4_1_dot": -0.6}),
    "whipple_bicycle": ({}, {"x_dot": 4.6, "roll_dot": 0.4}),
    "rolling_coin": ({"lean": 0.4}, {"u1": 1.0, "u2": 6.0, "u3": 12.0}),
    "shopping_cart": ({"q4": 0.6}, {"u1": 0.6}),
    "mobile_manipulator": ({}, {"u1": 0.5, "u5": 1.0}),
}
# Models whose initial values are only guesses for the assembly; for the others they are fixed.
FREE = ("flyball_governor",)


def start_of(dyn: kane.Dynamics, name: str) -> dict[str, Any]:
    """Return the initial state of a page, which satisfies the constraints."""
    if name not in STARTS:
        return initial_state(dyn)
    q, u = STARTS[name]
    if not dyn.equations.constraints:
        return {"q": q, "u": u}
    found = kane.assemble(dyn, q=q, u=u, fixed=() if name in FREE else [*q, *u])
    return {"q": found.q, "u": found.u}


def write_page(dyn: kane.Dynamics, name: str, path: Path) -> None:
    """Write the page of one model."""
    sliders = [leaf.name for leaf in (*dyn.equations.inputs, *dyn.equations.parameters)][:12]
    arrows = [title for title, _ in dyn.equations.tree.loads][:6]
    dyn.save_html(path, sliders=sliders, arrows=arrows, **start_of(dyn, name))


INDEX = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>kane: live pages</title><style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }}
dt {{ margin-top: .9rem; font-weight: 600; }} dd {{ margin: 0; opacity: .75; }}
</style></head><body><h1>The models of kane's library, live</h1>
<p>Each page simulates the equations that kane derived, in this browser. Pull at the bodies with the mouse.</p>
<dl>{rows}</dl></body></html>
"""


def main(folder: Path) -> None:
    """Write the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in MODELS:
        maker = getattr(kane.library, name)
        write_page(kane.build(kane.formulate(maker())), name, folder / f"{name}.html")
        words = (inspect.getdoc(maker) or "").partition("\n")[0]
        rows.append(f'<dt><a href="{name}.html">{escape(name)}</a></dt><dd>{escape(words)}</dd>')
        print(folder / f"{name}.html")
    (folder / "index.html").write_text(INDEX.format(rows="".join(rows)), "utf-8")
    print(folder / "index.html")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/pages"))
