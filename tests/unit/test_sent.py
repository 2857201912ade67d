"""Models, equations, dynamics, trajectories and ensembles sent to other processes, and copied."""

import copy
import multiprocessing
import operator
import pickle
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from oracles.formulated import built

import kane
from kane import library
from kane.library.random_tree import random_tree
from kane.model.loads.load import Effect, Load

Q, U = np.linspace(0.1, 0.6, 6), np.linspace(-0.4, 0.4, 6)
TAU = np.linspace(1.0, 2.0, 6)
COPIES = [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy]


@pytest.fixture(scope="module")
def dyn():
    return kane.build(kane.formulate(library.stanford_arm()))


@pytest.fixture(scope="module")
def pool():
    """A process that shares nothing with this one."""
    with multiprocessing.get_context("spawn").Pool(1) as made:
        yield made


@pytest.mark.parametrize("what", ["m.time", "m", "kane.formulate(m)", "kane.build(kane.formulate(m))"])
def test_the_first_thing_that_a_process_does_may_be_to_send(what):
    """Names of kane are imported when they are asked for: what pickle has to know must come with them."""
    program = f"import pickle, kane; m = kane.library.stanford_arm(); pickle.loads(pickle.dumps({what}))"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("copied", COPIES)
def test_what_is_copied_together_stays_together(copied):
    model = random_tree(5, 6)
    eqs = kane.formulate(model)
    forward = eqs.listing("forward")
    joint = model.connections[2]
    m, e, j, body, q, P = copied((model, eqs, joint, model.bodies[3], eqs.q, joint.child.point((0, 0, 1))))
    assert m is not model
    assert m.arena is not model.arena
    assert (j.child.model, m.bodies[3], e.q, e.system.arena) == (m, body, q, m.arena)
    assert m.connections[2] is j
    assert P.body is j.child
    assert e.model.bodies[3] is body
    assert e.listing("forward") == forward


