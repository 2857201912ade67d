"""Gillespie 2003, Example 2: well-chosen generalized speeds shorten the equations of a spherical wrist.

Prints Table 3 with this library's counts, and the equations with u_i = w_NC . c_i, the paper's Eqs. (49) and (50).
"""

import kane

PRINTED = {
    "u = dq/dt, kinematical, Eq. (48)": (0, 0, 0),
    "u = dq/dt, dynamical, not shown": (790, 285, 372),
    "u_i = w . c_i, kinematical, Eq. (50)": (10, 4, 9),
    "u_i = w . c_i, dynamical, Eq. (49)": (29, 16, 10),
}


def counts(eqs: kane.Equations) -> list[tuple[int, int, int]]:
    """Return (mul and div, add, sin and cos) of the kinematical and of the dynamical equations."""
    table = eqs.count()
    return [(row["mul"] + row["div"], row["add"], row["trig"]) for row in (table["kinematics"], table["forward"])]


def main() -> None:
    """Print the table and the equations."""
    rates = kane.formulate(kane.library.wrist())
    measures = kane.formulate(kane.library.wrist_measure_numbers())
    print(f"{'':<40}{'printed: mul/div, add, trig':<30}here")
    for (name, printed), here in zip(PRINTED.items(), counts(rates) + counts(measures), strict=True):
        print(f"{name:<40}{printed!s:<30}{here}")
    print("\nEquations with u_i = w_NC . c_i:\n")
    print(measures.listing())


if __name__ == "__main__":
    main()
