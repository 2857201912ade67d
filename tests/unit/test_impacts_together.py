"""Impacts that meet in one instant: against closed forms, enumeration of what may be open, sticks or slips, and energy.

Kernels are called as they are written; whole models through their native program "transition".
"""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.contact_machine import ContactMachine
from oracles.contact_reactions import problem

import kane
from kane.engine.hybrid import collisions
from kane.engine.hybrid.collisions import clear_rounding
from kane.engine.laws.newton import ADOPTABLE, solve_complementarity
from kane.engine.memory.contact_codes import ADOPTED, BOUNCED, HALTED, OPEN
from kane.engine.memory.views import Struck, contact_table_at, contact_table_size, gap_terms_at, gap_terms_size
from kane.errors import ModelError


def together(G, w, rows, friction, least=None):
    """A problem; rows of each contact, mu and the least normal impulse."""
    x = problem(np.array(G, float), np.array(w, float), rows, np.array(friction, float))
    return x if least is None else x._replace(least=np.array(least, float))


def solve(x):
    """Whether impulses that keep all laws are found, as impacts adopt them."""
    with np.errstate(all="ignore"):
        found = solve_complementarity(x) <= ADOPTABLE
    clear_rounding(x)
    return found


def broken(x):
    """By how much the laws are broken, impulses over the largest: each law by its definition."""
    v, worst, size = x.b + x.W @ x.f, 0.0, np.abs(x.f).max() + np.abs(x.b).max() / np.abs(x.W).max()
    unit = size / max(np.abs(v).max(), np.abs(x.b).max(), 1e-300)
    for k, n in enumerate(x.row):
        pushed, t = x.f[n] - x.least[k], slice(n + 1, n + 1 + x.tangents[k])
        worst = max(worst, -pushed, -v[n] * unit, min(pushed, v[n] * unit))
        rub, slip = x.f[t], v[t] * unit
        worst = max(worst, np.linalg.norm(rub) - x.bound[k] * x.f[n])
        left = x.bound[k] * x.f[n] - np.linalg.norm(rub)
        # Slip is against the friction, and only where that is at its bound.
        across = np.linalg.norm(slip) * np.linalg.norm(rub) + slip @ rub
        worst = max(worst, min(left, np.linalg.norm(slip)), across / size)
    return worst / size


def scene(rng, contacts, rows, repeated):
    """G and w of rows of a random system; some of them repeat others."""
    m = sum(rows)
    J = rng.normal(size=(m, int(rng.integers(1, m + 3))))
    if repeated:
        k, l = rng.integers(contacts, size=2)
        shared, at = min(rows[k], rows[l]), np.cumsum([0, *rows])
        J[at[k] : at[k] + shared] = J[at[l] : at[l] + shared]
    weight = np.exp(rng.normal(size=J.shape[1]))
    return (J / weight) @ J.T, J @ rng.normal(size=J.shape[1])


@pytest.mark.parametrize("seed", range(60))
def test_what_is_found_keeps_the_laws_and_takes_energy(seed):
    rng = np.random.default_rng(seed)
    contacts = int(rng.integers(1, 6))
    rows = [int(rng.integers(1, 4)) for _ in range(contacts)]
    G, w = scene(rng, contacts, rows, repeated=seed % 3 == 0)
    x = together(G, w, rows, rng.uniform(0, 1, contacts))
    assert solve(x)
    assert broken(x) <= 1e-10  # of the largest impulse, the contacts' own sizes differ by up to 100
    assert x.f @ (w + x.a) <= 1e-12 * np.abs(x.f * w).sum()


