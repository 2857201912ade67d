"""Kernels called from Python with their callees replaced. Who vouches: the definition of each kernel.

Other tests notice few mistakes in these kernels, because later code repairs them.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from kane.engine.hybrid import compiled_mode_programs as compiled
from kane.engine.hybrid import consistency, rest
from kane.engine.linear.factorizations import RANK_TOLERANCE
from kane.engine.memory.contact_codes import ADOPTED, ENERGY_GAINED, NEWTON, NONE, OPEN, POISSON, SLIDING, STICKING
from kane.engine.memory.loop_arguments import SAMPLES
from kane.engine.memory.run_codes import GOING
from kane.engine.realtime import coupler, moreau_jean_tick
from kane.engine.rows import front_embedding, impulses
from kane.engine.rows.tree_response import AMPLIFIED, INDEPENDENT
from kane.engine.step import event_location, guards, lanes, time_steps
from kane.engine.step.event_location import NO_ROOT


@pytest.mark.parametrize("step", [1, 3])
def test_forces_keep_digits_unless_rows_depend_on_each_other_or_forces_cancel(step):
    outputs = np.full(4 + 3 * step, np.nan)
    for dependence, contribution, keeps in ((0.9, 0.9, True), (1.1, 0.9, False), (0.9, 1.1, False)):
        outputs[2 : 2 + 3 * step : step] = dependence / INDEPENDENT, 2.0 * contribution * AMPLIFIED, 2.0
        assert compiled.keeps_digits(outputs, 2, step) == keeps


@pytest.mark.parametrize(("term", "size"), [("own", 1.0), ("other", 1.0), ("friction", 5.0)])
def test_the_angle_of_a_slip_is_zero_within_the_rounding_of_the_terms_that_make_its_acceleration(
    monkeypatch, term, size
):
    """Along x, with an acceleration across of half the rounding, and of twice it."""
    sizes = {"own": (1.0, 0.0, 0.0), "other": (0.0, 1.0, 0.0), "friction": (0.0, 0.0, 5.0)}[term]
    c = SimpleNamespace(
        table=SimpleNamespace(tangent=[4]),
        state=SimpleNamespace(along=np.array([[1.0, 0.0]])),
        gaps=SimpleNamespace(kinetic=[0.5]),
    )
    monkeypatch.setattr(consistency, "force_scale", lambda c, a: sizes[2])
    monkeypatch.setattr(consistency, "_mobility", lambda c, k, t: 2.0)
    for share, turned in ((0.5, False), (2.0, True)):
        across = share * consistency.EXACT * size
        found = {4: (0.3 * across, sizes[0]), 5: (across, sizes[1])}
        monkeypatch.setattr(consistency, "row_acceleration", lambda c, a, k, row, found=found: found[row])
        assert consistency.turning_angle(None, c, 0) == (pytest.approx(np.arctan2(1.0, 0.3)) if turned else 0.0)


def test_rows_that_may_repeat_a_normal_row_are_the_active_ones_of_its_island(monkeypatch):
    """Of contacts that slide, only normal rows; of friction without a normal row that slides, none."""
    #            open  self  slides  sticks  slides without normal row, elsewhere
    status = [OPEN, STICKING, SLIDING, STICKING, SLIDING, STICKING]
    normal, first = [0, 3, 6, 9, NONE, 14], [0, 3, 6, 9, 12, 14]
    c = SimpleNamespace(
        block=SimpleNamespace(constraints=6),
        state=SimpleNamespace(status=status),
        table=SimpleNamespace(normal=normal),
    )
    i = SimpleNamespace(v=np.zeros(17), island=[1, 1, 1, 1, 1, 2])
    p, seen = SimpleNamespace(place=np.full(17, -7)), []

    def rank(i, p, m, ratio):
        seen.append(p.place[:m].tolist())
        return len(seen)

    for name, value in (
        ("reaction_problem_at", lambda *given: p),
        ("contact_scratch_of", lambda *given: SimpleNamespace(reactions=0)),
        ("responds", lambda c, k: True),
        ("rows_of", lambda c, k: (first[k], [*first, 17][k + 1])),
        ("_rank", rank),
    ):
        monkeypatch.setattr(rest, name, value)
    a = SimpleNamespace(head=None)
    assert not rest._is_redundant(a, c, i, 1, 0.1, None)
    assert seen == [[6, 9, 10, 11], [6, 9, 10, 11, 3]]
    monkeypatch.setattr(rest, "_rank", lambda *given: 4)
    assert rest._is_redundant(a, c, i, 1, 0.1, None)


@pytest.mark.parametrize(
    ("law", "gain", "ended"), [(NEWTON, 1e-6, ENERGY_GAINED), (NEWTON, 1e-12, ADOPTED), (POISSON, 1e-6, ADOPTED)]
)
def test_an_impact_that_gains_energy_is_refused_unless_that_is_rounding(monkeypatch, law, gain, ended):
    def strike(b, tangents, law, restitution):
        b.p[:] = 2.0, 0.0, 0.0
        b.v[:] = 3.0 * (1.0 + gain), 0.0, 0.0
        return impulses.DONE

    monkeypatch.setattr(impulses, "strike", strike)
    monkeypatch.setattr(impulses, "touches", lambda c, k: True)
    b = SimpleNamespace(v=np.zeros(3), G=np.zeros((3, 3)), p=np.zeros(3), static=[0.0], kinetic=[0.0])
    table = SimpleNamespace(normal=[0], tangent=[1], tangents=[0], friction=[0], law=[law])
    c = SimpleNamespace(
        table=table,
        block=SimpleNamespace(constraints=1),
        gaps=SimpleNamespace(static=[0.0], kinetic=[0.0], restitution=[1.0]),
    )
    i = SimpleNamespace(impact=b, v=np.array([-3.0]), G=np.array([[3.0]]), impulse=np.zeros(1), island=[0])
    assert impulses.hit(c, i, 0) == ended
    assert i.impulse[0] == (2.0 if ended == ADOPTED else 0.0)


def test_a_selection_of_fronts_serves_while_its_entries_are_small_and_nothing_is_left_beyond_its_rank():
    """One front whose parent is none, with two columns of pivots and one more, and a row beyond the rank."""
    n, m, place = 3, 3, 3
    plan = np.zeros(12, np.int64)
    plan[1], plan[place + front_embedding.PARENT] = place, -1
    t = SimpleNamespace(diag=np.zeros(n), number=1, pivots=[2], columns=[3], rows=[3], plan=plan)
    t.lists, t.A = [0, 1, 2, 0, 1, 2], np.zeros((m, n))
    t.A[:2, :2] = 9.0
    for row, entry, serves in ((0, 1.9, True), (1, -2.1, False), (2, 0.9 * RANK_TOLERANCE, True), (2, 1.9, False)):
        t.A[:, 2] = 0.0
        t.A[row, 2] = entry
        assert front_embedding._serves(t, m, 1.0) == serves
    plan[place + front_embedding.PARENT] = 0  # rows beyond the rank are then those of the parent
    assert front_embedding._serves(t, m, 1.0)


def test_work_on_the_mechanism_is_the_mean_pull_along_the_way_of_the_handle_and_what_the_coupler_makes(monkeypatch):
    state = SimpleNamespace(
        pull=np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]),
        handle=np.array([0.0, 0.1, 0.2, 1.0, 0.0, 0.0, 0.0]),
        to_mechanism=[5.0],
        made=[7.0],
    )
    way = np.array([0.0, 0.01, -0.02, 0.03])
    s = SimpleNamespace(
        state=state,
        handle=SimpleNamespace(motion=SimpleNamespace(position=np.array([0.3, 0.0, 0.25])), orientation=None),
        calls=SimpleNamespace(scratch=SimpleNamespace(displacement=np.zeros(4))),
    )
    after = np.array([3.0, 2.0, 1.0, 0.3, 0.2, 0.1])
    monkeypatch.setattr(coupler, "_find_rotation", lambda s: None)
    monkeypatch.setattr(coupler, "_pull", lambda s, k: after[k])
    monkeypatch.setattr(coupler, "keep_handle", lambda s: None)
    monkeypatch.setattr(coupler, "turn_between", lambda p, q, out: out.__setitem__(slice(None), way))
    coupler.add_work_on_mechanism(s)
    work = 0.5 * (state.pull + after) @ [0.3, -0.1, 0.05, *(2.0 * way[1:])]
    assert state.to_mechanism[0] == pytest.approx(5.0 + work, rel=1e-14)
    assert state.made[0] == pytest.approx(7.0 + work, rel=1e-14)


@pytest.mark.parametrize("sample", range(1, SAMPLES.size - 1))
def test_a_dip_is_searched_between_the_samples_on_both_sides_of_the_lowest(monkeypatch, sample):
    values, searched = np.arange(2.0 * SAMPLES.size).reshape(-1, 2), []
    monkeypatch.setattr(guards, "evaluate_on_interpolant", lambda *given: None)
    monkeypatch.setattr(guards, "_store_sample", lambda *given: None)
    monkeypatch.setattr(guards, "samples_of", lambda watch: SimpleNamespace(values=values))
    monkeypatch.setattr(guards, "may_dip", lambda values, at, e: (at, e) == (sample, 1))
    monkeypatch.setattr(guards, "_search_negative", lambda *given: searched.append(given[-1]) or NO_ROOT)
    assert guards._first_dip(SimpleNamespace(out=np.zeros(2)), None, None, None, None) == NO_ROOT
    low, high = sample - 1, sample + 1
    assert searched == [(1, SAMPLES[low], SAMPLES[high], values[low, 1], values[high, 1])]


def test_a_lane_whose_step_is_cut_for_good_ends_with_the_reason(monkeypatch):
    ended = []
    monkeypatch.setattr(lanes, "lane_system", lambda *given: None)
    monkeypatch.setattr(lanes, "has_guards", lambda system: True)
    monkeypatch.setattr(lanes, "end_lane", lambda block, trajectories, lane, status: ended.append((lane, status)))
    block = SimpleNamespace(steps=np.zeros((3, 2)))
    for found in (lanes.REPEAT, -5):
        monkeypatch.setattr(lanes, "_cut_lane", lambda *given, found=found: found)
        lanes._advance((None, None, None, None), None, block, None, None, 1)
    assert ended == [(1, -5)]


@pytest.mark.parametrize("adopted", [True, False])
def test_a_moreau_jean_step_ends_the_tick_and_is_recorded_as_a_change_of_modes(monkeypatch, adopted):
    """State [1, 2] at 2.3 ms, ticks of 1 ms: the program gets the time left to 3 ms, and its result is recorded."""
    clock = SimpleNamespace(time=[2.3e-3], cut_step=[1e-4])
    zeroed = ("slope_known", "missed", "cuts", "off_grid", "started")
    counts = SimpleNamespace(steps=[2], transitions=[1], rows=[4], events=[6], **{name: [1] for name in zeroed})
    done = {}
    lengths = {"time": 1, "rows": 1, "events": 1, "key_before": 1, "key_after": 1, "before": 2, "after": 2, "notes": 1}
    note = SimpleNamespace(**{name: np.full(n, np.nan) for name, n in lengths.items()})

    def call(address, state, inputs, constants, out, work):
        done["state"] = state.tolist()
        out[:] = 3.0, 4.0, ADOPTED if adopted else -1.0, 0.7

    given = {
        "clock_of": lambda store: clock,
        "counts_of": lambda store: counts,
        "mode_of": lambda system: SimpleNamespace(places=np.zeros(9, int), key=[5]),
        "transition_note_at": lambda *given: note,
        "_applies": lambda *given: True,
        "enter_mode": lambda system, row: done.update(row=row),
        "project": lambda projection, system, t, x: done.update(projected=t),
        "normalise": lambda x, quaternions: None,
        "write_record": lambda store, t, x, notes: done.update(record=(t, x.tolist())),
        "call_program": call,
    }
    for name, value in given.items():
        for module in (moreau_jean_tick, time_steps):
            monkeypatch.setattr(module, name, value, raising=False)
    program = SimpleNamespace(program=1, given=np.zeros(5), out=np.zeros(4), rows=0)
    s = SimpleNamespace(moreau_jean=program, rules=SimpleNamespace(period=[1e-3]))
    system = SimpleNamespace(inputs=None, stages=np.zeros(1), work=None, quaternions=None)
    system.automaton, system.projection = SimpleNamespace(table=np.zeros((3, 1))), SimpleNamespace(notes=None)
    store = SimpleNamespace(x=np.array([1.0, 2.0]), y=np.zeros(2), transitions=np.zeros((8, 1)))
    found = moreau_jean_tick.step_to_tick_end(s, system, store, -9)
    assert done.pop("state") == pytest.approx([2.3e-3, 1.0, 2.0, 0.7e-3, 0.0])
    if not adopted:
        assert (found, store.x.tolist(), clock.time[0]) == (-9, [1.0, 2.0], 2.3e-3)
        assert done == {}
        return
    assert found == GOING
    assert done == {"row": 2, "projected": 3e-3, "record": (3e-3, [3.0, 4.0])}
    assert (clock.time[0], clock.cut_step[0]) == (3e-3, 0.0)
    assert (counts.steps[0], counts.transitions[0], *(getattr(counts, name)[0] for name in zeroed)) == (
        3,
        2,
        0,
        0,
        0,
        0,
        0,
    )
    assert (note.time[0], note.rows[0], note.events[0], note.key_before[0], note.key_after[0]) == (3e-3, 4, 6, 5, 5)
    assert (note.before.tolist(), note.after.tolist(), note.notes.tolist()) == ([1.0, 2.0], [3.0, 4.0], [0.7])


def test_an_event_that_ends_a_run_within_a_step_leaves_the_state_and_the_notes_of_its_projection(monkeypatch):
    watch = SimpleNamespace(out=np.array([1.0]), signs=np.array([-1.0]), roots=np.zeros(1))
    watch.directions, watch.terminal = np.zeros(1), np.ones(1)
    counts = SimpleNamespace(ended=[0])
    store = SimpleNamespace(y=np.array([9.0, 9.0]), z=np.array([3.0, 4.0]))
    system = SimpleNamespace(
        aside=SimpleNamespace(notes=np.array([0.3])), projection=SimpleNamespace(notes=np.zeros(1))
    )
    for name, value in (
        ("evaluate_on_interpolant", lambda *given: None),
        ("evaluate_projected", lambda *given: None),
        ("locate", lambda *given: 0.125),
        ("_append_event", lambda *given: None),
        ("_load_probe_state", lambda *given: 5.5),
        ("counts_of", lambda store: counts),
    ):
        monkeypatch.setattr(event_location, name, value)
    assert event_location.find_events(watch, (system, None, 9.0), store, None, (5.0, 4.0, 9.0)) == 5.5
    assert counts.ended[0] == 1
    assert store.y.tolist() == [3.0, 4.0]
    assert system.projection.notes.tolist() == [0.3]
