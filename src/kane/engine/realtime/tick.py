"""The loop of a haptic session: read, couple, clamp, write, integrate, in one native function without Python.

A force is written before the step that it belongs to, so that the computing time of the step does not delay it. A
position is written after the step that it results from, so that it is not late by a tick. A late tick is computed at
once with the newest sample. More than the allowed number of missed ticks end the force. The lost ticks are counted and
not simulated.

Source: Gillespie 2003, section 4.
"""

from __future__ import annotations

from kane.engine.call import call_program, native_inline, native_loop
from kane.engine.memory.loop_arguments import StateEquation, Store, Vector
from kane.engine.memory.run_codes import GOING
from kane.engine.memory.run_memory import clock_of
from kane.engine.memory.views import (
    LogRow,
    LoopCommand,
    LoopPace,
    device_sample_at,
    log_row_at,
    loop_command_at,
    loop_energies_at,
    loop_snapshot_at,
    taken_command_at,
)
from kane.engine.realtime.coupler import (
    add_work_on_mechanism,
    add_work_on_operator,
    couple,
    extrapolate_device,
    find_target,
    keep_handle,
    predict_proxy,
    set_offset,
)
from kane.engine.realtime.loop_arrays import (
    ARMED,
    AS_RECORDED,
    BY_CLOCK,
    ENDING,
    NO_FAULT,
    OVERRUN,
    REVISION_ADOPTED,
    STEP_FAILED,
    SWITCHING,
    UNARMED,
    UNPREDICTED,
    UNREAD,
    WATCHDOG_ACTED,
    Circuit,
)
from kane.engine.realtime.machine_calls import clock, exchange, fence, sleep, write_alone
from kane.engine.realtime.offered_loop import begin_offer
from kane.engine.realtime.rotations import quaternion_of
from kane.engine.realtime.safety import clamp, examine, fail, place, ramp_up
from kane.engine.realtime.tick_prediction import adopt_prediction, drive, predict_tick
from kane.engine.realtime.tick_step import advance_tick

# Results of the loop: all ticks are complete; a command ended the run; the mechanism cannot continue; the offered loop
# continues, because it took the last step.
TICKS_COMPLETE, RUN_STOPPED, MECHANISM_FAILED, REVISED = range(4)


@native_inline
def _wait(s: Circuit, system: StateEquation, store: Store, pace: LoopPace, due: int) -> int:
    """Wait until a time of the clock: sleep, predict the tick, then wait busily; return the lateness [ns]."""
    calls, spin, early = s.calls, pace.spin[0], pace.early[0]
    left = due - spin - early - clock(calls)
    if left > 0:
        sleep(calls, left)
    if early > 0:
        predict_tick(s, system, store, due - spin)
    late = clock(calls) - due
    while late < 0:
        late = clock(calls) - due
    return late


@native_inline
def _take_command(s: Circuit, system: StateEquation) -> None:
    """Apply the inputs of a new command if there is one, and record it."""
    counts, messages, inputs = s.counts, s.messages, s.handle.inputs
    new = False
    if messages.script.shape[0] > 0:
        k = counts.taken[0]
        if k < messages.script.shape[0]:
            entry = taken_command_at(messages.script[k], 0, inputs)
            if entry.tick[0] <= counts.ticks[0]:
                for i in range(messages.slots.shape[1]):
                    messages.slots[counts.own_slot[0], i] = messages.script[k, entry.command + i]
                new = True
    elif counts.exchanged_slot[0] >= UNREAD:
        counts.own_slot[0] = exchange(s.calls, counts.exchanged_slot, counts.own_slot[0]) - UNREAD
        new = True
    if new:
        command = loop_command_at(messages.slots[counts.own_slot[0]], 0, inputs)
        for i in range(inputs):
            system.inputs[i] = command.inputs[i]
        if counts.taken[0] < messages.taken.shape[0]:
            row = messages.taken[counts.taken[0]]
            entry = taken_command_at(row, 0, inputs)
            entry.tick[0] = counts.ticks[0]
            for i in range(command.whole.size):
                row[entry.command + i] = command.whole[i]
        counts.taken[0] += 1


@native_inline
def _apply_command(s: Circuit, command: LoopCommand, found: int, now: float) -> None:
    """Arm, disarm or clutch; whenever device and mechanism are coupled, the coupler begins without stretch."""
    counts, couples = s.counts, False
    if int(command.disarm[0]) != counts.disarmed_by[0]:
        counts.disarmed_by[0] = int(command.disarm[0])
        fail(s, NO_FAULT, now)
    if int(command.arm[0]) != counts.armed_by[0] and counts.status[0] != ENDING:
        counts.armed_by[0] = int(command.arm[0])
        if counts.status[0] == UNARMED and counts.step[0] == GOING and command.arm[0] > command.disarm[0]:
            counts.fault[0] = found
            if found == NO_FAULT:
                counts.status[0], counts.seized[0], s.state.level[0], couples = ARMED, 0, 0.0, True
    clutched = command.clutch[0] != 0.0
    couples = couples or (counts.clutched[0] == 1 and not clutched)
    counts.clutched[0] = 1 if clutched else 0
    if couples:
        set_offset(s)