@pytest.mark.parametrize("seed", range(20))
def test_without_friction_there_is_one_solution_and_enumeration_finds_it(seed):
    rng = np.random.default_rng(100 + seed)
    k = int(rng.integers(2, 6))
    G, w = scene(rng, k, [1] * k, repeated=False)
    x = together(G, w, [1] * k, [0.0] * k)
    assert solve(x)
    found = []
    for closed in product([False, True], repeat=k):
        J = np.flatnonzero(closed)
        p = np.zeros(k)
        p[J] = np.linalg.lstsq(G[np.ix_(J, J)], -w[J], rcond=None)[0]
        v = w + G @ p
        if p.min() >= -1e-9 and v.min() >= -1e-9:
            found.append(v)
    assert found
    for v in found:
        assert x.a == pytest.approx(v, abs=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_in_the_plane_what_is_found_is_among_what_enumeration_finds(seed):
    """Open, stuck, slipping one way or the other: 4^k linear systems; with friction several may have a solution."""
    rng = np.random.default_rng(200 + seed)
    k = int(rng.integers(1, 4))
    G, w = scene(rng, k, [2] * k, repeated=False)
    G += 0.1 * np.eye(2 * k)
    mu = rng.uniform(0.1, 1.0, k)
    x = together(G, w, [2] * k, mu)
    assert solve(x)
    distances = []
    for modes in product(("open", "stuck", 1.0, -1.0), repeat=k):
        A, b = np.eye(2 * k), np.zeros(2 * k)
        for c, mode in enumerate(modes):
            if mode != "open":
                A[2 * c], b[2 * c] = G[2 * c], -w[2 * c]
                A[2 * c + 1], b[2 * c + 1] = G[2 * c + 1], -w[2 * c + 1]
            if isinstance(mode, float):
                A[2 * c + 1], b[2 * c + 1] = 0.0, 0.0
                A[2 * c + 1, 2 * c : 2 * c + 2] = mode * mu[c], 1.0
        p = np.linalg.lstsq(A, b, rcond=None)[0]
        if broken(x._replace(f=p)) < 1e-9:
            distances.append(np.abs(p - x.f).max())
    assert min(distances) < 1e-9 * (1 + np.abs(x.f).max())


def test_four_corners_that_strike_at_once_share_the_impulse_equally():
    """A plate of mass m, which three corners would hold: of all p that stop it, m v / 4 each are of least norm."""
    corners = np.array([[1.0, x, y] for x in (-1, 1) for y in (-1, 1)])
    G = corners @ np.diag([1 / 2.0, 3.0, 5.0]) @ corners.T
    x = together(G, [-4.0] * 4, [1] * 4, [0.0] * 4)
    assert solve(x)
    assert x.f == pytest.approx([2.0] * 4, rel=1e-13)


def cradle(law, impacts="together"):
    """Five balls of 1 kg that touch, on a line, the first one struck; friction nowhere."""
    m = kane.Model("cradle", gravity=(0, 0, 0))
    m.impacts = impacts
    balls = []
    for k in range(5):
        ball = m.body(f"ball {k + 1}", mass=1.0)
        m.connect(m.ground, ball, kane.Prismatic(f"x{k + 1}", axis="x"), at=(0.1 * k, 0, 0))
        balls.append(kane.Sphere(ball.point(), 0.05))
    for k in range(4):
        m.contact(balls[k + 1], balls[k], restitution=law, name=f"{k + 1} on {k + 2}")
    return ContactMachine(m)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("law", [kane.Poisson, kane.Newton])
def test_five_balls_struck_together_disperse(law, e):
    """By hand: compressed, all have v / 5; the expansion gives back e of it, p = (1 + e) (4, 3, 2, 1) / 5."""
    found = cradle(law(e)).transition([0.0] * 5, [1.0, 0, 0, 0, 0])
    assert found.status == ADOPTED
    assert found.impulses == pytest.approx((1 + e) * np.array([0.8, 0.6, 0.4, 0.2]), rel=1e-14)
    assert found.u == pytest.approx([1 - 0.8 * (1 + e), *[0.2 * (1 + e)] * 4], abs=1e-15)
    assert found.energy_lost == pytest.approx(0.4 * (1 - e * e), abs=1e-15)
    assert found.kind == BOUNCED if e else found.kind != BOUNCED


@pytest.mark.parametrize("struck", [1, 2, 3])
def test_five_balls_struck_in_turn_send_off_as_many_as_came(struck):
    found = cradle(kane.Poisson(1.0), "in turn").transition([0.0] * 5, [1.0] * struck + [0.0] * (5 - struck))
    assert found.status == ADOPTED
    assert found.u == pytest.approx([0.0] * (5 - struck) + [1.0] * struck, abs=1e-15)


def groove(first, second):
    """A body of 1 kg, radius of gyration 1/2 m, that strikes two rough walls at right angles with two of its points."""
    m = kane.Model("groove", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, inertia=(0.25,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "turn")))
    rough = kane.Coulomb(1.0)
    for name, at, way, e in (("first", (-1, -0.5, 0), (-1, 1, 0), first), ("second", (-1, -1, 0), (1, 1, 0), second)):
        wall = kane.Plane(m.ground.point(at), m.ground.direction(np.array(way) / np.sqrt(2)))
        m.contact(body.point(at), wall, restitution=e, friction=rough, name=name)
    return ContactMachine(m)


