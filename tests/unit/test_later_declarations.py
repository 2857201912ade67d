"""Declarations that a model gets after ``formulate`` are missing in its equations, and ``build`` says so."""

import warnings

import pytest

import kane


def ball():
    m = kane.Model("ball")
    body = m.body("b", mass=1.0)
    return m, body, m.connect(m.ground, body, kane.Prismatic("z", axis="z"))


def floor(m, body, joint):
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.z), name="floor")


def damper(m, body, joint):
    m.load(kane.Damper(joint, 0.1))


def second(m, body, joint):
    m.connect(body, m.body("second", mass=1.0), kane.Revolute("q", axis="z"))


@pytest.mark.parametrize(("declare", "named"), [(floor, "'floor'"), (damper, "a Damper"), (second, "'second', ")])
def test_what_was_declared_after_formulate_is_named(declare, named):
    m, body, joint = ball()
    equations = kane.formulate(m)
    declare(m, body, joint)
    with pytest.warns(UserWarning, match=f"the equations of 'ball' lack {named}.*formulate the model again"):
        kane.build(equations)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kane.build(kane.formulate(m))


def test_parameters_inputs_and_points_that_come_later_need_no_warning():
    """Laws of inputs are expressions of them."""
    m, body, _ = ball()
    equations = kane.formulate(m)
    m.parameter("gain", 2.0)
    m.input("tau")
    body.point((0, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kane.build(equations)


def test_variants_and_equations_of_a_file_are_looked_at_alike(tmp_path):
    m, body, joint = ball()
    equations = kane.formulate(m)
    kane.save_equations(equations, tmp_path / "ball.json")
    damper(m, body, joint)
    with pytest.warns(UserWarning, match="lack a Damper"):
        kane.build(kane.explicit(equations))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kane.build(kane.load_equations(tmp_path / "ball.json"))