@native_inline
def _observe(s: Circuit, system: StateEquation, store: Store) -> None:
    """Compute pose and rates of the handle and the energies at the present state."""
    state, handle = system.state, s.handle
    state[0] = clock_of(store).time[0]
    for i in range(store.x.size):
        state[1 + i] = store.x[i]
    call_program(handle.motion_program, state, system.inputs, handle.constants, handle.motion.whole, handle.work)
    quaternion_of(handle.motion.R, handle.orientation)
    call_program(handle.energy_program, state, system.inputs, handle.energy_constants, handle.energy, handle.work)


@native_inline
def _write(s: Circuit, now: float) -> None:
    """Write the clamped wrench and position; zero, and hold the device handle, if the watchdog has acted."""
    command = s.port.command
    for i in range(3):
        command.force[i] = 0.0 if s.counts.seized[0] == 1 else s.state.written[i]
        command.torque[i] = 0.0 if s.counts.seized[0] == 1 else s.state.written[3 + i]
        command.position[i] = s.state.placed[i]
    command.moves[0] = 0.0 if s.counts.seized[0] == 1 else s.state.moves[0]
    if not write_alone(s, now):
        fail(s, WATCHDOG_ACTED, now)


@native_inline
def _step(s: Circuit, system: StateEquation, store: Store) -> int:
    """Take one step of the mechanism with the coupler, or adopt the prediction of this step."""
    drive(s, system, store)
    if begin_offer(s) or adopt_prediction(s, system, store):
        return GOING
    return advance_tick(s, system, store)


@native_inline
def _log(s: Circuit, cells: Vector, row: LogRow, now: float, late: float) -> None:
    """Fill the row of a tick, except for the columns of its start and its computing time."""
    state, counts, coupling, command = s.state, s.counts, s.coupling, s.port.command
    row.time[0], row.lateness[0] = now, late
    row.age[0] = now - state.measured[0] + s.rules.delay[0]
    row.status[0], row.fault[0], row.level[0] = counts.status[0], counts.fault[0], state.level[0]
    for i in range(3):
        row.force[i], row.torque[i] = command.force[i] - state.force[i], command.torque[i]
        row.position[i] = command.position[i]
    row.moves[0] = command.moves[0]
    for i in range(6):
        row.pull[i], row.rates[i] = state.pull[i], coupling.rates[i]
    for i in range(7):
        row.proxy[i] = coupling.proxy[i]
    for group in range(2):
        row.stiffness[group], row.damping[group] = coupling.stiffness[group], coupling.damping[group]
    given = device_sample_at(cells, row.sample)
    for i in range(given.whole.size):
        given.whole[i] = s.port.sample.whole[i]


@native_inline
def _write_energies(s: Circuit, memory: Vector, place: int) -> None:
    """Write the energies at a place of the memory."""
    energies = loop_energies_at(memory, place)
    energies.to_operator[0], energies.to_operator_by_torque[0] = s.state.to_operator[0], s.state.to_operator[1]
    energies.to_mechanism[0] = s.state.to_mechanism[0]
    energies.kinetic[0], energies.potential[0] = s.handle.energy[0], s.handle.energy[1]


@native_inline
def _publish(s: Circuit, store: Store, now: float) -> None:
    """Write the snapshot; its guard is odd meanwhile, so that readers recognise it (sequence lock)."""
    counts, memory, command, x = s.counts, s.messages.snapshot, s.port.command, store.x
    shown = loop_snapshot_at(memory, 0, x.size)
    counts.published[0] += 1
    fence(s.calls)
    shown.tick[0], shown.now[0] = counts.ticks[0], now
    shown.status[0], shown.fault[0] = counts.status[0], counts.fault[0]
    for i in range(3):
        shown.force[i], shown.torque[i] = command.force[i] - s.state.force[i], command.torque[i]
    _write_energies(s, memory, shown.energies)
    shown.time[0] = clock_of(store).time[0]
    for i in range(x.size):
        shown.x[i] = x[i]
    fence(s.calls)
    counts.published[0] += 1


@native_inline
def _read(s: Circuit, now: float) -> int:
    """Read the device and take its sample; return the fault."""
    port, scratch = s.port, s.calls.scratch
    for i in range(7):
        scratch.device_before[i] = s.state.device[i]
    for i in range(3):
        scratch.wrench_before[i] = port.command.force[i] - s.state.force[i]
        scratch.wrench_before[3 + i] = port.command.torque[i]
    scratch.now[0] = now
    call_program(port.read, scratch.now, port.table, port.settings, port.sample.whole, port.memory)
    found = examine(s, now)
    extrapolate_device(s, now)
    return found


