"""Options of listings and LaTeX, and lines as a person writes them; the reader of listings is in test_emit_listing."""

import re

import numpy as np
import pytest
from matplotlib.mathtext import MathTextParser

import kane
from kane import library
from kane.codegen.programs.common_factors import factor
from kane.expression.arena import Arena
from kane.expression.operations import COORDINATE, PARAMETER, SPEED
from kane.expression.traverse import count_operations

MODELS = ("n_link_pendulum", "wrist", "rolling_coin", "mobile_manipulator", "sliding_disk", "stiff_flyball_governor")

# Two signs, a reciprocal as a factor, x*x, a sum in parentheses after a minus sign, decimals of thirds.
ODD = re.compile(r"\+ -|- -|1/\w+\*(?!\*)|(\b\w+)\*\1\b|- \([^()]*\)($| [+-])|\d\.\d*(3{6}|6{6})")


@pytest.fixture
def pendulum():
    m = kane.Model("pendulum", gravity=(0, 0, -9.81))
    length = m.parameter("length", 0.7)
    rod = m.body("rod", mass=2.0, com=(0, 0, -length / 3))
    joint = m.connect(m.ground, rod, kane.Revolute("q1", axis="y"))
    m.load(kane.Motor(joint, m.input("T")))
    return kane.formulate(m)


@pytest.mark.parametrize("model", MODELS)
def test_lines_are_written_as_a_person_writes_them(model):
    eqs = kane.formulate(getattr(library, model)())
    for name in ("rhs", "energy"):
        text = eqs.listing(name)
        for line in text.splitlines():
            left, right = line.split(" = ", 1)
            assert left != right
            assert not re.search(
                r"\+ -|- -|1/\w+\*(?!\*)|(\b\w+)\*\1\b|- \([^()]*\)($| [+-])|\d\.\d*(3{6}|6{6})", right
            ), line
        for line in eqs.latex(name).splitlines()[1:-1]:
            if "cases" not in line:  # which this reader does not know
                MathTextParser("path").parse(f"${line.replace('&=', '=').removesuffix(chr(92) * 2)}$")


def test_names_and_symbols_of_a_coordinate_reach_its_derivatives(pendulum):
    listing = pendulum.listing(names={"q1": "theta", "u1": "w"})
    assert "theta' = w" in listing.splitlines()
    assert re.search(r"^w' = .*sin\(theta\)", listing, re.MULTILINE)
    latex = pendulum.latex(symbols={"q1": r"\theta", "u1": r"\omega", "length": r"\ell"})
    assert r"\dot{\theta} &= \omega" in latex
    assert r"\dot{\omega} &= " in latex
    assert r"\ell" in latex
    assert "length" not in latex
    m = kane.Model("slider")
    m.connect(m.ground, m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    assert r"\ddot{\xi} &=" in kane.formulate(m).latex(symbols={"x": r"\xi"})


def test_digits_and_columns(pendulum):
    plain = pendulum.listing()
    chain = kane.formulate(library.chain())
    assert "1.10714871779 + q6" in chain.listing("bias")
    assert "1.107 + q6" in chain.listing("bias", digits=4)
    assert "1.107 + q_{6}" in chain.latex("bias", digits=4)
    wide = pendulum.listing(columns=2)
    assert len(wide.splitlines()) == -(-len(plain.splitlines()) // 2)
    assert [x.strip() for line in wide.splitlines() for x in re.split(r"\s{3,}", line)] == plain.splitlines()
    one, two = (pendulum.latex(columns=n).splitlines() for n in (1, 2))
    assert len(two) - 2 == -(-(len(one) - 2) // 2)
    assert two[1].count("&=") == 2


def test_intermediates_avoid_other_names():
    eqs = kane.formulate(library.wrist())
    lines = [line.split(" = ")[0] for line in eqs.listing(names={"q1": "Z1", "q2": "s3"}).splitlines()]
    assert lines.count("Z1'") == 1
    assert not {"Z1", "s3"} & set(lines)


def test_exporters_take_the_options(pendulum, tmp_path):
    kane.export(pendulum, tmp_path, kane.LaTeXDocument(symbols={"q1": r"\theta"}, digits=4))
    text = (tmp_path / "pendulum.tex").read_text()
    assert r"\theta" in text
    assert "q_{1}" not in text
    kane.export(pendulum, tmp_path, kane.Listing(names={"q1": "theta"}, columns=2))
    assert "theta' = u1" in (tmp_path / "pendulum.txt").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": {"q9": "a"}}, "there is no 'q9' to write otherwise; the names are q1, u1"),
        ({"names": {"q1": "u1"}}, "'q1' and 'u1' would both be written 'u1'"),
        ({"names": {"q1": "a b"}}, "is not an identifier"),
        ({"names": {"q1": ""}}, "is empty"),
        ({"names": {"q1": 3}}, "give a text"),
        ({"names": "q1"}, "as a dictionary"),
        ({"digits": 0}, "digits is 0"),
        ({"digits": 18}, "no more than 17"),
        ({"columns": 0}, "columns is 0"),
    ],
)
def test_wrong_options_are_refused(pendulum, options, message):
    with pytest.raises(kane.ModelError, match=message):
        pendulum.listing(**options)


def test_squares_of_sine_and_cosine_join_if_that_saves_operations():
    """0.6 s^2 + 0.6 c^2 = 0.6, wherever the products of the two terms were multiplied in another order."""
    arena = Arena()
    q, u, m = arena.leaf(COORDINATE, "q4"), arena.leaf(SPEED, "u4"), arena.leaf(PARAMETER, "m")
    s, c = kane.sin(q), kane.cos(q)
    assert factor([(0.6 * s) * s + (0.6 * c) * c])[0] is arena.constant(0.6)
    assert factor([(m * u * s) * (s * u) + (m * u * u) * (c * c)])[0] is factor([m * (u * u)])[0]
    kept = [(0.6 * s) * s + (0.5 * c) * c, (0.6 * s) * s - (0.6 * c) * c]
    for root in kept:
        (found,) = factor([root])
        assert sum(count_operations([found]).values()) <= sum(count_operations([root]).values())
        values = {"q4": 0.7}
        assert kane.evaluate(found, values) == pytest.approx(float(kane.evaluate(root, values)), rel=1e-14)
        assert np.ptp([float(kane.evaluate(found, {"q4": x})) for x in (0.1, 0.9)]) > 0.01
