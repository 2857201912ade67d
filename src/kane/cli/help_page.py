"""Page of ``kane --help``, without typer and rich, which take 0.3 s to import."""

from __future__ import annotations

import textwrap

# Each command is a function in the module of the same name, which is imported when the command is used.
SUMMARIES = {
    "new": "Write a model file in TOML: an example to be edited, or any MODEL in this form.",
    "run": "Simulate MODEL from rest in its neutral position; write the trajectory (NetCDF) and a plot (PNG).",
    "count": "Count the run-time operations of the equations of MODEL.",
    "check": "Check that independent derivations of MODEL agree and conservation laws hold; the exit status is 1 if "
    "not.",
    "diff": "Print the differences of two saved models or equations; the exit status is 0 if they are the same.",
    "export": "Write the equations of MODEL as C with a CMake project, NumPy, JAX, JavaScript, a LaTeX document or a "
    "listing.",
    "bench": "Compare speed and operation counts with other libraries (in a source checkout).",
    "view": "Show MODEL, with a slider for each coordinate, or play RUN, a file of kane run or run.save, in the "
    "browser.",
    "haptic": "Couple MODEL to an operator through a haptic device, and report ticks, energy and events.",
    "sweep": "Compute the runs of STUDY and print statistics; a repeated command resumes the study.",
}
OPTIONS = {"--version": "Show the version and exit.", "--help": "Show this message and exit."}
DESCRIPTION = """Multibody dynamics by Kane's method.

MODEL is the path of a model file in TOML, of a URDF or MJCF file, or of a file written by kane.save_model (.json). It
can be a Python file that defines `model`, a kane.Model or a function that returns one (the file is executed). It can
be a reference model (stanford_arm, chain:6) or a robot of the package example-robot-data (ur5, panda).

Exit status: 0 done, 1 an error that the message explains or a certificate that fails, 2 wrong usage.
"""


def help_page(width: int) -> str:
    """Return the text of ``kane --help`` in lines of at most ``width`` characters."""
    paragraphs = ["Usage: kane [OPTIONS] COMMAND [ARGS]...", *DESCRIPTION.strip().split("\n\n")]
    parts = [textwrap.fill(text, width, break_on_hyphens=False) for text in paragraphs]
    for title, rows in (("Options", OPTIONS), ("Commands", SUMMARIES)):
        indent = 4 + max(map(len, rows))
        lines = [
            textwrap.fill(f"  {name:{indent - 2}}{text}", max(width, 2 * indent), subsequent_indent=" " * indent)
            for name, text in rows.items()
        ]
        parts.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(parts)
