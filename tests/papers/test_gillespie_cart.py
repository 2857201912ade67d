"""Gillespie 2003, Example 3: a shopping cart, its caster free and stuck, against the printed equations.

The printed Eqs. 57-67 are typed below with the readings of ERRATA: q3 is measured to b1; tau is the moment along b3
that Eqs. 61, 63 and 67 lost; the u1 u2 term of Eq. 67 is positive.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import kane
from kane.dynamics.reactions.revealed import AuxiliarySpeeds, Multipliers, OrthogonalComplement
from kane.library import shopping_cart, stuck_shopping_cart

SETS = [
    dict(L1=0.4, L2=0.7, L3=0.08, mB=20.0, mC=1.5, IB=2.0),
    dict(L1=0.25, L2=0.5, L3=0.9, mB=3.0, mC=2.2, IB=0.4),  # L3 > L2: Z2 > 0, the other sign than above
]
every_state = pytest.mark.parametrize("seed", range(6))
# Some hundred products, a division by L3 or Z2 of a tenth of the other lengths: 1e3 roundings of 1.1e-16.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def free():
    return kane.build(kane.formulate(shopping_cart()))


@pytest.fixture(scope="module")
def stuck():
    return kane.build(kane.formulate(stuck_shopping_cart()))


def close(found, expected, scale=0.0):
    size = max(np.abs(expected).max(), scale)
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * size)


def drawn(seed):
    """A state of the cart with Z2 away from zero, independent speeds and their rates, inputs F and tau, parameters."""
    random = np.random.default_rng(seed)
    given = SETS[seed % 2]
    q = random.uniform(-3.0, 3.0, 4)
    q[3] = np.sign(q[3]) * (1.0 + 0.6 * abs(q[3]))  # |q4| > 1: L2 cos q4 is away from both L3
    return SimpleNamespace(
        given=given,
        q=q,
        u=random.normal(size=2),
        udot=random.normal(size=2),
        inputs=10.0 * random.normal(size=2),
        s4=np.sin(q[3]),
        c4=np.cos(q[3]),
        **given,
    )


def equation_60(x):
    """u3 = (-s4 u1 + L2 c4 u2) / L3."""
    return (-x.s4 * x.u[0] + x.L2 * x.c4 * x.u[1]) / x.L3


def equation_63(x, udot):
    """F1* and F2* of the cart with its caster free."""
    (u1, u2), u3, s4, c4 = x.u, equation_60(x), x.s4, x.c4
    L1, L2, L3, mB, mC, IB = x.L1, x.L2, x.L3, x.mB, x.mC, x.IB
    F1 = (
        (L1 * mB + L2 * mC * c4**2) * u2**2
        - L3 * mC * c4 * u3**2
        - mC * s4 * c4 * u1 * u2
        - (mB + mC * c4**2) * udot[0]
        - L2 * mC * s4 * c4 * udot[1]
    )
    F2 = (
        mC * L2**2 * s4 * c4 * u2**2
        - L2 * L3 * mC * s4 * u3**2
        - (L1 * mB + L2 * mC * s4**2) * u1 * u2
        - L2 * mC * s4 * c4 * udot[0]
        - (IB + mB * L1**2 + mC * L2**2 * s4**2) * udot[1]
    )
    return np.array([F1, F2])


def equation_65(x):
    """u2 / u1 = u3 / u1 with the caster stuck."""
    return x.s4 / (x.L2 * x.c4 - x.L3)


def equation_66(x, u):
    Z = {1: u[2] - u[1], 2: x.L3 - x.L2 * x.c4, 3: x.L2 * x.mC * (x.L2 - x.L3 * x.c4), 4: x.L1 * x.mB + x.L2 * x.mC}
    Z[5] = x.IB + Z[3] + x.mB * x.L1**2
    Z[6] = x.s4 * Z[1] * (Z[5] + x.mC * x.L3**2 - x.L2 * x.L3 * x.mC * x.c4) / Z[2] ** 2
    return Z


def equation_67(x, u, u1dot):
    """F1 and F1* of the cart with its caster stuck."""
    Z, s4, c4, L2, L3, mB, mC = equation_66(x, u), x.s4, x.c4, x.L2, x.L3, x.mB, x.mC
    active = x.inputs[0] - x.inputs[1] * s4 / Z[2]
    velocity = [
        (Z[4] - L2 * L3 * mC * s4**2 / Z[2]) * u[1] ** 2,
        -L3 * mC * (c4 - L2 * s4**2 / Z[2]) * u[2] ** 2,
        -Z[6] * c4 * u[0] + L2 * Z[6] * s4 * u[1],
        s4 * (Z[4] - L3 * mC * c4) / Z[2] * u[0] * u[1],
    ]
    mass = mB + Z[5] * s4**2 / Z[2] ** 2 + mC * (1 - L3 * s4**2 / Z[2])
    return active, np.array(velocity), mass * u1dot


@every_state
def test_kinematics_are_those_of_equation_57(free, seed):
    x = drawn(seed)
    u3 = equation_60(x)
    expected = [np.cos(x.q[2]) * x.u[0], np.sin(x.q[2]) * x.u[0], x.u[1], u3 - x.u[1]]
    close(free.kinematics(x.q, [*x.u, 0.0], parameters=x.given), expected, abs(u3))


@every_state
def test_the_constraints_are_those_of_equations_59_and_64(free, stuck, seed):
    x = drawn(seed)
    rows = [[-x.s4, x.L2 * x.c4, -x.L3], [0.0, -1.0, 1.0]]
    for dyn, expected in ((free, rows[:1]), (stuck, rows)):
        values = dyn.evaluate(dyn.function("constraints"), x.q, np.zeros(3), parameters=x.given)
        close(values[: 3 * len(expected)].reshape(-1, 3), np.array(expected))


@every_state
def test_partial_velocities_are_those_of_the_two_tables(free, stuck, seed):
    """Of P1, Bo, P3 and B: the tables before Eq. 61 and before Eq. 66, in N: v_r + sum D_sr v_s (Eq. 26)."""
    x = drawn(seed)
    Z2 = x.L3 - x.L2 * x.c4
    R = {name: pose.orientation for name, pose in free.poses(x.q, parameters=x.given).items()}
    (b1, b2, b3), c2, none = R["B"].T, R["C"][:, 1], np.zeros(3)
    tables = {
        free: [
            (b1, none),
            (b1, x.L1 * b2),
            (b1 + x.s4 * c2, x.L2 * b2 - x.L2 * x.c4 * c2),
            (none, b3),
        ],
        stuck: [
            (b1,),
            (b1 - x.L1 * x.s4 / Z2 * b2,),
            (b1 - x.L2 * x.s4 / Z2 * b2 + x.L3 * x.s4 / Z2 * c2,),
            (-x.s4 / Z2 * b3,),
        ],
    }
    for dyn, table in tables.items():
        on_B, on_Bo, on_P3 = (
            dyn.jacobian(body, x.q, at=at, parameters=x.given)
            for body, at in (("B", none), ("B", (x.L1, 0.0, 0.0)), ("C", (-x.L3, 0.0, 0.0)))
        )
        found = [on_B.linear, on_Bo.linear, on_P3.linear, on_B.angular]
        p = len(table[0])
        A = dyn.evaluate(dyn.function("constraints"), x.q, np.zeros(3), parameters=x.given)[: 3 * (3 - p)].reshape(
            -1, 3
        )
        D = -np.linalg.solve(A[:, p:], A[:, :p])
        for columns, expected in zip(found, table, strict=True):
            close((columns[:, :p] + columns[:, p:] @ D).T, np.array(expected), 10.0 * (1.0 + np.abs(D).max()))


@every_state
def test_the_caster_free_equations_are_those_of_63(free, seed):
    """inverse = -F*, the input matrix has F1 = F and F2 = tau; u3 and its derivative are not read."""
    x = drawn(seed)
    expected = -equation_63(x, x.udot)
    scale = np.abs(equation_63(x, 0 * x.udot)).max()
    found = free.inverse(x.q, [*x.u, 7.0], [*x.udot, 7.0], parameters=x.given)
    close(found, [*expected, 0.0], scale)
    udot = free.forward(x.q, [*x.u, 0.0], x.inputs, parameters=x.given)
    close(equation_63(x, udot[:2]) + x.inputs, np.zeros(2), scale + np.abs(x.inputs).max())


@every_state
def test_the_dependent_acceleration_is_the_time_derivative_of_equation_60(free, seed):
    """d/dt(-s4 u1 + L2 c4 u2 - L3 u3) = 0 with q4' = u3 - u2."""
    x = drawn(seed)
    udot, u3 = free.forward(x.q, [*x.u, 0.0], x.inputs, parameters=x.given), equation_60(x)
    turning = -(x.c4 * x.u[0] + x.L2 * x.s4 * x.u[1]) * (u3 - x.u[1])
    expected = (-x.s4 * udot[0] + x.L2 * x.c4 * udot[1] + turning) / x.L3
    close(udot[2], expected, (np.abs(udot).max() + abs(turning)) / x.L3)


