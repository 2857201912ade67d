"""Calls that newcomers make from the habits of other libraries: each ends in an error of kane that names the cure."""

import pickle
import subprocess
import sys
import warnings
from inspect import signature

import pytest

import kane


def scene():
    m = kane.Model("arm", gravity=(0, -9.81, 0))
    b = m.body("link", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0, -0.5, 0))
    j = m.connect(m.ground, b, kane.Revolute("q1", axis="z"))
    m.load(kane.Motor(j, m.input("tau")))
    dyn = kane.build(kane.formulate(m))
    return m, b, j, dyn, kane.simulate(dyn, until=0.1)


M, B, J, DYN, RUN = scene()
E = DYN.equations
# From SciPy, SymPy, MuJoCo, Pinocchio, Drake, PyDy and Simscape: a call, and words of its error.
CALLS = {
    # simulate and its friends
    "simulate(dyn, 5)": (lambda: kane.simulate(DYN, 5), r"simulate\(\) takes 1 argument .*\(dyn\).* until=5"),
    "simulate(dyn)": (lambda: kane.simulate(DYN), r"simulate\(\) needs until"),
    "method=": (lambda: kane.simulate(DYN, until=1, method="RK45"), r"no method=.*integrator="),
    "t_span=": (lambda: kane.simulate(DYN, t_span=(0, 1)), "no t_span=.*until="),
    "t_end=": (lambda: kane.simulate(DYN, t_end=1), "no t_end=.*until="),
    "tf=": (lambda: kane.simulate(DYN, tf=1), "no tf=.*until="),
    "duration=": (lambda: kane.simulate(DYN, duration=1), "no duration=.*until="),
    "t_eval=": (lambda: kane.simulate(DYN, until=1, t_eval=[0, 1]), "no t_eval=.*times="),
    "x0=": (lambda: kane.simulate(DYN, until=1, x0=[0, 0]), "no x0=.* q="),
    "y0=": (lambda: kane.simulate(DYN, until=1, y0=[0, 0]), "no y0=.* q="),
    "qpos=": (lambda: kane.simulate(DYN, until=1, qpos=[0]), "no qpos=.* q="),
    "qvel=": (lambda: kane.simulate(DYN, until=1, qvel=[0]), "no qvel=.* u="),
    "rtol=": (lambda: kane.simulate(DYN, until=1, rtol=1e-6), "no rtol=.*integrator="),
    "h=": (lambda: kane.simulate(DYN, until=1, h=0.01), "no h=.* dt="),
    "timestep=": (lambda: kane.simulate(DYN, until=1, timestep=0.01), "no timestep=.* dt="),
    "ctrl=": (lambda: kane.simulate(DYN, until=1, ctrl=[1.0]), "no ctrl=.*inputs="),
    "args=": (lambda: kane.simulate(DYN, until=1, args=(1,)), "no args=.*parameters="),
    "integrater=": (lambda: kane.simulate(DYN, until=1, integrater=None), "no integrater=.*integrator="),
    "simulate_many(dyn, 5)": (lambda: kane.simulate_many(DYN, 5), "until=5"),
    "simulate_many n=": (lambda: kane.simulate_many(DYN, until=1, n=10), r"simulate_many\(\) takes no n="),
    "Stepper dt=": (lambda: kane.Stepper(DYN, 0.01), r"Stepper\(\) takes 1 argument .*\(dyn\)"),
    "RK4(0.01)": (lambda: kane.RK4(0.01), r"RK4\(\) takes no arguments.*kane\.simulate\(dyn.*dt="),
    "RK4(dt=)": (lambda: kane.RK4(dt=0.01), r"RK4\(\) takes no dt=.*kane\.simulate\(dyn.*dt="),
    "Midpoint(h)": (lambda: kane.Midpoint(0.01), r"Midpoint\(\) takes no arguments.*dt="),
    "RK8(tol=)": (lambda: kane.RK8(tol=1e-6), r"RK8\(\) takes no tol=; did you mean rtol=|atol="),
    "BDF(order=)": (lambda: kane.BDF(order=5), r"BDF\(\) takes no order=; it takes rtol=, atol=, max_step="),
    # names of the module
    "revolute": (lambda: kane.revolute, r"'kane' has no attribute 'revolute'.*kane\.Revolute"),
    "RevoluteJoint": (lambda: kane.RevoluteJoint, r"kane\.Revolute\("),
    "PinJoint": (lambda: kane.PinJoint, r"kane\.Revolute\("),
    "HingeJoint": (lambda: kane.HingeJoint, r"kane\.Revolute\("),
    "PrismaticJoint": (lambda: kane.PrismaticJoint, r"kane\.Prismatic\("),
    "BallJoint": (lambda: kane.BallJoint, r"kane\.Spherical\("),
    "FreeJoint": (lambda: kane.FreeJoint, r"kane\.Free\("),
    "FixedJoint": (lambda: kane.FixedJoint, r"kane\.Weld\(\)"),
    "RigidBody": (lambda: kane.RigidBody, r"model\.body\("),
    "Particle": (lambda: kane.Particle, r"model\.body\("),
    "ReferenceFrame": (lambda: kane.ReferenceFrame, r"kane\.Model\("),
    "dynamicsymbols": (lambda: kane.dynamicsymbols, r"kane\.Revolute\(\"q1\""),
    "symbols": (lambda: kane.symbols, r"model\.parameter\("),
    "KanesMethod": (lambda: kane.KanesMethod, r"kane\.formulate\(model\)"),
    "MultibodyPlant": (lambda: kane.MultibodyPlant, r"kane\.Model\("),
    "MjModel": (lambda: kane.MjModel, r"kane\.Model\("),
    "System": (lambda: kane.System, r"kane\.Model\("),
    "solve_ivp": (lambda: kane.solve_ivp, r"kane\.simulate\("),
    "odeint": (lambda: kane.odeint, r"kane\.simulate\("),
    "integrate": (lambda: kane.integrate, r"kane\.simulate\("),
    "rnea": (lambda: kane.rnea, r"dyn\.inverse\("),
    "aba": (lambda: kane.aba, r"dyn\.forward\("),
    "crba": (lambda: kane.crba, r"dyn\.mass_matrix\("),
    "loadURDF": (lambda: kane.loadURDF, r"kane\.load_urdf\("),
    "buildModelFromUrdf": (lambda: kane.buildModelFromUrdf, r"kane\.load_urdf\("),
    "RK45": (lambda: kane.RK45, r"kane\.RK5\(\)"),
    "Radau": (lambda: kane.Radau, r"kane\.BDF\(\)"),
    "pi": (lambda: kane.pi, r"numpy\.pi"),
    "linearise": (lambda: kane.linearise, r"kane\.linearize"),
    # the model
    "add_body": (lambda: M.add_body("b", 1.0), r"model\.body\("),
    "add_joint": (lambda: M.add_joint("j"), r"model\.connect\("),
    "add_force": (lambda: M.add_force("f"), r"model\.load\("),
    "add_contact": (lambda: M.add_contact("c"), r"model\.contact\("),
    "body(name, 1.0)": (lambda: M.body("b", 1.0), r"Model\.body\(\) takes 1 argument .*mass=1"),
    "body without mass": (lambda: M.body("b"), r"Model\.body\(\) needs mass"),
    "body m=": (lambda: M.body("b", m=1.0), "no m=.*mass="),
    "body I=": (lambda: M.body("b", mass=1.0, I=(1, 1, 1)), "no I=.*inertia="),
    "body center_of_mass=": (lambda: M.body("b", mass=1.0, center_of_mass=(0, 0, 0)), "no center_of_mass=.*com="),
    "body inertai=": (lambda: M.body("b", mass=1.0, inertai=(1, 1, 1)), "no inertai=.*inertia="),
    "connect pos=": (lambda: M.connect(M.ground, B, kane.Weld(), pos=(0, 0, 0)), "no pos=.* at="),
    "connect xyz": (lambda: M.connect(M.ground, B, kane.Weld(), (0, 0, 1)), r"Model\.connect\(\) takes 3 .* at="),
    "connect rpy=": (lambda: M.connect(M.ground, B, kane.Weld(), rpy=(0, 0, 0)), "no rpy=.*orientation="),
    "connect without a joint": (lambda: M.connect(M.ground, B), r"Model\.connect\(\) needs joint"),
    "connect child twice": (lambda: M.connect(M.ground, B, kane.Weld(), child=B), "child by position and by name"),
    "Model g=": (lambda: kane.Model("m", g=9.81), "no g=.*gravity="),
    "contact mu=": (lambda: M.contact(B.point(), None, mu=0.5), "no mu=.*friction="),
    "contact e=": (lambda: M.contact(B.point(), None, e=0.5), "no e=.*restitution="),
    "stop limits=": (lambda: M.stop(J, limits=(0, 1)), "no limits=.*lower="),
    "parameter without value": (lambda: M.parameter("L"), r"Model\.parameter\(\) needs default"),
    "body.position": (lambda: B.velocity, r"a Body has no attribute 'velocity'"),
    # joints, loads and shapes
    "Revolute()": (lambda: kane.Revolute(), r"Revolute\(\) needs"),
    "Revolute axes=": (lambda: kane.Revolute("q", axes="z"), "no axes=.*axis="),
    "Revolute damping=": (lambda: kane.Revolute("q", damping=0.1), r"no damping=; it takes q=, axis="),
    "Weld(name)": (lambda: kane.Weld("w"), r"Weld\(\) takes no arguments"),
    "Sphere r=": (lambda: kane.Sphere(B.point(), r=0.1), "no r=.*radius="),
    "Spring k=": (lambda: kane.Spring(J, k=1.0), "no k=.*stiffness="),
    "Damper c=": (lambda: kane.Damper(J, c=1.0), r"no c="),
    "Coulomb mu_s=": (lambda: kane.Coulomb(mu_s=0.5), "no mu_s=.*static="),
    # results
    "run.t": (lambda: RUN.t, r"a Trajectory has no attribute 't'.*run\.time"),
    "run.y": (lambda: RUN.y, r"run\.q and run\.u"),
    "run.to_csv()": (lambda: RUN.to_csv("run.csv"), r"run\.to_xarray\(\)"),
    "eqs.massmatrix": (lambda: E.massmatrix, "mass_matrix"),
    "Measurements()": (lambda: kane.Measurements(), r"Measurements\(\) needs time, q"),
    "load_urdf file=": (lambda: kane.load_urdf(file="a.urdf"), r"load_urdf\(\) takes no file="),
    "kane.RK8.order_": (lambda: kane.RK8().ordr, "order"),
}  # fmt: skip


