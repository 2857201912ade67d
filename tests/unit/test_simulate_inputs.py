"""Inputs of a simulation in all their forms."""

import ctypes

import numpy as np
import pytest

import kane
from kane.codegen.jit.python_asked import AskedCode
from kane.simulation.inputs.input_plan import Held, Interpolated


@pytest.fixture(scope="module")
def cart():
    """Two masses of 1 kg, sliding freely, each pushed by an input: u1_dot = f1, u2_dot = f2."""
    model = kane.Model("carts", gravity=(0, 0, 0))
    slides = []
    for i in (1, 2):
        body = model.body(f"cart{i}", mass=1.0)
        slides.append(model.connect(model.ground, body, kane.Prismatic(f"q{i}", axis="x")))
        model.load(kane.Motor(slides[-1], model.input(f"f{i}", default=0.25 if i == 2 else 0.0)))
    gain = model.parameter("gain", 2.0)
    dyn = kane.build(kane.formulate(model))
    return dyn, slides, gain, model


def run(cart, inputs, **options):
    return kane.simulate(cart[0], **{"until": 2.0, "dt": 0.01, "every": 1, "inputs": inputs, **options})


def test_inputs_that_are_not_given_have_their_defaults(cart):
    assert run(cart, None).final.u == pytest.approx([0.0, 0.5], abs=1e-14)
    assert run(cart, {"f1": 1.0}).final.u == pytest.approx([2.0, 0.5], abs=1e-13)


@pytest.mark.parametrize("inputs", [[1.0, -2.0], {"f1": 1.0, "f2": -2.0}, np.array([1, -2])])
def test_constants_accelerate_uniformly(cart, inputs):
    end = run(cart, inputs).final
    assert end.u == pytest.approx([2.0, -4.0], abs=1e-13)
    assert end.q == pytest.approx([2.0, -4.0], abs=1e-13)


def test_an_interpolated_table_is_integrated_exactly_where_its_corners_lie_on_steps(cart):
    # f1 = t up to 1, then 2 - t: the integral over 2 s is 1. RK4 integrates straight lines exactly.
    result = run(cart, {"f1": ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])})
    assert result.final.u[0] == pytest.approx(1.0, abs=1e-13)
    assert result["f1"] == pytest.approx(1 - np.abs(1 - result.time), abs=1e-13)


def test_a_held_table_is_integrated_exactly_where_its_samples_lie_on_steps(cart):
    rng = np.random.default_rng(4)
    times = np.arange(0, 2, 0.01) * 1.0  # as users write them: rounded otherwise than the steps
    values = rng.normal(size=times.size)
    result = run(cart, {"f1": Held(times, values)})
    assert result.final.u[0] == pytest.approx(0.01 * values.sum(), abs=1e-13)
    assert (result["f1"][:-1] == values).all()


def test_the_last_held_sample_holds_for_good(cart):
    result = run(cart, {"f1": Held([0.0, 1.0], [1.0, 3.0])})
    assert result["f1"][-1] == 3.0


@pytest.mark.parametrize(
    "samples",
    [([0.0, 1.0], [1.0, 3.0]), Interpolated([0.5, 2.0], [1.0, 3.0]), Held([0.5, 1.0], [1.0, 3.0])],
    ids=["too short", "begins too late", "held from too late"],
)
@pytest.mark.parametrize("times", [(0.0, 2.0), (2.0, 0.0)], ids=["forwards", "backwards"])
def test_samples_that_do_not_cover_the_run_are_an_error(cart, samples, times):
    start, until = times
    with pytest.raises(kane.ModelError, match=r"samples of the input 'f1' cover .*; add samples.*kane\.Held"):
        run(cart, {"f1": samples}, start=start, until=until)
    with pytest.raises(kane.ModelError, match="samples of the input 'f1' cover"):
        kane.simulate(cart[0], start=start, until=until, inputs={"f1": samples})


def test_samples_whose_last_time_is_rounded_otherwise_than_until_cover_the_run(cart):
    times = np.nextafter(np.linspace(0.0, 2.0, 21), 1.0)  # first and last are off by their last digit, inwards
    run(cart, {"f1": (times, np.ones(21))})


def test_samples_of_all_inputs_may_be_given_together(cart):
    times = [0.0, 2.0]
    together = run(cart, (times, [[0.0, 1.0], [2.0, 1.0]]))
    apart = run(cart, {"f1": Interpolated(times, [0.0, 2.0]), "f2": 1.0})
    assert (together.q == apart.q).all()


def test_many_tables_of_both_kinds_are_looked_up_each_on_its_own(cart):
    tables = {"f1": Held([0, 1], [1, -1]), "f2": Interpolated([0, 0.5, 2], [0, 3, 0])}
    both = run(cart, tables)
    for name, column in (("f1", 0), ("f2", 1)):
        alone = run(cart, {name: tables[name]})
        assert (both.u[:, column] == alone.u[:, column]).all()