@native_inline
def _tick(s: Circuit, system: StateEquation, store: Store, now: float, late: float) -> int:
    """Compute one tick.

    Args:
        s, system, store: see ``run_ticks``.
        now, late: time of the tick and its lateness [s].

    Returns:
        RUN_STOPPED after a command to stop; MECHANISM_FAILED after a failed step, once the force has ended.
    """
    counts, state, cells = s.counts, s.state, s.messages.log[s.counts.ticks[0]]
    row = log_row_at(cells, 0)
    found = _read(s, now)
    if found != NO_FAULT:
        fail(s, found, now)
    if late > s.rules.missed[0] * s.rules.period[0]:
        fail(s, OVERRUN, now)
    if counts.seized[0] == 1:
        fail(s, WATCHDOG_ACTED, now)
    if counts.ticks[0] == 0:
        _observe(s, system, store)
        for i in range(7):
            s.calls.scratch.device_before[i] = state.device[i]
        keep_handle(s)
    add_work_on_operator(s)
    _write_energies(s, cells, row.energies)
    for i in range(7):
        row.handle[i] = state.handle[i]
    _take_command(s, system)
    command = loop_command_at(s.messages.slots[counts.own_slot[0]], 0, s.handle.inputs)
    _apply_command(s, command, found, now)
    ramp_up(s)
    couple(s, command, now)
    clamp(s, now, s.calls.scratch.wanted)
    if s.rules.measures[0] == 0.0:
        _write(s, now)
    predict_proxy(s, command)
    if counts.step[0] == GOING:
        counts.step[0] = _step(s, system, store)
        if counts.step[0] != GOING:
            fail(s, STEP_FAILED, now)
    counts.prediction[0] = UNPREDICTED
    _observe(s, system, store)
    add_work_on_mechanism(s)
    if s.rules.measures[0] > 0.0:
        find_target(s)
        place(s, now, s.calls.scratch.target)
        _write(s, now)
    _log(s, cells, row, now, late)
    counts.ticks[0] += 1
    _publish(s, store, now)
    if counts.status[0] != UNARMED:
        return TICKS_COMPLETE
    if counts.step[0] != GOING:
        return MECHANISM_FAILED
    return RUN_STOPPED if command.stop[0] != 0.0 else TICKS_COMPLETE


@native_loop
def run_ticks(circuit: Circuit, system: StateEquation, store: Store, pace: LoopPace, until: int) -> int:
    """Run ticks until they are complete, a command ends the run, the mechanism fails, or an offered loop takes over.

    Args:
        circuit: arrays of the session; the log has a row for each old and new tick.
        system, store: arrays of the integrator that ``calls.step`` advances.
        pace: times of the ticks.
        until: number of old and new ticks; the force ends before the last one.

    Returns:
        TICKS_COMPLETE, RUN_STOPPED, MECHANISM_FAILED or REVISED.
    """
    s, rules, counts = circuit, circuit.rules, circuit.counts
    ending = int(rules.ramp_down[0] / rules.period[0]) + 2
    while counts.ticks[0] < until:
        k = counts.ticks[0]
        now, late, began = k * rules.period[0] + pace.lost[0] * 1e-9, 0.0, 0
        if pace.clock[0] == BY_CLOCK:
            due = pace.zero[0] + k * pace.period[0]
            behind = _wait(s, system, store, pace, due)
            began = due + behind
            late = behind * 1e-9
            now += late
            if late > rules.missed[0] * rules.period[0]:
                whole = behind // pace.period[0]
                counts.lost[0] += whole
                pace.zero[0] += whole * pace.period[0]
                pace.lost[0] += whole * pace.period[0]
        elif pace.clock[0] == AS_RECORDED:
            recorded = log_row_at(s.messages.recorded[k], 0)
            now, late = recorded.time[0], recorded.lateness[0]
        if until - k <= ending:
            fail(s, NO_FAULT, now)
        end = _tick(s, system, store, now, late)
        if pace.clock[0] == BY_CLOCK:
            log_row_at(s.messages.log[k], 0).work[0] = (clock(s.calls) - began) * 1e-9
        if end != TICKS_COMPLETE:
            return end
        if counts.offer[0] == SWITCHING:
            return REVISED
    return TICKS_COMPLETE


@native_loop
def run_session(circuit: Circuit) -> int:
    """Run the ticks of ``Messages.running``, and of the loops that take over; return as ``run_ticks``.

    Args:
        circuit: arrays of the first loop; its messages, counts and scratch memory belong to all loops of the session.
    """
    calls, running, offered = circuit.calls, circuit.messages.running, circuit.messages.offered
    counts, scratch, result = circuit.counts, circuit.calls.scratch, REVISED
    while result == REVISED:
        call_program(calls.step, running, running, running, scratch.whole, scratch.whole)
        result = int(scratch.word[0])
        if counts.offer[0] == SWITCHING:
            running[0], running[1] = offered[2], offered[3]
            fence(calls)
            counts.offer[0] = REVISION_ADOPTED
    return result