@every_state
def test_the_caster_stuck_equations_are_those_of_67_and_their_velocity_terms_cancel(stuck, seed):
    x = drawn(seed)
    ratio = equation_65(x)
    u = x.u[0] * np.array([1.0, ratio, ratio])
    close(stuck.kinematics(x.q, [x.u[0], 0.0, 0.0], parameters=x.given)[2:], [u[1], 0.0])
    udot = stuck.forward(x.q, u, x.inputs, parameters=x.given)
    close(udot[1:], ratio * udot[0] * np.ones(2))
    active, velocity, inertia = equation_67(x, u, udot[0])
    assert np.abs(velocity).max() > 1e-3
    close(velocity.sum(), 0.0, np.abs(velocity).max())
    close(active - inertia, 0.0, abs(active))
    close(stuck.bias(x.q, u, parameters=x.given), np.zeros(3), np.abs(velocity).max())


@every_state
def test_the_stuck_cart_follows_from_the_free_one_by_equations_44_and_45(free, stuck, seed):
    """F~1 = F1 + D F2, F~1* = F1* + D F2*, D of Eq. 65 in the free cart's speeds, u2' = D u1' because q4 rests."""
    x = drawn(seed)
    D, u1 = equation_65(x), x.u[0]
    u = np.array([u1, D * u1, D * u1])
    M, bias = free.mass_matrix(x.q, parameters=x.given)[:2, :2], free.bias(x.q, u, parameters=x.given)[:2]
    combination = np.array([1.0, D])
    u1dot = combination @ (x.inputs - bias) / (combination @ M @ combination)
    scale = np.abs(combination * x.inputs).max() + np.abs(combination * bias).max()
    found = stuck.forward(x.q, u, x.inputs, parameters=x.given)[0]
    np.testing.assert_allclose(found, u1dot, rtol=0, atol=1e-12 * scale / (combination @ M @ combination))