@pytest.mark.parametrize("copied", COPIES)
def test_equations_keep_what_the_model_was_when_it_has_grown_since(copied):
    model = library.stanford_arm()
    eqs = kane.formulate(model)
    model.connect(model.bodies[1], model.body("more", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("late"))
    grown, back = copied((model, eqs))
    assert back.listing() == eqs.listing()
    assert len(kane.formulate(grown).q) == len(eqs.q) + 1


@pytest.mark.parametrize("copied", [*COPIES, copy.copy])
def test_dynamics_are_the_same_to_the_last_bit(dyn, copied):
    assert (copied(dyn).forward(Q, U, TAU) == dyn.forward(Q, U, TAU)).all()


@pytest.mark.parametrize("name", ["forward", "inverse"])
def test_a_function_of_this_process_says_what_to_send_in_its_place(name):
    bound = kane.build(kane.formulate(kane.library.four_bar())).function(name)
    with pytest.raises(kane.ModelError, match=rf"'{name}' is native code of this process .*; pickle the Dynamics"):
        pickle.dumps(bound)
    assert copy.copy(bound) is bound
    assert copy.deepcopy(bound) is bound


def test_native_code_of_what_was_sent_or_loaded_is_found_on_the_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("KANE_CACHE", "on")
    monkeypatch.setenv("KANE_CACHE_DIR", str(tmp_path / "cache"))
    eqs = kane.formulate(library.stanford_arm())
    kane.save_equations(eqs, tmp_path / "arm.json")
    dyn = kane.build(eqs)
    dyn.function("forward")
    kept = {path for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert kept
    for other in (pickle.loads(pickle.dumps(dyn)), kane.build(kane.load_equations(tmp_path / "arm.json"))):
        other.function("forward")
        assert {path for path in (tmp_path / "cache").rglob("*") if path.is_file()} == kept


def test_a_copy_of_a_model_is_one_of_its_own():
    model = library.stanford_arm()
    other = copy.copy(model)
    other.body("more", mass=1.0)
    assert len(other.bodies) == len(model.bodies) + 1
    assert all(body.model is other for body in other.bodies)
    assert kane.formulate(model).listing() == kane.formulate(library.stanford_arm()).listing()


@pytest.mark.parametrize("name", ["four_bar", "rolling_coin", "whipple_bicycle"])
def test_constrained_dynamics_are_the_same_to_the_last_bit(name):
    dyn = built(getattr(library, name))
    back = pickle.loads(pickle.dumps(dyn))
    random = np.random.default_rng(0)
    q, u = random.normal(size=(5, len(dyn.equations.q))), random.normal(size=(5, len(dyn.equations.u)))
    inputs = random.normal(size=len(dyn.equations.inputs))
    assert np.array_equal(back.forward(q, u, inputs), dyn.forward(q, u, inputs), equal_nan=True)


@pytest.mark.parametrize("copied", [*COPIES, copy.copy])
def test_revealed_reactions_are_the_same_to_the_last_bit(copied):
    eqs = kane.formulate(library.four_bar())
    dyn = kane.build(eqs)
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    run = kane.simulate(dyn, until=0.1, q=start.q, u=start.u)
    force = kane.RevealedReactions(dyn, kane.reveal_reactions(eqs, "q1"), route=kane.Multipliers())
    assert np.array_equal(copied(force)(run), force(run), equal_nan=True)


def test_expressions_go_with_their_model_and_come_back_as_they_are():
    model = library.stanford_arm()
    made = kane.sin(model.connections[0].q) * 3
    assert copy.copy(made) is made
    m, x = pickle.loads(pickle.dumps((model, made)))
    assert x is kane.sin(m.connections[0].q) * 3


@dataclass(frozen=True)
class Push(Load):
    """A load of a user's own, with a joint and an expression in it."""

    joint: kane.model.connection.Connection
    effort: object

    def effect(self):
        return Effect(efforts=((kane.model.connection.JointCoordinate(self.joint), self.effort),))


@pytest.mark.parametrize("copied", COPIES)
def test_members_of_a_users_own_are_sent_by_the_rules_of_pickle(copied):
    model = library.n_link_pendulum(2)
    joint = model.connections[0]
    model.load(Push(joint, model.input("push") * kane.cos(joint.q)))
    back = copied(model)
    assert isinstance(back.loads[-1], Push)
    assert back.loads[-1].joint is back.connections[0]
    assert kane.formulate(back).listing() == kane.formulate(model).listing()


def test_another_process_derives_compiles_and_simulates(pool, dyn):
    model = library.stanford_arm()
    assert pool.apply(kane.formulate, (model,)).listing() == dyn.equations.listing()
    assert (pool.apply(operator.methodcaller("forward", Q, U, TAU), (dyn,)) == dyn.forward(Q, U, TAU)).all()
    theirs = pool.apply(kane.simulate, (dyn,), {"until": 0.1, "u": U})
    ours = kane.simulate(dyn, until=0.1, u=U)
    assert (theirs.q == ours.q).all()
    assert theirs.audit() is not None  # the dynamics came along
    many = pool.apply(kane.simulate_many, (dyn,), {"until": 0.1, "u": np.stack([U, 2 * U])})
    assert (many.q == kane.simulate_many(dyn, until=0.1, u=np.stack([U, 2 * U])).q).all()


@pytest.mark.parametrize("copied", [*COPIES, copy.copy])
def test_trajectories_and_ensembles_keep_their_numbers_and_names(tmp_path, copied):
    model = random_tree(4, 6)  # with a joint of the user's own, whose functions no process could be sent
    dyn = kane.build(kane.formulate(model))
    run = kane.simulate(dyn, until=0.02)
    back = copied(run)
    assert (back.q == run.q).all()
    assert back.to_xarray().identical(run.to_xarray())
    many = kane.simulate_many(dyn, until=0.02, u=np.zeros((2, len(dyn.equations.u))))
    assert copied(many).to_xarray().identical(many.to_xarray())
    run.save(tmp_path / "run.nc")
    loaded = kane.Trajectory.load(tmp_path / "run.nc")
    assert copied(loaded).to_xarray().identical(run.to_xarray())