def test_there_are_enough_of_them():
    assert len(CALLS) >= 70


@pytest.mark.parametrize("habit", CALLS)
def test_a_wrong_call_names_the_thing_and_the_cure(habit):
    call, words = CALLS[habit]
    with pytest.raises(kane.KaneError, match=words) as caught:
        call()
    assert isinstance(caught.value, TypeError | AttributeError)  # which programs that know no kane expect
    assert len(str(caught.value)) < 300


def test_an_error_of_the_users_own_function_stays_what_it_is():
    def wrong():
        raise TypeError("mine")

    def pose(q):
        wrong()

    m = kane.Model("m")
    body = m.body("b", mass=1.0)
    with pytest.raises(TypeError, match="mine"):
        m.connect(m.ground, body, kane.CustomJoint("q9", pose, pose))


def test_the_vocabulary_keeps_its_signatures_names_and_classes():
    from kane.simulation.simulate import simulate

    assert signature(kane.simulate) == signature(simulate)
    assert pickle.loads(pickle.dumps(kane.simulate)) is kane.simulate
    assert isinstance(kane.Revolute("q", axis="z"), kane.Revolute)
    assert not hasattr(RUN, "no_such_thing")
    assert getattr(M, "no_such_thing", 7) == 7


def test_a_property_that_fails_says_why_itself():
    class Mine(kane.Trajectory):
        @property
        def broken(self):
            return self.q.no_such_array_thing

    with pytest.raises(AttributeError, match="no_such_array_thing"):
        Mine(RUN._run).broken  # noqa: B018


