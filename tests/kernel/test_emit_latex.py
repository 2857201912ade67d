"""LaTeX: names, structure, and every formula accepted by a reader of TeX mathematics."""

import itertools
import re

import pytest
from matplotlib.mathtext import MathTextParser

from kane.codegen.emit.latex import ROWS, emit_latex, latex_name
from kane.codegen.emit.listing import emit_listing
from kane.errors import ExpressionError
from kane.expression.arena import Arena
from kane.expression.functions import cos, select, sin, sqrt
from kane.expression.operations import COORDINATE, OPERATIONS, SELECT, SPEED, SPLINE
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS

ARENA = Arena()
q1, q2, q3 = (ARENA.leaf(COORDINATE, f"q{i}") for i in (1, 2, 3))
TABLE = PiecewiseCubic.through([-1.0, 0.0, 0.5, 2.0], [1.0, -2.0, 0.25, 3.0])

NAMES = {
    "q1": "q_{1}",
    "q12": "q_{12}",
    "x": "x",
    "Z3": "Z_{3}",
    "tau": r"\tau",
    "tau2": r"\tau_{2}",
    "Omega1": r"\Omega_{1}",
    "shoulder_pan_joint": r"\mathrm{shoulder\_pan\_joint}",
    "base_qw": r"\mathrm{base\_qw}",
    "x_dot": r"\dot{x}",
    "q1_dot": r"\dot{q}_{1}",
    "elbow_dot": r"\dot{\mathrm{elbow}}",
    "x_dot_dot": r"\ddot{x}",
    "x_dot_dot'''": r"\dot{\ddddot{x}}",
    "u1'": r"\dot{u}_{1}",
    "elbow_dot'": r"\ddot{\mathrm{elbow}}",
    "'": r"\mathrm{{'}}",
    "_dot": r"\mathrm{\_dot}",
    "a b": r"\mathrm{a\ b}",
    "50%": r"\mathrm{50\%}",
    "a\\b": r"\mathrm{a\backslash{}b}",
    "{^~$&#}": r"\mathrm{\{\wedge{}\sim{}\$\&\#\}}",
    "\u03b8": r"\mathrm{U03B8}",
    "a\nb": r"\mathrm{aU000Ab}",
    "": r"\mathrm{}",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_become_mathematics(name):
    assert latex_name(name) == NAMES[name]


def accepted(formula):
    """Whether matplotlib's reader of TeX mathematics accepts it; it knows no cases, backslash or wedge."""
    MathTextParser("path").parse(f"${formula}$")
    return True


@pytest.mark.parametrize("name", [n for n in NAMES if n and not set(n) & set("\\^")])
def test_names_are_accepted_by_a_reader_of_tex(name):
    assert accepted(latex_name(name))


def test_every_operation_has_a_row():
    assert set(ROWS) == set(CONSTRUCTORS)


@pytest.mark.parametrize("op", [op for op in CONSTRUCTORS if op != SELECT], ids=lambda op: OPERATIONS[op].name)
def test_every_operation_gives_a_formula_that_a_reader_of_tex_accepts(op):
    data = (TABLE,) if op == SPLINE else ()
    for arguments in itertools.product((q1, -q2, q1 / (q3 + q2)), repeat=OPERATIONS[op].arity):
        node = CONSTRUCTORS[op](*arguments, *data)
        text = emit_latex({"y": 1e-9 * node * q3 - node})
        for line in text.splitlines()[1:-1]:
            assert accepted(line.replace("&=", "=").removesuffix(r" \\"))


FORMULAS = {
    r"q_{1} - q_{2} - q_{3}": q1 - (q2 + q3),
    r"\frac{q_{1}}{3}": q1 / 3,
    r"-\frac{2 \, q_{1}}{q_{2} + q_{3}}": -2 * q1 / (q2 + q3),
    r"\sin^{2}\left(q_{1}\right)": sin(q1) ** 2,
    r"q_{1}^{3}": q1**3,
    r"\left(q_{1} + q_{2}\right)^{2}": (q1 + q2) ** 2,
    r"q_{1} \, \left(q_{2} + q_{3}\right)": q1 * (q2 + q3),
    r"\frac{q_{1} + q_{2}}{q_{3}}": (q1 + q2) / q3,
    r"\left(\frac{q_{1}}{q_{2}}\right)^{1.5}": (q1 / q2) ** 1.5,
    r"q_{1}^{2}": q1 * q1,
    r"-q_{1} \, q_{2}": -(q1 * q2),
    r"q_{1} - 2": q1 - 2,
    r"1 \cdot 10^{-9} \, q_{1}": 1e-9 * q1,
    r"\sqrt{1 + q_{1}}": sqrt(1 + q1),
    r"\begin{cases} q_{1} & \mathrm{if}\ q_{1} < q_{2} \\ 2 & \mathrm{otherwise} \end{cases}": select(q1 < q2, q1, 2),
    r"\begin{cases} q_{1} & \mathrm{if}\ q_{3} \neq 0 \\ 2 & \mathrm{otherwise} \end{cases}": select(q3, q1, 2),
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_have_the_parentheses_they_need(formula):
    assert emit_latex({"y": FORMULAS[formula]}) == f"\\begin{{align}}\ny &= {formula}\n\\end{{align}}\n"


def test_the_lines_are_those_of_the_listing():
    u = ARENA.leaf(SPEED, "u1")
    shared = sin(q1 + q2) * u
    outputs = {"x": shared * cos(q1) + q3, "y_dot": shared / cos(q1)}
    listing = [line.partition(" = ")[0] for line in emit_listing(outputs).splitlines()]
    latex = emit_latex(outputs).splitlines()
    assert latex[0] == r"\begin{align}"
    assert latex[-1] == r"\end{align}"
    assert [line.partition(" &= ")[0] for line in latex[1:-1]] == [latex_name(name) for name in listing]
    assert all(line.endswith(r" \\") for line in latex[1:-2])
    assert not latex[-2].endswith("\\")


def test_a_rate_that_is_a_speed_has_no_equation_that_says_nothing():
    theta, theta_dot = ARENA.leaf(COORDINATE, "theta"), ARENA.leaf(SPEED, "theta_dot")
    text = emit_latex({"theta'": theta_dot, "theta_dot'": -sin(theta), "x'": 2 * theta_dot})
    assert text.splitlines()[1:-1] == [r"\ddot{\theta} &= -\sin\left(\theta\right) \\", r"\dot{x} &= 2 \, \dot{\theta}"]
    assert emit_latex({"theta'": theta_dot}) == ""


def test_hostile_names_cannot_leave_their_braces():
    names = [r"}\input{/etc/passwd}", "\\end{align}", "a%b", "a&b", "$x$", "a\\\\b", "}" * 5]
    outputs = {name: sin(ARENA.leaf(COORDINATE, name)) for name in names}
    text = emit_latex(outputs)
    assert text.count(r"\begin{align}") == text.count(r"\end{align}") == 1
    bare = re.sub(r"\\[{}]", "", text)
    depth = list(itertools.accumulate((c == "{") - (c == "}") for c in bare))
    assert min(depth) == depth[-1] == 0
    assert not re.search(r"(?<!\\)[%#$]", text)
    assert all(len(re.findall(r"(?<!\\)&", line)) == 1 for line in text.splitlines()[1:-1])
    assert r"\input" not in text


def test_nothing_gives_nothing_and_what_is_no_expression_is_refused():
    assert emit_latex({}) == ""
    with pytest.raises(ExpressionError, match="the output 'y' is None, not an expression"):
        emit_latex([("y", None)])


def test_a_chain_of_100000_operations_is_written():
    arena = Arena()
    x = node = arena.leaf(COORDINATE, "x")
    for i in range(100_000):
        node = sin(node) if i % 2 else node + x
    assert emit_latex({"y": node}).count(r"\sin") == 50_000
