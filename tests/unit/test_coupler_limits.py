"""Who vouches: the loop's characteristic equation written down apart, circuits of passive parts, published formulas."""

import cmath
import math

import numpy as np
import pytest

import kane
from kane.haptics.devices.device import Traits
from kane.haptics.safety.sampled_loop import SampledLoop

HANDLE = {"rate": 1000.0, "mass": 0.1, "damping": 0.1, "force": 10.0}


def traits(**values):
    return Traits(**{**HANDLE, **values})


def residue(m, b, T, late):
    """Of the handle before a hold that is late by a part of a sample: x(z)/F(z) z^-d as sums over its poles 0, 0, -b/m.

    Modified z-transform of 1/(m s^2 + b s): with P(h) = (h - (1 - e^(-b h/m)) m/b)/b, the answer to a unit step.
    """

    def step(h):
        return 0.0 if h <= 0.0 else (h - (1 - math.exp(-b * h / m)) * m / b) / b

    def transfer(z):
        # sum over k of (P(kT - late) - P((k-1)T - late)) z^-k, until the rest is a geometric series of known ratio
        e, total, k0 = math.exp(-b * T / m), 0.0, math.ceil(late / T) + 1
        for k in range(1, k0 + 1):
            total += (step(k * T - late) - step((k - 1) * T - late)) * z**-k
        # beyond k0: (T - (m/b) e^(-b(kT - late)/m) (1/e - 1)) / b
        A, C = T / b, m / b**2 * math.exp(b * late / m) * (1 / e - 1)
        total += A * z ** -(k0 + 1) / (1 - 1 / z) - C * (e / z) ** (k0 + 1) / (1 - e / z)
        return total

    return transfer


def gain_margin(m, b, T, late, ratio):
    """The K at which 1 + K (1 + ratio (1 - 1/z)) x/F has its first zero on the unit circle, B = ratio K T."""
    transfer = residue(m, b, T, late)

    def open_loop(s):
        z = cmath.exp(1j * s)
        return transfer(z) * (1 + ratio * (1 - 1 / z))

    grid = np.geomspace(1e-5, math.pi, 3000)
    values = np.array([open_loop(s) for s in grid])
    crossings = [k for k in range(len(grid) - 1) if values[k].imag * values[k + 1].imag < 0 and values[k].real < 0]
    found = []
    for k in crossings:
        low, high = grid[k], grid[k + 1]
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if open_loop(low).imag * open_loop(middle).imag > 0 else (low, middle)
        found.append(-1 / open_loop(low).real)
    return min(found)


@pytest.mark.parametrize(
    ("m", "b", "T", "td"),
    [
        (0.1, 0.1, 1e-3, 0.0),
        (0.1, 0.1, 1e-3, 1e-3),
        (0.3, 0.5, 1e-3, 0.4e-3),
        (0.05, 1.0, 5e-3, 7.5e-3),
        (1, 0.2, 1e-3, 3e-3),
    ],
)
def test_the_largest_stable_stiffness_is_where_the_characteristic_equation_has_a_root_on_the_unit_circle(m, b, T, td):
    """Along lines B = ratio K T: the limit by eigenvalues is that by the loop's gain, found from other formulas."""
    loop = SampledLoop(m, b, T, td)
    for ratio in (0.5, 3.0):
        K = gain_margin(m, b, T, td, ratio)
        assert loop.is_stable(K * (1 - 1e-6), ratio * K * T * (1 - 1e-6))
        assert not loop.is_stable(K * (1 + 1e-6), ratio * K * T * (1 + 1e-6))


def test_the_measured_table_of_stiffnesses_comes_out():
    """shared/realtime.md, section 1.1, handle 0.1 kg, 0.1 N s/m: measured there by another program."""
    for rate, passive, stable, late in ((200, 40, 234, 78), (1000, 200, 1194, 398), (4000, 800, 4794, 532)):
        prompt = kane.haptics.coupler_limits(traits(rate=rate), damping=0.5)
        assert prompt.stable == pytest.approx(stable, rel=2e-3)
        assert kane.haptics.coupler_limits(traits(rate=rate), damping=0.0).passive == pytest.approx(passive, rel=1e-9)
        slow = traits(rate=rate, delay=max(1e-3, 1 / rate))
        assert kane.haptics.coupler_limits(slow, damping=0.5).stable == pytest.approx(late, rel=6e-3)


def test_the_rule_of_thumb_holds_within_two_percent_unless_the_wall_is_strongly_damped():
    rng = np.random.default_rng(1)
    for _ in range(10):
        T, m, b = rng.choice([2.5e-4, 1e-3, 5e-3]), rng.uniform(0.05, 0.5), rng.uniform(0.05, 0.5)
        loop = SampledLoop(m, b, T, rng.uniform(0.0, 3.0) * T)
        B = min(b, 0.01 * m / (T + loop.delay))
        assert loop.largest_stable(B) == pytest.approx(loop.rule(B), rel=0.02 if b * T < 0.01 * m else 0.1)