@every_state
def test_the_free_cart_constrained_further_is_the_stuck_one(free, stuck, seed):
    """``kane.constrain``: Eq. 64."""
    x = drawn(seed)
    model = free.equations.model
    further = kane.build(kane.constrain(free.equations, model.rate("q4"), dependent=["u2", "u3"]))
    u = [x.u[0], 0.0, 0.0]
    expected = stuck.forward(x.q, u, x.inputs, parameters=x.given)
    close(further.forward(x.q, u, x.inputs, parameters=x.given), expected)


def pushed(dyn, x, dependents):
    """Rate of the kinetic energy along the motion, by fourth differences, and the power of F and tau."""
    u = np.array([*x.u, 0.0])
    qdot, udot = dyn.kinematics(x.q, u, parameters=x.given), dyn.forward(x.q, u, x.inputs, parameters=x.given)
    h = 1e-3

    def kinetic(t):
        return dyn.energy(x.q + t * qdot, u + t * udot, parameters=x.given).kinetic

    rate = (kinetic(-2 * h) - 8 * kinetic(-h) + 8 * kinetic(h) - kinetic(2 * h)) / (12 * h)
    return rate, x.inputs @ [u[0], dependents(x) if dependents else u[1]]


@every_state
def test_wheels_do_no_work(free, stuck, seed):
    """Energy changes at the power of F and tau; differences err by h^4 times fifth derivatives: 1e-8 of the terms."""
    x = drawn(seed)
    for dyn, second in ((free, None), (stuck, lambda x: equation_65(x) * x.u[0])):
        rate, power = pushed(dyn, x, second)
        terms = np.abs(x.inputs).max() * (1 + np.abs(x.u).max()) * 10 / x.L3
        assert rate == pytest.approx(power, abs=1e-7 * terms)


