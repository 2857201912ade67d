"""SymPy's KanesMethod on the pendulum of n links on a cart that kane.library.n_link_pendulum describes."""

from typing import Any


def kanes_method(n: int, *, relative: bool) -> tuple[Any, Any, dict[Any, float]]:
    """Derives the equations with symbols for the masses [kg], the length [m] and the acceleration of free fall [m/s^2].

    Args and first three results: as ``declared``, with the equations formed.
    """
    method, efforts, values, bodies, loads = declared(n, relative=relative)
    method.kanes_equations(bodies, loads)
    return method, efforts, values


def declared(n: int, *, relative: bool) -> tuple[Any, Any, dict[Any, float], Any, Any]:
    """Declares the pendulum.

    Args:
        n: number of links.
        relative: whether an angle is that of a link to the link before, as kane's is, or to the vertical, in which
            SymPy is faster by far.

    Returns:
        SymPy's KanesMethod, its equations not formed; the symbols of the efforts; the values of the other symbols;
        bodies; loads.
    """
    from sympy import symbols
    from sympy.physics import mechanics

    mc, m, l, g = symbols("mc m l g")
    force = mechanics.dynamicsymbols("F")
    q, u = (list(mechanics.dynamicsymbols(f"{letter}:{n + 1}")) for letter in ("q", "u"))
    ground, origin = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    origin.set_vel(ground, 0)
    cart = origin.locatenew("C", q[0] * ground.x)
    cart.set_vel(ground, u[0] * ground.x)
    bodies, loads = [mechanics.Particle("cart", cart, mc)], [(cart, force * ground.x - mc * g * ground.y)]
    frame, point = ground, cart
    for i in range(1, n + 1):
        before, start = (frame if relative else ground), point
        frame = before.orientnew(f"B{i}", "Axis", (q[i], before.z))
        frame.set_ang_vel(before, u[i] * before.z)
        point = start.locatenew(f"P{i}", -l * frame.y)
        point.v2pt_theory(start, ground, frame)
        bodies.append(mechanics.Particle(f"bob{i}", point, m))
        loads.append((point, -m * g * ground.y))
    rates = [qi.diff() - ui for qi, ui in zip(q, u, strict=True)]
    method = mechanics.KanesMethod(ground, q_ind=q, u_ind=u, kd_eqs=rates)
    return method, [force], {mc: 1.0, m: 1.0, l: 1.0, g: 9.81}, bodies, loads
