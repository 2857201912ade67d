"""Angeles, Ma & Rojas 1988, Table 1: operations of inverse dynamics of n-axis arms, with a row for this library.

The library's numbers are counted on arms in general position; all arms with n revolute joints have the same count.
"""

import numpy as np

import kane

# Authors, method, multiplications and additions for n joints, and for six.
PRINTED = (
    ("Hollerbach", "EL", "412n - 277", "320n - 201", 2195, 1719),
    ("Luh et al.", "NE", "150n - 48", "131n - 48", 852, 738),
    ("Walker and Orin", "NE", "137n - 22", "101n - 11", 800, 595),
    ("Hollerbach and Sahar", "NE", "", "", 688, 558),
    ("Kane and Levinson", "Kane", "", "", 646, 394),
    ("Khalil et al.", "NE", "105n - 92", "94n - 86", 538, 478),
    ("Angeles et al.", "Kane", "105n - 109", "90n - 105", 521, 435),
    ("Angeles et al., Z0 = Z1", "Kane", "", "", 513, 432),
)


def general_arm(n: int, *, coincident: bool) -> dict[str, int]:
    """Return the operations of inverse dynamics of a random arm; with Z0 = Z1 and O0 = O1 if ``coincident``."""
    random = np.random.default_rng(0)
    rows = []
    for i in range(n):
        alpha, a, b, mass = random.uniform(0.2, 1.0, 4) * (0.0 if coincident and i == 0 else 1.0)
        com, moments, products = random.uniform(0.1, 0.2, 3), random.uniform(2.0, 2.5, 3), random.uniform(0.1, 0.2, 3)
        inertia = (*moments, *products)
        rows.append(dict(alpha=alpha, a=a, b=b, theta=0.0, mass=mass or 1.0, com=com, inertia=inertia))
    return kane.formulate(kane.from_dh(rows, convention="angeles")).count()["inverse"]


def formula(counts: list[int], first: int) -> str:
    """Return the formula c n - d of counts for first, first + 1, ... joints; empty if they are not linear in n."""
    slopes = set(np.diff(counts).tolist())
    if len(slopes) > 1:
        return ""
    slope = slopes.pop()
    constant = counts[0] - slope * first
    return f"{slope}n {'-' if constant < 0 else '+'} {abs(constant)}"


def main() -> None:
    """Print the table."""
    print(f"{'Author(s)':<26}{'Method':<8}{'mul':<14}{'add':<14}{'mul, n = 6':>11}{'add, n = 6':>11}")
    rows = list(PRINTED)
    for coincident in (False, True):
        counts = [general_arm(n, coincident=coincident) for n in range(6, 10)]
        mul, add = ([count[word] for count in counts] for word in ("mul", "add"))
        author = "kane" + (", Z0 = Z1" if coincident else "")
        rows.append((author, "Kane", formula(mul, 6), formula(add, 6), mul[0], add[0]))
    for author, method, mul_n, add_n, mul_6, add_6 in rows:
        print(f"{author:<26}{method:<8}{mul_n:<14}{add_n:<14}{mul_6:>11}{add_6:>11}")


if __name__ == "__main__":
    main()