def test_the_free_cart_keeps_its_energy_while_its_caster_turns_round(free):
    """Backwards, caster and then cart turn until both trail. RK8 at 1e-9 a step over some hundred steps: 1e-7."""
    x = SimpleNamespace(s4=np.sin(0.05), c4=np.cos(0.05), u=(-1.0, 0.1), **SETS[0])
    run = kane.simulate(free, until=4.0, q={"q4": 0.05}, u=[*x.u, equation_60(x)])
    assert np.abs(run["q4"]).max() > np.pi
    assert run["u1"][0] < 0.0 < run["u1"][-1]
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-7)


def test_the_stuck_cart_coasts_on_a_circle(stuck):
    """u1 is constant, and P1 stays at |Z2 / s4| from a centre along b2; RK8 at 1e-9 over 10 s."""
    x = SimpleNamespace(s4=np.sin(0.6), c4=np.cos(0.6), **SETS[0])
    radius, u2 = 1.0 / equation_65(x), 1.1 * equation_65(x)  # along b2
    run = kane.simulate(stuck, until=10.0, q={"q4": 0.6, "q3": 0.2}, u=[1.1, u2, u2])
    np.testing.assert_allclose(run["u1"], 1.1, rtol=1e-12)
    centre = np.array([run["q1"] - radius * np.sin(run["q3"]), run["q2"] + radius * np.cos(run["q3"])])
    np.testing.assert_allclose(centre, centre[:, :1] * np.ones(len(run)), rtol=0, atol=1e-7)


@every_state
@pytest.mark.parametrize(
    "route", [AuxiliarySpeeds(), OrthogonalComplement(), Multipliers()], ids=lambda r: type(r).__name__
)
def test_lateral_forces_of_the_wheels_balance_the_cart(free, route, seed):
    """Newton for the whole cart along b2, and for the particle at P3 along c2 with the caster's moment balance."""
    x = drawn(seed)
    revealed = kane.reveal_reactions(free.equations, "back wheels", "caster wheel")
    u = np.array([*x.u, equation_60(x)])
    values = kane.RevealedReactions(free, revealed, route=route)(x.q, u, x.inputs, parameters=x.given)
    back, caster = values
    udot = free.forward(x.q, u, x.inputs, parameters=x.given)
    # Accelerations along b1, b2: of Bo, and of P3 = P1 + L2 b1 - L3 c1.
    a_P1 = np.array([udot[0], x.u[0] * x.u[1]])
    a_B = a_P1 + x.L1 * np.array([-(x.u[1] ** 2), udot[1]])
    c1, c2 = np.array([x.c4, x.s4]), np.array([-x.s4, x.c4])
    a_C = a_P1 + x.L2 * np.array([-(x.u[1] ** 2), udot[1]]) + x.L3 * (u[2] ** 2 * c1 - udot[2] * c2)
    total = x.mB * a_B + x.mC * a_C
    outer = np.array([x.inputs[0], 0.0]) + [0.0, back] + caster * c2
    scale = np.abs(total).max() + np.abs(outer).max() + x.mC * x.L3 * abs(udot[2])
    close(outer, total, scale)
    close(caster, x.mC * a_C @ c2, scale)  # no moment about the caster's axis