def test_the_expansion_of_two_rough_contacts_would_make_energy_and_is_scaled_down_until_it_does_not():
    """In the manner of Glocker's counterexample (2013): the second wall alone is elastic. Poisson's law as it stands
    would make energy: its expansions are not unique here, and the shortest has 1.9 times what was there before."""
    machine, u = groove(0.0, 1.0), np.array([1.0, -2.0, 1.0])
    M = np.diag([1.0, 1.0, 0.25])
    terms = machine.terms([0, 0, 0], u)
    G, w = terms.A @ np.linalg.inv(M) @ terms.A.T, terms.A @ u
    compressed = together(G, w, [2, 2], [1.0, 1.0])
    assert solve(compressed)
    expanded = together(G, compressed.a, [2, 2], [1.0, 1.0], least=[0.0, compressed.f[2]])
    assert solve(expanded)
    total = compressed.f + expanded.f
    assert total @ (w + expanded.a) / 2 > 1.5 * (u @ M @ u) / 2
    found = machine.transition([0, 0, 0], u)
    assert found.status == ADOPTED
    assert found.energy_lost == pytest.approx(0.0, abs=1e-11)
    assert found.u @ M @ found.u <= u @ M @ u * (1 + 1e-12)
    assert found.u == pytest.approx(u + np.linalg.solve(M, terms.A.T @ found.impulses), abs=1e-12)
    assert found.impulses[2] > compressed.f[2]  # some of the expansion is left


