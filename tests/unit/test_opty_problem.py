"""The drop-in of opty: closed forms, differences, and refused arguments."""

import matplotlib as mpl
import numpy as np
import pytest
import sympy as sm
from sympy.physics.mechanics import dynamicsymbols

from kane.compat.opty import ConstraintCollocator, Problem, create_objective_function, parse_free
from kane.compat.opty.opty_problem import _IpoptProgram
from kane.errors import ModelError

T = dynamicsymbols._t
X, V, F, G = dynamicsymbols("x v F G")
M, K, H = sm.symbols("m k h")
EQUATIONS = sm.Matrix([X.diff() - V, M * V.diff() - F])
NODES, MASS, DISTANCE, DURATION, FORCE = 41, 2.0, 1.5, 2.0, 3.0


def _block(objective, interval, exact=True, method="midpoint", **changes):
    """Return a block that a force moves from rest to rest."""
    last = (NODES - 1) * interval
    instances = (X.func(0 * interval), X.func(last) - DISTANCE, V.func(0 * interval), V.func(last))
    f, slope = create_objective_function(objective, (X, V), (F,), (), NODES, interval, method)
    given = {
        "known_parameter_map": {M: MASS},
        "instance_constraints": instances,
        "integration_method": method,
        **changes,
    }
    if not exact:
        f, slope = (lambda z, f=f: f(z)), (lambda _, z, g=slope: g(z))
    problem = Problem(f, slope, EQUATIONS, (X, V), NODES, interval, **given)
    problem.add_option("print_level", 0)
    problem.add_option("sb", "yes")
    return problem


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("method", ["midpoint", "backward euler"])
def test_the_least_effort_of_a_block_is_that_of_the_calculus_of_variations(exact, method):
    problem = _block(sm.Integral(F**2, T), DURATION / (NODES - 1), exact, method)
    z, info = problem.solve(problem.create_linear_initial_guess())
    assert info["status"] == 0 if exact else info["status"] in (0, 1)  # 1: acceptable
    # Forces of least norm with zero sum: the force of interval k moves the block for n - k (+ 1 or 1/2) intervals more.
    n, h = NODES - 1, DURATION / (NODES - 1)
    moved = h**2 / MASS * (np.arange(n, 0.0, -1.0) - (0.5 if method == "midpoint" else 0.0))
    forces = np.linalg.lstsq(np.stack([moved, np.ones(n)]), np.array([DISTANCE, 0.0]), rcond=None)[0]
    assert info["obj_val"] == pytest.approx(h * forces @ forces, rel=1e-6)  # the tolerance of Ipopt is 1e-8
    assert info["obj_val"] == pytest.approx(12.0 * MASS**2 * DISTANCE**2 / DURATION**3, rel=1e-2)  # no discretization
    assert np.abs(info["g"]).max() < 1e-8
    if exact:
        assert len(problem.obj_value) <= 3  # Newton's method: the problem is quadratic
    assert problem.parse_free(z)[0][0, -1] == pytest.approx(DISTANCE)


def test_the_least_time_of_a_block_is_that_of_full_force():
    problem = _block(H * (NODES - 1), H, bounds={F: (-FORCE, FORCE), H: (1e-3, 1.0)})
    z, info = problem.solve(problem.create_linear_initial_guess(DURATION))
    assert info["status"] == 0
    # 2 sqrt(m d / F). The mean force of each interval is a possible force, so that the motion is no faster, but for the
    # tolerance of Ipopt, 1e-8. The change of sign takes the time of an interval, and costs a part of the order 1 / n^2.
    closed = 2.0 * np.sqrt(MASS * DISTANCE / FORCE)
    assert closed < problem.time_vector(z)[-1] * (1.0 + 1e-6)
    assert problem.time_vector(z)[-1] == pytest.approx(closed, rel=2.0 / (NODES - 1) ** 2)


def test_the_hessian_is_the_slope_of_the_gradient_of_the_lagrangian():
    problem = _block(sm.Integral(F**2 * X * V, T), H)
    program = _IpoptProgram(problem)
    z = np.sin(np.arange(1.0, problem.num_free + 1.0))
    y = np.cos(np.arange(1.0, problem.num_constraints + 1.0))

    def slope(z):
        rows, columns = program.jacobian_places
        found = 0.7 * program.objective_gradient(z)
        np.add.at(found, columns, y[rows] * program.jacobian(z))
        return found

    exact = np.zeros((len(z), len(z)))
    np.add.at(exact, program.hessian_places, program.hessian(z, 0.7, y))
    exact += np.tril(exact, -1).T
    step = 1e-6
    differences = np.stack([(slope(z + step * e) - slope(z - step * e)) / (2 * step) for e in np.eye(len(z))])
    assert np.abs(exact).max() > 1.0
    assert exact == pytest.approx(differences, abs=1e-7 * np.abs(exact).max())