def test_tables_work_when_time_runs_backwards(cart):
    tables = {"f1": Held([0, 0.5, 1], [1, -1, 2]), "f2": Interpolated([0, 0.5, 2], [0, 3, 0])}
    there = run(cart, tables)
    back = run(cart, tables, start=2.0, until=0.0, q=there.final.q, u=there.final.u)
    assert back.final.q == pytest.approx([0, 0], abs=1e-13)
    assert back.u[::-1] == pytest.approx(there.u, abs=1e-13)


def test_a_single_held_sample_is_a_constant(cart):
    assert (run(cart, {"f1": Held([0.0], [3.0])}).q == run(cart, {"f1": 3.0}).q).all()


@pytest.mark.parametrize(
    ("times", "values", "message"),
    [
        ([], [], "m > 0"),
        ([0, 1], [1], "their shapes are"),
        ([0, 0], [1, 2], "increase strictly"),
        ([1, 0], [1, 2], "increase strictly"),
        ([0, 1], [1, np.nan], "not finite"),
        ([0, "x"], [1, 2], "must be numbers"),
        ([[0, 1]], [[1, 2]], "their shapes are"),
    ],
)
def test_a_table_that_is_none_is_an_error(times, values, message):
    for kind in (Held, Interpolated):
        with pytest.raises(kane.ModelError, match=message):
            kind(times, values)


def test_a_table_of_the_wrong_width_is_an_error(cart):
    with pytest.raises(kane.ModelError, match=r"give \(times, 2\): f1, f2"):
        run(cart, Held([0, 1], [[1], [2]]))
    with pytest.raises(kane.ModelError, match="input 'f1' have shape"):
        run(cart, {"f1": ([0, 1], [[1, 2], [3, 4]])})


def test_an_expression_is_a_controller_compiled_into_the_equations(cart):
    _, (one, _), gain, model = cart
    law = {"f1": -gain * one.q - one.qdot, "f2": kane.sin(model.time) * one.q}
    compiled = run(cart, law, q=[1.0, 0.0])
    called = run(cart, lambda t, q, u: [-2.0 * q[0] - u[0], np.sin(t) * q[0]], q=[1.0, 0.0])
    assert compiled.q == pytest.approx(called.q, abs=1e-13)  # roundings of sin and of sums taken in another order
    assert compiled.inputs == pytest.approx(called.inputs, abs=1e-13)
    assert compiled["f1"] == pytest.approx(-2 * compiled["q1"] - compiled["u1"], abs=1e-15)


def test_a_controller_follows_parameters_of_the_run(cart):
    _, (one, _), gain, _ = cart
    a = run(cart, {"f1": -gain * one.q}, q=[1.0, 0.0], parameters={"gain": 5.0})
    b = run(cart, {"f1": -5.0 * one.q}, q=[1.0, 0.0])
    assert a.q == pytest.approx(b.q, abs=1e-14)


def test_a_controller_may_read_another_input_that_is_a_table(cart):
    _, (one, _), _, _ = cart
    reference = cart[0].equations.inputs[1]
    result = run(cart, {"f1": reference - one.q, "f2": ([0, 2], [0, 1])})
    assert result["f1"] == pytest.approx(result["f2"] - result["q1"], abs=1e-15)
    assert result["f2"] == pytest.approx(result.time / 2, abs=1e-15)


def test_controllers_that_depend_on_each_other_are_an_error(cart):
    f1, f2 = cart[0].equations.inputs
    with pytest.raises(kane.ModelError, match="'f1' depends on the input 'f2', which is itself given by an expression"):
        run(cart, {"f1": f2 + 1, "f2": f1 + 1})


def test_a_controller_of_another_model_is_an_error(cart):
    other = kane.Model("other")
    with pytest.raises(kane.ModelError, match="'f1' belongs to another model"):
        run(cart, {"f1": other.time * 2})


def test_a_python_function_gives_what_the_native_loop_gives(cart):
    table = Held([0, 1], [1, -1])
    native = run(cart, {"f1": table, "f2": 2.0})
    slow = run(cart, {"f1": table, "f2": lambda t, q, u: 2.0})
    whole = run(cart, lambda t, q, u: [1.0 if t < 1.0 - 1e-9 else -1.0, 2.0])
    assert (slow.q == native.q).all()
    assert (slow.inputs == native.inputs).all()
    # The function sees the switch at the end of the step before it: one stage of four, weight h/6, off by 2.
    assert whole.u[:, 0] == pytest.approx(native.u[:, 0], abs=2 * 0.01 / 6 + 1e-12)