def test_the_share_of_an_expansion_is_found_by_few_trials(monkeypatch):
    """What impulses make is quadratic in the share: here one trial says that there is too much, and two find the zero.
    Halving the share, which would take fifty, vouches for it."""
    tried, original = [], collisions._try_expansion
    monkeypatch.setattr(collisions, "_try_expansion", lambda *given: tried.append(given[-1]) or original(*given))
    rng, seen = np.random.default_rng(1), 0
    for _ in range(400):
        angles, at = rng.uniform(-1.2, 1.2, 2), rng.uniform(-1, 1, (2, 2))
        ways = [way for n in np.array([np.sin(angles), np.cos(angles)]).T for way in (n, np.array([n[1], -n[0]]))]
        J = np.array([[*way, at[k // 2, 0] * way[1] - at[k // 2, 1] * way[0]] for k, way in enumerate(ways)])
        w = J @ rng.normal(size=3)
        x = together(J @ np.diag([1, 1, rng.uniform(0.5, 20)]) @ J.T, w, [2, 2], rng.uniform(0.5, 1.5, 2))
        if not solve(x):
            continue
        struck = Struck(np.arange(2), w, x.f.copy(), x.a.copy(), 0)
        gaps = gap_terms_at(np.zeros(gap_terms_size(2)), 0, 2)
        table = contact_table_at(np.zeros(contact_table_size(2), int), 0, 2)
        gaps.restitution[:] = rng.permutation([0.0, 1.0])
        c = SimpleNamespace(gaps=gaps, table=table)
        made, size = original(c, x, struck, 1.0)
        if not collisions.ENERGY_ROUNDING * size < made < np.inf:
            continue
        seen, low, high = seen + 1, 0.0, 1.0
        tried.clear()
        collisions._expand(c, x, struck)
        found, count = x.f.copy(), len(tried)
        for _ in range(50):
            share = 0.5 * (low + high)
            made, _ = original(c, x, struck, share)
            low, high = (share, high) if made <= 0.0 else (low, share)
        assert original(c, x, struck, low)[0] <= 0.0
        np.testing.assert_allclose(found, x.f, atol=1e-11 * np.abs(struck.total).max())
        assert count <= 6
    assert seen > 0


@pytest.mark.parametrize("impacts", ["together", "in turn"])
@pytest.mark.parametrize("law", [kane.Poisson, kane.Newton])
def test_energy_never_grows_in_any_law(law, impacts):
    """Crates in space, with eight corners on a rough floor, fallen flat, on an edge, on a corner or any way."""
    m = kane.Model("crate", gravity=(0, 0, 0))
    m.impacts = impacts
    crate = m.body("crate", mass=2.0, inertia=(0.05, 0.08, 0.07))
    m.connect(m.ground, crate, kane.Free("c"))
    for k, (x, y) in enumerate([(-0.2, -0.3), (-0.2, 0.3), (0.2, -0.3), (0.2, 0.3)]):
        rough = kane.Coulomb(0.6, 0.5) if law is kane.Poisson else None
        m.contact(
            crate.point((x, y, -0.1)), kane.Plane(m.ground.point(), m.ground.z), restitution=law(0.2 * (k + 1)),
            friction=rough, name=f"corner {k}",
        )  # fmt: skip
    machine, rng = ContactMachine(m), np.random.default_rng(0)
    q = [1.0, 0, 0, 0, 0, 0, 0.1]
    q = [0, 0, 0.1, 1.0, 0, 0, 0] if machine.equations.q[0].name.endswith("x") else q
    struck = 0
    for _ in range(60):
        machine.fresh()
        u = rng.normal(size=6)
        found = machine.transition(q, u)
        assert found.status == ADOPTED
        assert found.energy_lost >= -1e-12
        terms = machine.terms(q, found.u)
        assert (terms.A @ found.u)[[r[0] for r in machine.rows]].min() >= -1e-12
        struck += found.energy_lost > 1e-6
    assert struck > 20


def test_a_crate_that_falls_flat_on_two_corners_stays_level():
    m = kane.Model("crate", gravity=(0, -9.81, 0))
    crate = m.body("crate", mass=1.0, inertia=(0.02,) * 3)
    m.connect(m.ground, crate, kane.Planar(("x", "y", "turn")))
    for name, x in (("left", -0.1), ("right", 0.1)):
        m.contact(
            crate.point((x, -0.1, 0)), kane.Plane(m.ground.point(), m.ground.y), restitution=0.5,
            friction=kane.Coulomb(0.5), name=name,
        )  # fmt: skip
    run = kane.simulate(kane.build(kane.formulate(m)), until=2.0, q={"y": 0.3})
    assert np.abs(run["turn"]).max() < 1e-12
    assert run["y"][-1] == pytest.approx(0.1, abs=1e-12)


def test_contacts_that_do_not_feel_each_other_have_impacts_of_their_own():
    """Two balls strike the floor at once: each loses what its own restitution says, to the last bit."""
    m = kane.Model("balls", gravity=(0, 0, 0))
    for k, e in enumerate((0.3, 0.7)):
        ball = m.body(f"ball {k}", mass=1.0 + k)
        m.connect(m.ground, ball, kane.Prismatic(f"y{k}", axis="y"))
        m.contact(ball.point(), kane.Plane(m.ground.point(), m.ground.y), restitution=e, name=f"floor {k}")
    found = ContactMachine(m).transition([0.0, 0.0], [-2.0, -5.0])
    assert found.u == pytest.approx([0.6, 3.5], rel=1e-15)


@pytest.mark.parametrize("impacts", ["together", "in turn"])
def test_between_a_floor_and_a_ceiling_that_it_touches_both_a_mass_stops(impacts):
    """In turn it would bounce for ever without loss: what does not end is taken together, without restitution."""
    m = kane.Model("squeezed", gravity=(0, 0, 0))
    m.impacts = impacts
    mass = m.body("mass", mass=2.0)
    m.connect(m.ground, mass, kane.Prismatic("y", axis="y"))
    for name, way in (("floor", 1), ("ceiling", -1)):
        m.contact(mass.point(), kane.Plane(m.ground.point(), m.ground.direction((0, way, 0))), restitution=1, name=name)
    found = ContactMachine(m).transition([0.0], [-3.0])
    assert found.status == ADOPTED
    assert (found.kind == HALTED) == (impacts == "in turn")
    assert found.u == pytest.approx([0.0], abs=1e-15)
    assert found.energy_lost == pytest.approx(9.0)
    assert OPEN not in found.statuses


def test_how_impacts_happen_is_one_of_two_words_and_goes_into_files(tmp_path):
    m = kane.Model("cradle")
    assert m.impacts == "together"
    with pytest.raises(ModelError, match="'together' or 'in turn', not 'both'"):
        m.impacts = "both"
    m.impacts = "in turn"
    kane.save_model(m, tmp_path / "m.json")
    assert kane.load_model(tmp_path / "m.json").impacts == "in turn"
