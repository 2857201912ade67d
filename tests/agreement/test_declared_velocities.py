"""Velocities that are declared as speeds are used as such: no detour through rates, and the same equations.

The certificate vouches: M udot + bias in the speeds of choice against that of the joints' own speeds, which knows of no
declaration, and udot with constraints against multipliers in the joints' own speeds.
"""

import pytest

import kane

AT = (0.2, -0.1, 0.3)


def arm_on_a_base(child_at=(0.0, 0.0, 0.0)):
    """A cart that moves in a plane, with two links on skew axes that feel gravity along it."""
    model = kane.Model("base", gravity=(1.0, -2.0, -9.0))
    base = model.body("base", mass=3.0, inertia=(1.0, 1.5, 2.0), com=(0.1, 0.05, 0.0))
    model.connect(model.ground, base, kane.Planar(("x", "y", "turn")), name="plane", child_at=child_at)
    one = model.body("one", mass=1.0, inertia=(0.1, 0.2, 0.25), com=(0.1, 0.2, 0.3))
    two = model.body("two", mass=0.5, inertia=(0.1, 0.1, 0.05), com=(0.0, 0.1, 0.1))
    j1 = model.connect(base, one, kane.Revolute("q1", axis=(0.0, 0.6, 0.8)), at=(0.3, 0.1, 0.2))
    j2 = model.connect(one, two, kane.Revolute("q2", axis="x"), at=(0.1, 0.0, 0.5))
    model.load(kane.Force(two.point((0.0, 0.2, 0.0)), (0.3, model.input("F"), 0.1)))
    return model, base, (j1, j2)


def test_speeds_of_a_base_along_its_own_axes_take_its_heading_out_of_the_equations():
    """Gravity across the plane: nothing but it sees the heading."""
    model, base, (j1, j2) = arm_on_a_base()
    model.gravity = (0.0, 0.0, -9.81)
    model.loads.clear()
    v, turn = base.point(AT).velocity, base.angular_velocity.dot(base.z)
    model.speeds(vx=v.dot(base.x), vy=v.dot(base.y), w=turn, u1=j1.qdot, u2=j2.qdot)
    equations = kane.formulate(model)
    for quantity in ("inverse", "bias", "mass_matrix"):
        assert "turn" not in equations.listing(quantity)
    assert kane.certify(model).holds, str(kane.certify(model))


@pytest.mark.parametrize("child_at", [(0.0, 0.0, 0.0), (0.4, -0.2, 0.0)])
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), AT])
def test_a_declared_velocity_of_any_point_of_a_base_gives_the_same_equations(at, child_at):
    model, base, (j1, j2) = arm_on_a_base(child_at)
    v = base.point(at).velocity
    model.speeds(vx=v.dot(base.x), w=base.angular_velocity.dot(base.z), vy=v.dot(base.y), u1=j1.qdot, u2=j2.qdot)
    assert kane.formulate(model).system.declared_points
    assert kane.certify(model).holds, str(kane.certify(model))


@pytest.mark.parametrize("frame", ["own", "ground", "one"])
def test_a_whole_velocity_declared_along_any_axes_gives_the_same_equations(frame):
    """A free body, its point's velocity along its own axes, those of the ground, or of a body that hangs on it."""
    model = kane.Model("free", gravity=(1.0, 2.0, -9.0))
    hull, one = (model.body(n, mass=2.0, inertia=(1.0, 1.5, 2.0), com=(0.1, 0.2, 0.3)) for n in ("hull", "one"))
    float_ = model.connect(model.ground, hull, kane.Free("hull"))
    j = model.connect(hull, one, kane.Revolute("q1", axis=(0.0, 0.6, 0.8)), at=(0.1, 0.2, 0.3))
    axes = {"own": hull, "ground": model.ground, "one": one}[frame]
    v, w = hull.point(AT).velocity, float_.speeds[:3]
    named = {f"v{k}": v.dot(d) for k, d in zip("xyz", (axes.x, axes.y, axes.z), strict=True)}
    model.speeds(**{f"w{k}": x for k, x in zip("xyz", w, strict=True)}, **named, u1=j.qdot)
    known = kane.formulate(model).system.declared_points
    assert [k.whole for k in known.values()] == [True]
    certificate = kane.certify(model)
    assert certificate.holds, str(certificate)


def test_what_a_completing_constraint_holds_at_zero_is_known_to_be_zero():
    model, base, (j1, j2) = arm_on_a_base()
    wheels = base.point((-0.2, 0.0, 0.0))
    model.constrain(kane.NoSkid(wheels, base.y), name="wheels")
    model.speeds(v=wheels.velocity.dot(base.x), w=base.angular_velocity.dot(base.z), u1=j1.qdot, u2=j2.qdot)
    (known,) = kane.formulate(model).system.declared_points.values()
    assert known.rows[:2] == ({0: 1.0}, {})
    certificate = kane.certify(model)
    assert certificate.holds, str(certificate)