def test_inequalities_of_equations_are_path_constraints():
    equations = sm.Matrix([*EQUATIONS, F * V])  # power
    f, slope = create_objective_function(H, (X, V), (F,), (), NODES, H)
    at = (NODES - 1) * H
    problem = Problem(
        f, slope, equations, (X, V), NODES, H, {M: MASS}, bounds={H: (1e-3, 1.0)}, eom_bounds={2: (-2.0, 2.0)},
        instance_constraints=(X.func(0 * H), X.func(at) - DISTANCE, V.func(0 * H) - 0.5, V.func(at)),
    )  # fmt: skip
    problem.add_option("print_level", 0)
    z, info = problem.solve(problem.create_linear_initial_guess(DURATION))
    (_, v), force, _, _ = problem.parse_free(z)
    assert info["status"] == 0
    assert 1.99 < np.abs(v * force)[1:].max() < 2.0 + 1e-6  # the limit is reached; Ipopt relaxes it by 1e-8


def test_free_vectors_are_read_and_filled_by_symbol():
    problem = _block(sm.Integral(F**2, T), H, known_parameter_map={}, bounds={F: (1.0, np.inf), H: (0.2, 0.4)})
    guess = problem.create_linear_initial_guess(8.0)
    x, v = problem.parse_free(guess)[0]
    assert x == pytest.approx(np.linspace(0.0, DISTANCE, NODES))
    assert not v.any()
    assert problem.extract_values(guess, M, H) == pytest.approx([0.0, 0.3])
    assert (problem.extract_values(guess, F) == 1.0).all()
    problem.fill_free(guess, np.arange(NODES), X)
    problem.fill_free(guess, 0.5, H)
    assert (problem.parse_free(guess)[0][0] == np.arange(NODES)).all()
    assert problem.time_vector(guess, 1.0)[[0, -1]] == pytest.approx([1.0, 1.0 + 0.5 * (NODES - 1)])
    with pytest.raises(ModelError, match="guess of h is outside of its bounds"):
        problem.solve(guess, respect_bounds=True)
    states, inputs, parameters = parse_free(np.arange(14.0), 2, 1, 4)
    assert states.shape == (2, 4)
    assert inputs.tolist() == [8.0, 9.0, 10.0, 11.0]
    assert parameters.tolist() == [12.0, 13.0]


def test_plots_have_axes_for_each_trajectory():
    mpl.use("agg")
    problem = _block(sm.Integral(F**2, T), 0.05, bounds={F: (-FORCE, FORCE)})
    z, _ = problem.solve(problem.create_linear_initial_guess())
    axes = problem.plot_trajectories(z, show_bounds=True)
    assert [ax.get_ylabel() for ax in axes] == ["x(t)", "v(t)", "F(t)"]
    assert axes[2].lines[0].get_ydata() == pytest.approx(problem.extract_values(z, F))
    assert len(axes[2].lines) == 3
    assert len(problem.plot_constraint_violations(z, subplots=True)) == 3
    assert len(problem.plot_objective_value().lines[0].get_ydata()) == len(problem.obj_value)
    assert len(problem.plot_jacobian_sparsity().lines[0].get_xdata()) == len(problem.con_jac_rows)


def _collocator(**changes):
    given = {"equations_of_motion": EQUATIONS, "state_symbols": (X, V), "num_collocation_nodes": 5, **changes}
    return ConstraintCollocator(**{"node_time_interval": 0.1, **given})


SLOPE = sm.Function("r")(X)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"integration_method": "trapezoid"}, "integration_method"),
        ({"num_collocation_nodes": 1}, "num_collocation_nodes"),
        ({"node_time_interval": -0.1}, "node_time_interval"),
        ({"state_symbols": (M,)}, "state_symbols has m; give functions of time"),
        ({"state_symbols": (X, V, X)}, "state_symbols has .* twice"),
        ({"state_symbols": (X,)}, r"Derivative\(v\(t\), t\); only first derivatives of states"),
        ({"equations_of_motion": [X.diff() - V, X.diff(T, 2)]}, "only first derivatives of states"),
        ({"equations_of_motion": []}, "equations_of_motion is"),
        ({"equations_of_motion": [X.diff() - V - T, V.diff()]}, "equation of motion 0 depends on t itself"),
        ({"equations_of_motion": [X.diff() - sm.gamma(V), V.diff()]}, "gamma"),
        (
            {"equations_of_motion": [X.diff() - sm.Function("f")(X, V), V.diff()]},
            r"equation of motion 0 contains f\(x\(t\), v\(t\)\), .*; replace it by a known trajectory f\(t\)",
        ),
        (
            {"equations_of_motion": [X.diff() - sm.Function("f")(), V.diff()]},
            r"contains f\(\), which is no function of t",
        ),
        ({"equations_of_motion": [X.diff() - sm.Symbol("F") * F, V.diff() - sm.Function("F")(X)]}, "one name"),
        ({"known_parameter_map": {M: "heavy"}}, "known_parameter_map of m"),
        ({"known_parameter_map": [M]}, "give a dict from symbols to numbers"),
        ({"known_trajectory_map": {F: np.zeros(4)}}, r"F\(t\) has samples of shape \(4,\); give 5"),
        ({"known_trajectory_map": {F: lambda _: np.zeros(4)}}, r"F\(t\) has samples of shape \(4,\); give 5"),
        ({"known_trajectory_map": {G: np.zeros(5)}}, r"G\(t\)"),
        ({"equations_of_motion": [X.diff() - V, V.diff() - SLOPE]}, "give it and Derivative"),
        (
            {"equations_of_motion": [X.diff() - V, V.diff() - SLOPE], "known_trajectory_map": {SLOPE: np.zeros(5)}},
            "give Derivative",
        ),
        ({"instance_constraints": (X.func(0.5),)}, r"the time of x\(0.5\) is outside of the nodes, from 0 to 0.4 s"),
        ({"instance_constraints": (X.func(0.0) - K,)}, "contains k"),
        ({"instance_constraints": (K - K,)}, "no state at a time"),
        (
            {"equations_of_motion": [X.diff() - V, sm.Eq(V.diff(), F)]},
            "equation of motion 1 is .*which is true or false; write a - b for the equation a = b",
        ),
        (
            {"instance_constraints": (X.func(0.0), sm.Eq(X.func(0.4), 1.0))},
            "instance constraint 1 is .*which is true or false; write a - b",
        ),
        ({"instance_constraints": (X.func(0.4) > 1.0,)}, "instance constraint 0 is .*which is true or false"),
        ({"instance_constraints": X.func(0.0)}, r"instance_constraints is x\(0.0\); give a SymPy matrix .*or a list"),
        ({"node_time_interval": H, "instance_constraints": (X.func(0.3),)}, "give a whole multiple of h"),
        ({"node_time_interval": H, "instance_constraints": (X.func(5 * H),)}, r"outside of the nodes, from 0 to 4\*h"),
    ],
)
def test_bad_arguments_of_the_collocator_are_named(changes, message):
    with pytest.raises(ModelError, match=message):
        _collocator(**changes)


