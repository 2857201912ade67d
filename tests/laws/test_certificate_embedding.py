"""Certificates of models with speeds of choice and constraints hold, and fail where the embedding is wrong."""

import pytest

import kane
from kane.analysis.certificate.embedding_claims import OF_CONSTRAINTS, SPEED_CLAIMS
from kane.formulation.constraints.embedding import SymbolicEmbedding
from kane.formulation.tree.declared_velocity import DeclaredVelocity

(SPEEDS,) = SPEED_CLAIMS
MULTIPLIERS, PERSIST, WORKLESS = OF_CONSTRAINTS


def sleigh(**speeds):
    """A knife edge under a plate that may slide along its x only, 0.3 m behind the mass centre."""
    model = kane.Model("sleigh", gravity=(0.0, 0.0, 0.0))
    plate = model.body("plate", mass=2.0, inertia=(0.1, 0.2, 0.3), com=(0.3, 0.0, 0.0))
    model.connect(model.ground, plate, kane.Planar(("x", "y", "theta")), name="plane")
    edge = plate.point()
    model.constrain(edge.velocity.dot(plate.y), name="edge")
    if speeds:
        v, w = edge.velocity, plate.angular_velocity
        model.speeds(u1=v.dot(plate.x), u2=v.dot(plate.y), u3=w.dot(plate.z), **speeds)
    return model


def loop():
    """Four hinges in a plane."""
    model = kane.Model("loop", gravity=(0.0, -9.81, 0.0))
    A, B, C = (
        model.body(n, mass=1.0, inertia=(0.0, 0.1, 0.1), com=(l / 2, 0.0, 0.0))
        for n, l in zip("ABC", (1.0, 2.0, 2.5), strict=True)
    )
    model.connect(model.ground, A, kane.Revolute("q1", axis="z"))
    model.connect(A, B, kane.Revolute("q2", axis="z"), at=(1.0, 0.0, 0.0))
    model.connect(model.ground, C, kane.Revolute("q3", axis="z"), at=(2.2, 0.0, 0.0))
    model.close(B, C, kane.Revolute("q4", axis="z"), at=(2.0, 0.0, 0.0), child_at=(2.5, 0.0, 0.0))
    return model


def by_claim(model):
    return {finding.claim: finding for finding in kane.certify(model)}


@pytest.mark.parametrize("model", [sleigh(), sleigh(dependent=["u2"]), loop(), kane.library.wrist()])
def test_certificates_of_constrained_models_hold(model):
    certificate = kane.certify(model)
    assert certificate.holds, str(certificate)


def test_each_claim_of_constraints_and_speeds_applies_to_a_sleigh_in_speeds_of_choice():
    found = by_claim(sleigh(dependent=["u2"]))
    for claim in (SPEEDS, MULTIPLIERS, PERSIST, WORKLESS):
        assert found[claim].digits is not None
        assert found[claim].holds


def test_the_certificate_fails_where_forces_of_dependent_speeds_are_left_out(monkeypatch):
    """Eq. 44 without its second term."""
    monkeypatch.setattr(
        SymbolicEmbedding,
        "forces",
        lambda self, free: [x if j in self.independent else 0.0 for j, x in enumerate(free)],
    )
    assert not by_claim(coupled())[MULTIPLIERS].holds


def coupled():
    """Two masses on lines, geared: the dependent one carries a spring."""
    model = kane.Model("coupled", gravity=(0.0, 0.0, 0.0))
    A, B = model.body("A", mass=1.0), model.body("B", mass=3.0)
    j1 = model.connect(model.ground, A, kane.Prismatic("q1", axis="x"))
    j2 = model.connect(model.ground, B, kane.Prismatic("q2", axis="y"))
    model.load(kane.Spring(j2, stiffness=5.0))
    model.constrain(j2.qdot - (2.0 + j1.q) * j1.qdot, name="cam")
    model.speeds(dependent=["u2"])
    return model


def test_the_certificate_fails_where_remainders_of_the_constraints_are_left_out(monkeypatch):
    accelerations = SymbolicEmbedding.accelerations

    def without(self, udot):
        object.__setattr__(self, "remainders", dict.fromkeys(self.remainders, 0.0))
        return accelerations(self, udot)

    monkeypatch.setattr(SymbolicEmbedding, "accelerations", without)
    found = by_claim(coupled())
    assert not found[PERSIST].holds
    assert not found[WORKLESS].holds or not found[MULTIPLIERS].holds


def test_the_certificate_fails_where_a_declared_velocity_is_taken_for_another(monkeypatch):
    mixed = DeclaredVelocity.mixed
    monkeypatch.setattr(DeclaredVelocity, "mixed", lambda self, values, speeds: mixed(self, values, speeds)[::-1])
    model = kane.library.wrist()
    C = next(b for b in model.bodies if b.name == "C")
    model.speeds(**{f"u{k}": C.angular_velocity.dot(d) for k, d in enumerate((C.x, C.y, C.z), start=1)})
    assert not by_claim(model)[SPEEDS].holds