def test_calls_that_fit_are_not_slower_at_every_state():
    """Methods that are called at every state are the functions of their classes themselves."""
    for name in ("forward", "inverse", "rhs", "mass_matrix"):
        assert not hasattr(getattr(kane.Dynamics, name), "__wrapped__")
    assert not hasattr(kane.Stepper.step, "__wrapped__")
    assert not hasattr(kane.Dynamics, "__getattr__")  # with which no attribute of it would be found as fast


def test_a_warning_points_at_the_line_of_the_user():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kane.errors.warn("a doubt")
        (found,) = caught
    assert found.filename == __file__


def test_a_name_that_does_not_exist_cannot_be_imported():
    code = "from kane import RigidBody"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "ImportError: cannot import name 'RigidBody'" in done.stderr


def stopped():
    """A joint with a stop, whose declaration returns several constraints."""
    m = kane.Model("stopped")
    return m.stop(m.connect(m.ground, m.body("b", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1")), lower=-1.0)


@pytest.mark.parametrize("name", ["partial_velocities", "count", "stop"])
def test_results_whose_class_the_call_imports_name_their_attributes(name):
    result = stopped()[0] if name == "stop" else getattr(kane.formulate(kane.library.chain(2)), name)()
    with pytest.raises(
        kane.errors.UnknownNameError, match=f"a {type(result).__name__} has no attribute 'no_such_name'"
    ):
        _ = result.no_such_name