def test_without_delay_a_wall_is_passive_where_b_exceeds_half_k_t_and_the_damping():
    for b, B, T in ((0.1, 0.05, 1e-3), (1.0, 0.3, 5e-3)):
        assert SampledLoop(0.1, b, T, 0.0).largest_passive(B) == pytest.approx(2 * (b - B) / T, rel=1e-6)
        assert SampledLoop(0.1, b, T, 0.0).largest_passive(1.01 * b) == 0.0
    assert SampledLoop(0.1, 0.1, 1e-3, 1e-3).largest_passive(0.0) == pytest.approx(0.1 / 1.5e-3, rel=1e-6)


def drawn(loop, K, B, angles):
    """Energy of handle and wall in one sample, over the loss by b alone; negative where some motion draws energy.

    The handle passes x(kT) = a z^k and x(kT + f T) = c z^k. Between them it moves at constant velocity, because this
    loses least to b. The wall's force of sample k acts from x(kT + td) to x(kT + T + td). The energy is a Hermitian
    form of (a, c), whose determinant is returned. Without a fraction of delay, a is c.
    """
    T, b = loop.period, loop.damping
    whole, part = divmod(round(loop.delay / T * 1e6), 10**6)
    f, z = part * 1e-6, np.exp(1j * angles)
    work = (K + (B + K * loop.lead) * (1 - 1 / z) / T) * np.conj(z**whole * (z - 1))
    if f == 0.0:
        return 1.0 + T * work.real / (b * np.abs(z - 1) ** 2)
    own = b / (f * T) + b / ((1 - f) * T)
    mixed = -b / (f * T) - b * z / ((1 - f) * T) + work / 2
    return (own**2 - np.abs(mixed) ** 2) * T**2 / (b * np.abs(z - 1)) ** 2


@pytest.mark.parametrize("kind", ["no delay", "a whole delay", "a fractional delay"])
def test_the_passive_stiffness_is_where_some_motion_draws_energy_from_the_wall(kind):
    """Random devices and leads; the worst frequency by a dense grid and SciPy's minimiser, the stiffness by brentq."""
    from scipy.optimize import brentq, minimize_scalar

    rng, grid = np.random.default_rng(7), np.geomspace(2e-4, math.pi, 1000)
    for k in range(12):
        b, T = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-4, -2)
        samples = {"no delay": 0.0, "a whole delay": rng.integers(1, 6), "a fractional delay": rng.uniform(0.0, 6.0)}[
            kind
        ]
        td = round(float(samples), 6) * T
        loop = SampledLoop(0.1, b, T, td, lead=k % 2 * rng.uniform(0.0, 0.9) * (T / 2 + td))
        B = k % 3 * rng.uniform(0.0, 0.4) * b

        def least(K, loop=loop, B=B):
            values = drawn(loop, K, B, grid)
            low, high = grid[max(values.argmin() - 1, 0)], grid[min(values.argmin() + 1, len(grid) - 1)]
            best = minimize_scalar(
                lambda s: drawn(loop, K, B, s), bounds=(low, high), method="bounded", options={"xatol": 1e-9}
            )
            return min(values.min(), best.fun)

        found = loop.largest_passive(B)
        if least(0.0) < 0.0:
            assert found == 0.0
        else:
            assert found == pytest.approx(brentq(least, 0.0, 2.1 * b / T, rtol=1e-10), rel=2e-6)


def test_a_delay_of_a_part_of_a_sample_costs_passivity_at_slow_motions_too():
    """The device of issue 24: b > K (T/2 + td) - B says 1175.73, and the form of ``drawn`` for w -> 0 says 1095.83."""
    b, T, f, B = 1.0, 1e-3, 0.4065, 0.0658
    loop = SampledLoop(0.1, b, T, f * T)
    share = (math.sqrt((1 + 2 * f) ** 2 + 4 * f * (1 - f) * (1 + B)) - (1 + 2 * f)) / (2 * f * (1 - f))
    assert loop.largest_passive(B) == pytest.approx(2 * b / T * share, rel=1e-9) == pytest.approx(1095.83, abs=0.01)
    limits = kane.haptics.coupler_limits(kane.haptics.Simulated(mass=0.1, damping=1, delay=f * T), damping=B)
    assert limits.passive == loop.largest_passive(B)


def test_the_passive_stiffness_does_not_leap_where_a_delay_becomes_a_whole_number_of_samples():
    """Also by rounding of the delay: the last coefficients of the condition are rounding then."""
    for whole in (1, 3, 30):
        exact = SampledLoop(0.1, 0.2, 1e-3, whole * 1e-3).largest_passive(0.05)
        for far in (1e-16, 1e-13, 1e-10, 1e-8):
            for way in (-1, 1):
                near = SampledLoop(0.1, 0.2, 1e-3, whole * 1e-3 * (1 + way * far)).largest_passive(0.05)
                assert near == pytest.approx(exact, rel=1e-10 + 100 * whole * far)


