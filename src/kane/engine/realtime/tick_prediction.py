"""Prediction of ticks: the next tick is computed on copies before it is due, for the predicted pose of the proxy.

``coupler.predict_proxy`` decides whether the proxy is near its prediction, within one encoder step and a fraction of
the largest force. If so, the mechanism gets the predicted proxy, whether the computation was finished in time or not,
so that a session depends on samples and commands only. A finished computation has the bits of the tick and becomes the
state. Otherwise the tick takes its own step. The force on the operator always uses the measured pose.

Source: Gillespie 2003, end of section 4.
"""

from __future__ import annotations

from kane.engine.call import call_program, native_inline
from kane.engine.memory.loop_arguments import AT_ONCE, StateEquation, Store
from kane.engine.memory.run_codes import GOING
from kane.engine.memory.run_memory import counts_of
from kane.engine.memory.views import coupler_inputs_at, transition_note_at
from kane.engine.realtime.loop_arrays import PREDICTED, PREDICTING, UNPREDICTABLE, UNPREDICTED, Circuit
from kane.engine.realtime.machine_calls import clock
from kane.engine.realtime.tick_step import MOST_PARTS, copy_array
from kane.engine.step.guards import has_guards

# Time of the clock that never comes [ns].
NO_TIME_LIMIT = 2**62


@native_inline
def drive(s: Circuit, system: StateEquation, store: Store) -> None:
    """Write the inputs of the coupler for the next step."""
    copy_array(s.coupling.whole, coupler_inputs_at(system.inputs, s.handle.inputs).whole)
    counts_of(store).slope_known[0] = 0


@native_inline
def _copy_state(system: StateEquation, store: Store, to: StateEquation, into: Store) -> None:
    """Copy the arrays that a step changes, except for records and inputs."""
    copy_array(store.x, into.x)
    copy_array(store.clock, into.clock)
    copy_array(store.counts, into.counts)
    copy_array(system.mode, to.mode)
    copy_array(system.stages, to.stages)
    copy_array(system.projection.kept, to.projection.kept)
    copy_array(system.projection.notes, to.projection.notes)
    copy_array(system.projection.least, to.projection.least)
    copy_array(system.aside.kept, to.aside.kept)
    copy_array(system.aside.notes, to.aside.notes)


@native_inline
def predict_tick(s: Circuit, system: StateEquation, store: Store, until: int) -> None:
    """Compute the next step on the copies, until a time of the clock at the latest [ns]."""
    a, counts = s.prediction, s.counts
    if counts.step[0] != GOING or counts.ticks[0] == 0:
        return
    _copy_state(system, store, a.system, a.store)
    copy_array(system.inputs, a.system.inputs)
    copy_array(a.carried[0], a.copies[0])
    copy_array(a.carried[1], a.copies[1])
    copy_array(a.carried[2], a.copies[2])
    copy_array(s.predicted.whole, coupler_inputs_at(a.system.inputs, s.handle.inputs).whole)
    of = counts_of(a.store)
    of.rows[0] = of.events[0] = of.transitions[0] = of.slope_known[0] = 0
    counts.prediction[0], counts.parts[0] = PREDICTING, 0
    _continue_prediction(s, store, until)


@native_inline
def _continue_prediction(s: Circuit, store: Store, until: int) -> None:
    """Compute parts of the predicted step until it is complete, fails, or a time of the clock has come [ns]."""
    a, calls, counts = s.prediction, s.calls, s.counts
    while counts.prediction[0] == PREDICTING:
        call_program(calls.step, a.arguments, a.arguments, a.arguments, calls.scratch.whole, calls.scratch.whole)
        counts.parts[0] += 1
        if calls.scratch.word[0] != GOING:
            counts.prediction[0] = UNPREDICTABLE
        elif counts_of(a.store).steps[0] != counts_of(store).steps[0]:
            counts.prediction[0] = PREDICTED
        elif counts.parts[0] == MOST_PARTS:
            counts.prediction[0] = UNPREDICTABLE
        if until != NO_TIME_LIMIT and clock(calls) >= until:
            return


@native_inline
def adopt_prediction(s: Circuit, system: StateEquation, store: Store) -> bool:
    """Replace the state by the predicted one if it was computed with the inputs of this tick; return whether it was."""
    a, counts = s.prediction, s.counts
    if counts.prediction[0] == UNPREDICTED or counts.agrees[0] == 0:
        return False
    for i in range(s.handle.inputs):
        if a.system.inputs[i] != system.inputs[i]:
            return False
    _continue_prediction(s, store, NO_TIME_LIMIT)
    here, new = counts_of(store), counts_of(a.store)
    rows, found, changed = here.rows[0], here.events[0], here.transitions[0]
    full = changed + new.transitions[0] + AT_ONCE > store.transitions.shape[0]
    if counts.prediction[0] != PREDICTED or (has_guards(system) and full):
        return False
    for k in range(new.rows[0]):
        copy_array(a.store.rows[k], store.rows[rows + k])
    for k in range(new.transitions[0]):
        copy_array(a.store.transitions[k], store.transitions[changed + k])
        change = transition_note_at(store.transitions[changed + k], 0, store.x.size)
        change.rows[0] += rows
        change.events[0] += found
    _copy_state(a.system, a.store, system, store)
    here.rows[0], here.events[0], here.transitions[0] = rows + new.rows[0], found, changed + new.transitions[0]
    copy_array(a.copies[0], a.carried[0])
    copy_array(a.copies[1], a.carried[1])
    copy_array(a.copies[2], a.carried[2])
    counts.adopted[0] += 1
    return True