def test_a_python_function_sees_copies_it_may_change(cart):
    def vandal(t, q, u):
        q[:], u[:] = np.nan, np.nan
        return [1.0, 0.0]

    assert run(cart, vandal).final.u[0] == pytest.approx(2.0, abs=1e-13)


def test_a_python_function_is_called_at_the_four_stages_of_each_step_and_at_each_record(cart):
    times = []

    def watch(t, q, u):
        times.append(t)
        return [0.0, 0.0]

    run(cart, watch, until=0.02)
    # The slope at the end of a step is the first one of the next; records come when the run is over.
    expected = [0, *(0.005, 0.005, 0.01), 0.01, *(0.015, 0.015, 0.02), 0.02, *(0, 0.01, 0.02)]
    assert times == pytest.approx(expected, abs=1e-15)


def test_a_python_function_that_returns_nonsense_is_an_error(cart):
    with pytest.raises(kane.ModelError, match=r"returned shape \(3,\) where \(2,\) is needed; the inputs are f1, f2"):
        run(cart, lambda t, q, u: [1, 2, 3])
    with pytest.raises(kane.ModelError, match="an input function must return numbers, not None"):
        run(cart, lambda t, q, u: None)


def test_a_python_function_that_returns_nan_ends_the_run_with_an_error(cart):
    with pytest.raises(kane.SimulationError, match=r"t = 1 s.*u1_dot is not finite"):
        run(cart, {"f1": lambda t, q, u: np.nan if t > 1.001 else 0.0})


def test_an_error_inside_a_python_function_comes_out_as_it_is(cart):
    def broken(t, q, u):
        raise ZeroDivisionError("my own")

    with pytest.raises(ZeroDivisionError, match="my own"):
        run(cart, broken)


def test_an_error_inside_a_python_function_says_where_it_happened(cart):
    def broken(t, q, u):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as found:
        run(cart, broken)
    assert found.traceback[-1].name == "broken"


@pytest.mark.parametrize(
    "kind", [list, tuple, np.asarray, lambda x: np.asarray(x, np.float32), lambda x: x[::-1][::-1]]
)
def test_a_python_function_may_return_numbers_of_any_kind(cart, kind):
    expected = run(cart, {"f1": 1.0, "f2": -0.5}).final
    found = run(cart, lambda t, q, u: kind(np.array([1.0, -0.5]))).final
    np.testing.assert_array_equal(found.u, expected.u)


@pytest.mark.usefixtures("ctrl_c_raises")
def test_an_interrupt_between_two_calls_of_a_python_function_is_kept():
    """Python looks for signals when a function begins, where no handler in the function could catch it."""
    kept, called = [], []
    after = AskedCode(lambda: called.append(1), kept.append, 0, 3)
    before = AskedCode(ctypes.pythonapi.PyErr_SetInterrupt, kept.append, after.address, 3)
    out = (ctypes.c_double * 3)()
    native = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(before.address)
    native(None, None, None, ctypes.addressof(out), None)
    assert [type(error) for error in kept] == [KeyboardInterrupt]
    assert called == []
    assert np.isnan(out).all()


@pytest.mark.parametrize("value", [np.zeros(11), [1.0], "20*sin(t)"])
def test_an_input_that_is_no_number_says_how_samples_and_expressions_are_given(value):
    m = kane.library.chain(1)
    m.load(kane.Motor(m.connections[0], m.input("tau")))
    dyn = kane.build(kane.formulate(m))
    with pytest.raises(
        kane.ModelError, match=r"input 'tau' is .*kane\.Interpolated\(times, values\), or an expression"
    ):
        kane.simulate(dyn, until=0.1, inputs={"tau": value})


def test_a_block_that_is_pushed_in_samples_slips_where_the_push_exceeds_friction():
    """Closed forms: slip begins at mu m g, and what is left of the push accelerates. The push grows by 10 N/s."""
    model = kane.Model("block", gravity=(0, -9.81, 0))
    block = model.body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    model.connect(model.ground, block, kane.Planar(("x", "y", "th")))
    model.load(kane.Force(block.point(), (model.input("push"), 0, 0)))
    floor = kane.Plane(model.ground.point(), model.ground.y)
    model.contact(block.point(), floor, friction=kane.Coulomb(0.5), name="floor")
    push = kane.Interpolated([0.0, 2.0], [0.0, 20.0])
    run = kane.simulate(kane.build(kane.formulate(model)), until=2.0, inputs={"push": push})
    begins = 0.5 * 9.81 * 2.0 / 10.0
    assert [(event.name, event.cause) for event in run.events][-1] == ("floor", "slips")
    assert run.events[-1].time == pytest.approx(begins, abs=1e-9)
    assert run["x_dot"][-1] == pytest.approx(2.5 * (2.0 - begins) ** 2, rel=1e-9)
