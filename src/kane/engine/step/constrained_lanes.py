"""Lanes of trajectories under constraints, whose modes are compiled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.engine.call import call_program, native_inline
from kane.engine.memory.loop_arguments import Automaton, IndexRows, Indices, Matrix, Projection, StateEquation, Vector
from kane.engine.memory.run_codes import ASIDE, NO_TRAJECTORY, PROJECT, RHS
from kane.engine.memory.run_memory import clock_of, mode_of, notes_of
from kane.engine.memory.views import mode_programs_at
from kane.engine.step.mode_changes import has_guards
from kane.engine.step.state_equation import call_mode, project

# No compiled mode is in force.
NONE = -1


class LanePrograms(NamedTuple):
    """One program of each compiled mode in lanes.

    Attributes:
        addresses: (modes,).
        places: where its stage begins in ``LaneChoices.stage``, where it begins in the stage of SETTLE, and how long it
            is; (3, modes).
    """

    addresses: Indices
    places: IndexRows


class LaneProjection(NamedTuple):
    """Arrays that project all lanes together, as ``speed_selections`` projects one; without modes if none does.

    Attributes:
        steps, consequences: of Newton's method, and what follows from one.
        state: [t, q, u] in all lanes.
        found, next: what a step gives in all lanes, and what the one behind it gives.
        follows: what follows in all lanes.
        sizes: residuals of the configuration as they are, as they were, and those of motion; (3, lanes).
        chosen: of each lane, whether the choice that settles just now is in force.
        going: of each lane, whether its state has yet to come closer.
        lost: of each lane, whether it came no closer.
        projected: of each lane, whether that served.
    """

    steps: LanePrograms
    consequences: LanePrograms
    state: Vector
    found: Vector
    next: Vector
    follows: Vector
    sizes: Matrix
    chosen: Indices
    going: Indices
    lost: Indices
    projected: Indices


class LaneChoices(NamedTuple):
    """What trajectories under constraints have of their own in their lanes; of no lanes where nothing is to be settled.

    The right-hand sides of compiled modes are known in lanes, what guards see while nothing happens, and of closed
    loops what settles them. What is not is done lane by lane: right-hand sides and settling in numbers, and all that
    belongs to a change of the mode.

    Attributes:
        modes: of each lane, (lanes, MODE): RHS and SETTLE have a stage of its own, and so has ASIDE behind it.
        kept, notes, least: of the Settling of each lane, a row each.
        chosen: where in the stage of SETTLE the number of the mode in force stands.
        read: where in the stage of SETTLE stands what the programs of each mode read behind the inputs, and NONE behind
            all of it; (modes, as many as any reads).
        slopes_of: the right-hand sides.
        guards_of: guards, slopes, whether digits are lost, and forces; of no modes where the mode never ends.
        projection: what settles.
        constants: the stages of all of them, value by value.
        scratch: what a program gives in all lanes.
        seen: what of these is read, in all lanes.
        looks: guards at each of LOOKS, (lanes, looks guards).
        quiet: of each lane, whether no guard was negative where it was looked at.
        steady: of each lane that was quiet at the end of its step, whether guards need no looks within it.
        x, f: scratch of a state and a slope.
    """

    modes: IndexRows
    kept: IndexRows
    notes: Matrix
    least: Matrix
    chosen: int
    read: IndexRows
    slopes_of: LanePrograms
    guards_of: LanePrograms
    projection: LaneProjection
    constants: Vector
    scratch: Vector
    seen: Vector
    looks: Matrix
    quiet: Indices
    steady: Indices
    x: Vector
    f: Vector


@native_inline
def lane_system(single: Any, block: Any, lane: int) -> Any:
    """The StateEquation of one lane, with its inputs."""
    system, own = single[0], single[4]
    if own.modes.shape[0] == 0:
        return system
    lanes, known = len(block.lanes), system.automaton
    for i in range(system.inputs.size):
        system.inputs[i] = block.inputs[i * lanes + lane]
    projection = Projection(PROJECT, system.projection.out, own.kept[lane], own.notes[lane], own.least[lane])
    return StateEquation(
        own.modes[lane],
        system.state,
        system.inputs,
        system.stages,
        system.headers,
        system.work,
        system.quaternions,
        projection,
        system.aside,
        Automaton(own.modes[lane : lane + 1], known.guards, known.slope, known.changed),
    )


@native_inline
def begin_constrained(system: Any, own: Any, lane: int, store: Any, constants: Any) -> None:
    """Put the start of a trajectory onto the constraints, by a choice of speeds of its own.

    Where constraints come and go it lies on the permanent ones, and which others are in force is yet to be found.
    """
    lanes, x = own.modes.shape[0], store.x
    for i in range(constants.size):
        system.stages[mode_of(system).places[ASIDE] + i] = constants[i]
    _lay_out(own.slopes_of, own.constants, lanes, lane, constants)
    _lay_out(own.guards_of, own.constants, lanes, lane, constants)
    _lay_out(own.projection.steps, own.constants, lanes, lane, constants)
    _lay_out(own.projection.consequences, own.constants, lanes, lane, constants)
    own.least[lane, 0] = 1.0
    if has_guards(system):
        for i in range(own.notes.shape[1]):
            own.notes[lane, i] = 0.0
    else:
        project(system.projection, system, clock_of(store).time[0], x)
        notes_of(system.projection).switches[0] = 0.0


@native_inline
def normalise_in_lanes(block: Any, state: Any, quaternions: Any) -> None:
    """Scale each quaternion of [t, q, u] in all lanes to length one, see ``state.normalise``."""
    lanes = len(block.lanes)
    for start in quaternions:
        for lane in range(lanes):
            first, length = (1 + start) * lanes + lane, 0.0
            for i in range(first, first + 4 * lanes, lanes):
                length += state[i] * state[i]
            length = math.sqrt(length) if length > 0.0 else math.nan  # zero in idle lanes; dividing by it would raise
            for i in range(first, first + 4 * lanes, lanes):
                state[i] /= length


@native_inline
def _lay_out(programs: Any, out: Any, lanes: int, lane: int, constants: Any) -> None:
    """The stages of programs in lanes, from the stage of SETTLE."""
    for k in range(programs.addresses.size):
        for i in range(programs.places[2, k]):
            out[programs.places[0, k] + i * lanes + lane] = constants[programs.places[1, k] + i]


@native_inline
def slope_in_lanes(single: Any, block: Any, out: Any) -> None:
    """The slope at the state in all lanes."""
    own = single[4]
    if own.modes.shape[0] == 0:
        call_program(block.address, block.state, block.inputs, block.constants, out, block.work)
        return
    lanes = len(block.lanes)
    call_compiled(single, block, own.slopes_of, out)
    if carrying(single, block, NONE) > 0:
        for lane in range(lanes):
            if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == NONE:
                for i in range(own.x.size):
                    own.x[i] = block.state[(1 + i) * lanes + lane]
                call_mode(lane_system(single, block, lane), RHS, block.state[lane], own.x, own.f)
                for i in range(own.f.size):
                    out[i * lanes + lane] = own.f[i]


@native_inline
def call_compiled(single: Any, block: Any, programs: Any, out: Any) -> None:
    """Call the program of every mode that some lane has in force; each lane takes what its own gives first."""
    own, lanes = single[4], len(block.lanes)
    for k in range(programs.addresses.size):
        if carrying(single, block, k) > 0:
            _give(single, block, k)
            constants = own.constants[programs.places[0, k] :]
            call_program(programs.addresses[k], block.state, block.inputs, constants, own.scratch, block.work)
            for lane in range(lanes):
                if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == k:
                    for i in range(lane, out.size, lanes):
                        out[i] = own.scratch[i]


@native_inline
def _give(single: Any, block: Any, k: int) -> None:
    """What the programs of a mode read behind the inputs, in the lanes that have it in force."""
    system, own, lanes = single[0], single[4], len(block.lanes)
    j = 0
    while j < own.read.shape[1] and own.read[k, j] != NONE:
        for lane in range(lanes):
            if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == k:
                value = system.stages[mode_programs_at(own.modes[lane], 0).places[PROJECT] + own.read[k, j]]
                block.inputs[(system.inputs.size + j) * lanes + lane] = value
        j += 1


@native_inline
def chosen_in(single: Any, lane: int) -> int:
    """The number of the mode in force in a lane, or NONE."""
    return int(single[0].headers[mode_programs_at(single[4].modes[lane], 0).places[PROJECT] + single[4].chosen])


@native_inline
def carrying(single: Any, block: Any, k: int) -> int:
    """How many lanes carry a trajectory with this mode in force."""
    found = 0
    for lane in range(len(block.lanes)):
        if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == k:
            found += 1
    return found