def closed_with_hand(loop, K, B, hand):
    """The spectral radius of the wall in the hand: mass, damping and spring added to the handle, by expm."""
    from scipy.linalg import expm

    M, c, k = loop.mass + hand[0], loop.damping + hand[1], hand[2]
    T, late = loop.period, round(loop.delay / loop.period)
    plant = expm(T * np.array([[0, 1, 0], [-k / M, -c / M, 1 / M], [0, 0, 0]]))
    A = np.zeros((3 + late, 3 + late))
    force = np.zeros((1 + late, 3 + late))
    force[0, :3] = K + B / T, 0.0, -B / T
    force[1:, 3:] = np.eye(late)
    A[:2, :2] = plant[:2, :2]
    A[:2] -= np.outer(plant[:2, 2], force[late])
    A[2, 0] = 1.0
    A[3:] = force[:late]
    return abs(np.linalg.eigvals(A)).max()


@pytest.mark.parametrize("hundreds", [1, pytest.param(15, marks=pytest.mark.slow)])
@pytest.mark.parametrize("late", [0, 1])
def test_no_passive_hand_found_by_search_destabilises_a_passive_coupler_and_one_destabilises_a_stiffer_one(
    late, hundreds
):
    """Hands of mass, damper and spring over eight decades; the worst is an undamped spring of a high frequency."""
    rng = np.random.default_rng(3)
    loop = SampledLoop(0.1, 0.2, 1e-3, late * 1e-3)
    B = 0.05
    K = loop.largest_passive(B)
    hands = [(10 ** rng.uniform(-3, 2), 0.0, 10 ** rng.uniform(0, 7)) for _ in range(100 * hundreds)]
    hands += [
        (10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-3, 2), 10 ** rng.uniform(0, 7)) for _ in range(30 * hundreds)
    ]
    assert max(closed_with_hand(loop, 0.999 * K, B, hand) for hand in hands) < 1.0
    # a hand of no mass below a stiff spring comes near the bound; the limit itself needs a hand that is no finite one
    assert max(closed_with_hand(loop, 3.0 * K + 3 * B / 1e-3, B, hand) for hand in hands) > 1.0


def test_llewellyns_limit_is_where_a_passive_environment_can_make_the_port_active():
    """Re Z_in >= 0 at the hand for every passive environment, by search, up to the limit; not 2 % above it."""
    rng = np.random.default_rng(5)
    b, B, T, td = 0.2, 0.1, 1e-3, 0.5e-3
    K = SampledLoop(0.1, b, T, td).llewellyn(B)
    assert K > 0.0

    def least(stiffness):
        worst = math.inf
        for s in np.geomspace(1e-3, 3.1, 400):
            z = cmath.exp(1j * s)
            hold = (1 + 1 / z) / 2 * z ** (-td / T)
            coupler = B * (z + 1) / (2 * z) + stiffness * T / 2 * (z + 1) / (z - 1)
            reactive = 1j * np.concatenate([np.geomspace(1e-5, 1e5, 600), -np.geomspace(1e-5, 1e5, 600)])
            environments = np.concatenate([reactive, reactive + 10 ** rng.uniform(-3, 2, 1200)])
            worst = min(worst, (b + hold / (1 / coupler + 1 / environments)).real.min())
        return worst

    assert least(0.999 * K) > 0.0
    assert least(1.02 * K) < 0.0


def test_what_is_unconditionally_stable_is_passive_before_a_fixed_wall():
    for B in (0.02, 0.1, 0.19):
        loop = SampledLoop(0.1, 0.2, 1e-3, 0.0)
        assert loop.largest_unconditional(B) <= loop.largest_passive(B) == pytest.approx(2 * (0.2 - B) / 1e-3)


def test_scales_divide_the_stiffness_that_the_coupler_may_have():
    plain = kane.haptics.coupler_limits(traits(friction=0.1, quantum=2e-5))
    scaled = kane.haptics.coupler_limits(traits(friction=0.1, quantum=2e-5), scale=4.0, force_scale=0.5)
    for word in ("stable", "passive", "unconditional", "quiet", "damping"):
        assert getattr(scaled, word) == pytest.approx(getattr(plain, word) / 2.0, rel=1e-12)
    assert plain.quiet == pytest.approx(1e4)


def test_a_device_behind_a_socket_is_told_that_it_renders_no_stiff_walls():
    reasons = str(kane.haptics.coupler_limits(traits(delay=5e-3)))
    assert "a stiff wall cannot be rendered through this device" in reasons


@pytest.mark.parametrize(
    "ask",
    [
        lambda: kane.haptics.coupler_limits(3.0),
        lambda: kane.haptics.coupler_limits(traits(), damping=-1.0),
        lambda: kane.haptics.coupler_limits(traits(), scale=0.0),
        lambda: traits(rate=0.0),
        lambda: traits(delay=-1e-3),
        lambda: traits(mass=math.nan),
    ],
)
def test_what_means_nothing_is_refused(ask):
    with pytest.raises(kane.errors.ModelError):
        ask()