def test_a_time_between_nodes_means_the_nearest_one():
    # The nodes are 0.1 s apart, as opty 1.5 takes the nearest one.
    between, at = (_collocator(instance_constraints=(X.func(t),)) for t in (0.17, 0.2))
    free = np.arange(1.0, between.num_free + 1.0)
    assert between.generate_constraint_function()(free)[-1] == at.generate_constraint_function()(free)[-1] == 3.0


def test_names_that_kane_lacks_are_refused():
    with pytest.raises(AttributeError, match="'discrete_eom', because it discretizes expressions of kane"):
        _ = _collocator().discrete_eom
    with pytest.raises(ModelError, match=r"shape \(3,\); give 16 numbers"):
        _collocator().generate_constraint_function()(np.zeros(3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bounds": {F: (2.0, 1.0)}}, r"bounds of F\(t\): the lower limit 2.0 is above the upper limit 1.0"),
        ({"bounds": {M: (0.0, 1.0)}}, r"m is not free; free are x\(t\), v\(t\), F\(t\)"),
        ({"bounds": {F: 2.0}}, "give a pair of numbers"),
        ({"bounds": {F: (np.zeros(3), 1.0)}}, r"limit of shape \(3,\)"),
        ({"bounds": [F]}, "bounds is .*; give a dict"),
        ({"eom_bounds": {2: (0.0, 1.0)}}, "eom_bounds has 2; give indices from 0 to 1"),
    ],
)
def test_bad_bounds_are_named(changes, message):
    with pytest.raises(ModelError, match=message):
        _block(sm.Integral(F**2, T), 0.05, **changes)


def test_bad_objectives_options_and_guesses_are_named():
    problem = _block(sm.Integral(F**2, T), 0.05)
    with pytest.raises(ModelError, match="Ipopt has no option 'speed' with the value 3"):
        problem.add_option("speed", 3)
    with pytest.raises(ModelError, match="give 123 numbers"):
        problem.solve(np.zeros(3))
    with pytest.raises(ModelError, match=r"lagrange has the shape \(2,\)"):
        problem.solve(np.zeros(problem.num_free), lagrange=np.zeros(2))
    with pytest.raises(ModelError, match="2 values for 41"):
        problem.fill_free(np.zeros(problem.num_free), np.zeros(2), X)
    with pytest.raises(ModelError, match="the time interval is free; give a solution"):
        _block(sm.Integral(F**2, T), H).time_vector()
    with pytest.raises(ModelError, match="obj is 3; give a function"):
        Problem(3, 4, EQUATIONS, (X, V), NODES, 0.1)
    for objective, message in (
        (X, r"x\(t\) outside of integrals"),
        (sm.Integral(X, (T, 0, 1)), "without limits"),
        (sm.Integral(G, T), r"G\(t\), which is not free"),
        (sm.Integral(X * sm.Integral(X, T), T), "give integrals over t"),
        (sm.Eq(sm.Integral(X, T), 1), "the objective is .*which is true or false; write an expression"),
    ):
        with pytest.raises(ModelError, match=message):
            create_objective_function(objective, (X, V), (F,), (), NODES, 0.1)
    for states, message in ((M, "state_symbols is m; give functions of time"), ((M,), "state_symbols has m")):
        with pytest.raises(ModelError, match=message):
            create_objective_function(sm.Integral(X, T), states, (F,), (), NODES, 0.1)
