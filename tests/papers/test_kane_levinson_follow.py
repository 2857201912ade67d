"""Kane & Levinson 1983 through kane.follow: Fig. 1, and the closed circle from Fig. 3 back to the control laws."""

import numpy as np
import pytest

import kane
from kane.library import stanford_arm, stanford_arm_feedback

T = 10.0
NAMES = [f"q{i}" for i in range(1, 7)]
START = dict.fromkeys(NAMES, 0.0) | {"q2": np.pi / 2}
END = dict.fromkeys(NAMES, np.pi / 3) | {"q6": 0.1}
# The paper's tau2, ..., tau5 and sigma act from the outer on the inner body (ERRATA).
PAPER_SIGNS = np.array([1.0, -1.0, -1.0, -1.0, -1.0, -1.0])


@pytest.fixture(scope="module")
def arm():
    model = stanford_arm()
    return model, kane.build(kane.formulate(model))


def equation_127(t, name):
    start, end = START[name], END[name]
    return start + (end - start) / T * (t - T / (2.0 * np.pi) * kane.sin(2.0 * np.pi * t / T))


def test_the_maneuver_of_equation_127_takes_the_torques_of_its_accelerations(arm):
    """The derivatives that follow takes on the graph, against those by hand; dyn.inverse is checked elsewhere."""
    _, dyn = arm
    times = np.linspace(0.0, T, 21)
    motion = kane.follow(dyn, q={n: (lambda t, n=n: equation_127(t, n)) for n in NAMES}, times=times)
    reach = np.array([END[n] - START[n] for n in NAMES]) / T
    w = 2.0 * np.pi / T
    rate, change = np.outer(1.0 - np.cos(w * times), reach), np.outer(w * np.sin(w * times), reach)
    np.testing.assert_allclose(motion.u, rate, rtol=0, atol=1e-15)
    np.testing.assert_allclose(motion.udot, change, rtol=0, atol=1e-15)
    expected = dyn.inputs_for(motion.q, rate, change)
    np.testing.assert_allclose(motion.inputs, expected, rtol=0, atol=1e-13)


def test_figure_1_begins_and_ends_with_the_weights_held(arm):
    """In the paper's signs: Eqs. 129-131 and 133 with q at rest on target are the moments of the weights."""
    _, dyn = arm
    motion = kane.follow(dyn, q={n: (lambda t, n=n: equation_127(t, n)) for n in NAMES}, times=[0.0, T])
    tau = motion.inputs * PAPER_SIGNS
    g, hand = 9.81, 0.6 * 0.06 + 0.5 * 0.2
    s2 = s3 = s4 = np.sin(np.pi / 3)
    c2 = c3 = c4 = 0.5
    tau2 = g * ((5.0 * 0.1 + 0.7) * s2 + hand * (c4 * s2 + c3 * s4 * c2) + 1.1 * 0.7 * s2)
    ends = [0.0, tau2, -g * hand * s2 * s3 * s4, g * hand * (c2 * s4 + s2 * c3 * c4), 0.0, -g * 6.1 * c2]
    np.testing.assert_allclose(tau[0], [0.0, g * (0.7 + hand + 1.1 * 0.6), 0.0, g * hand, 0.0, 0.0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(tau[1], ends, rtol=0, atol=1e-13)


def test_following_the_controlled_motion_gives_back_the_control_laws(arm):
    """The closed circle: only the coordinates of the simulation go in, sampled every ms.

    tau5 damps F with a time constant of F2/k10 = 8 ms, so that the first tenth of a second is too fast for the samples;
    after it, e^-12 of that is left and the spline errs by (1 ms)^4 of the sixth derivative of what is slow.
    """
    model, dyn = arm
    laws = stanford_arm_feedback(model)
    run = kane.simulate(dyn, until=T, dt=1e-3, every=1, q={"q2": np.pi / 2}, inputs=laws)
    later = run.time[200:-200:50]
    motion = kane.follow(dyn, q={n: (run.time, run[n]) for n in NAMES}, times=later)
    for k, name in enumerate(laws):
        recorded = run.inputs[200:-200:50, k]
        np.testing.assert_allclose(motion[name], recorded, rtol=0, atol=2e-6, err_msg=name)
    assert run.final.q == pytest.approx(list(END.values()), abs=0.02)
