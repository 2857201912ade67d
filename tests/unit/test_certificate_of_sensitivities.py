"""Certificates of sensitivities: the derivatives of random runs forwards and backwards, which are transposed sums."""

from __future__ import annotations

import pytest

import kane
import kane.analysis.certificate.sensitivity_claim as certified
from kane.errors import ModelError

CLAIM = certified.OF_SENSITIVITIES


def ball():
    m = kane.Model("ball", gravity=(0, -9.81, 0))
    e = m.parameter("e", 0.8)
    B = m.body("B", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, B, kane.Prismatic("y", axis="y"))
    m.contact(kane.Sphere(B.point(), 0.1), kane.Plane(m.ground.point(), m.ground.y), restitution=e)
    return m


def finding(model, names):
    return next(x for x in kane.certify(model, states=1, sensitivities=names) if x.claim == CLAIM)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (lambda: kane.library.n_link_pendulum(2), ["q1", "u2"]),
        (kane.library.four_bar, ["q1"]),
        (ball, ["e", "y", "y_dot"]),
    ],
)
def test_both_directions_find_the_same_in_random_runs(model, names):
    found = finding(model(), names)
    assert found.verdict == "holds"
    assert found.digits > 10.0
    assert f"by {', '.join(names)} in 1 runs" in found.remark


def test_a_wrong_transposition_fails(monkeypatch):
    own = certified.sensitivities

    class Wrong:
        def __init__(self, s):
            self._s = s

        def __getitem__(self, name):
            return self._s[name]

        def gradient(self, cost):
            return self._s.gradient(cost)

        def adjoint(self, cost):
            return {name: 1.0001 * x for name, x in self._s.adjoint(cost).items()}

    monkeypatch.setattr(certified, "sensitivities", lambda run, wrt: Wrong(own(run, wrt=wrt)))
    assert finding(kane.library.n_link_pendulum(2), ["q1"]).verdict == "FAILS"


def test_names_that_there_are_not_are_refused_and_without_names_nothing_is_claimed():
    model = kane.library.n_link_pendulum(2)
    with pytest.raises(ModelError, match="'L9'"):
        kane.certify(model, sensitivities=["L9"])
    for wrong in (-1e308, "q1", [3]):
        with pytest.raises(ModelError, match="sensitivities"):
            kane.certify(model, sensitivities=wrong)
    assert all(x.claim != CLAIM for x in kane.certify(model, states=1))
