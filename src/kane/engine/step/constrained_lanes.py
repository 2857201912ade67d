"""Lanes of trajectories under constraints: compiled modes, their constants, and slopes."""

from __future__ import annotations

from kane.deferred import NamedTuple
from kane.engine.call import call_program, native_inline
from kane.engine.memory.contact_codes import NONE
from kane.engine.memory.loop_arguments import (
    Automaton,
    Block,
    IndexRows,
    Indices,
    InputTables,
    Matrix,
    Projection,
    StateEquation,
    Store,
    Vector,
    Watch,
)
from kane.engine.memory.run_codes import ASIDE, NO_TRAJECTORY, PROJECT, RHS
from kane.engine.memory.run_memory import clock_of, mode_of, notes_of
from kane.engine.memory.views import mode_programs_at
from kane.engine.step.guards import has_guards
from kane.engine.step.state_equation import call_mode, project


class LanePrograms(NamedTuple):
    """One program of each compiled mode in lanes.

    Attributes:
        addresses: (modes,).
        places: where its constants begin in ``LaneData.constants``, where they begin in the constants of PROJECT, and
            their number; (3, modes).
    """

    addresses: Indices
    places: IndexRows


class LaneProjection(NamedTuple):
    """Arrays of the projection of all lanes, see ``lane_projection``; without modes if the lanes are projected singly.

    Attributes:
        steps, consequences: NEWTON_STEP and CONSEQUENCES of ``speed_selections``.
        state: [t, q, u] in all lanes.
        found: outputs of ``steps`` in all lanes.
        follows: outputs of ``consequences`` in all lanes.
        sizes: residual now, first residual, and first residual of the motion; (3, lanes).
        chosen: whether each lane has the speed selection that is projected at present.
        going: whether the residual of each lane is to be reduced further.
        lost: whether the last step of each lane did not reduce its residual.
        projected: whether each lane is projected.
    """

    steps: LanePrograms
    consequences: LanePrograms
    state: Vector
    found: Vector
    follows: Vector
    sizes: Matrix
    chosen: Indices
    going: Indices
    lost: Indices
    projected: Indices


class LaneData(NamedTuple):
    """Data of trajectories under constraints in their lanes; without lanes if there are no constraints.

    Compiled modes have right-hand sides in lanes, guards in lanes for steps without transitions, and for closed loops
    projections in lanes. Numeric right-hand sides and projections, and transitions, run lane by lane.

    Attributes:
        modes: mode of each lane, (lanes, MODE). RHS and PROJECT have separate constants in each lane; those of ASIDE
            follow.
        kept, notes, least: those of the Projection of each lane, one row each.
        chosen: place of the number of the present compiled mode in the constants of PROJECT.
        read: places in the constants of PROJECT of the values that the programs of each mode read after the inputs, and
            NONE after the last one; (modes, largest number of values).
        slopes_of: right-hand sides.
        guards_of: guards, slopes, measures of lost digits, and forces; no modes if there are no guards.
        projection: projection in lanes.
        constants: constants of all programs in lanes.
        scratch: outputs of a program in all lanes.
        seen: outputs of the guards that the loop reads, in all lanes.
        samples: guards at each of SAMPLES, (lanes, samples guards).
        quiet: whether no sampled guard of each lane was negative.
        steady: whether the guards of each quiet lane need no samples within the step.
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
    samples: Matrix
    quiet: Indices
    steady: Indices
    x: Vector
    f: Vector


# Arguments of a run of one trajectory, and the data of the lanes.
SingleRun = tuple[StateEquation, InputTables, Watch, Store, LaneData]


@native_inline
def lane_system(single: SingleRun, block: Block, lane: int) -> StateEquation:
    """Return the StateEquation of one lane, with its inputs."""
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
def begin_constrained(system: StateEquation, own: LaneData, lane: int, store: Store, constants: Vector) -> None:
    """Copy the constants of a trajectory into its lane, and project its start with a speed selection of its own.

    With intermittent constraints the start already satisfies the permanent ones, and the first transition finds the
    others.
    """
    lanes, x = own.modes.shape[0], store.x
    for i in range(constants.size):
        system.stages[mode_of(system).places[ASIDE] + i] = constants[i]
    _copy_constants(own.slopes_of, own.constants, lanes, lane, constants)
    _copy_constants(own.guards_of, own.constants, lanes, lane, constants)
    _copy_constants(own.projection.steps, own.constants, lanes, lane, constants)
    _copy_constants(own.projection.consequences, own.constants, lanes, lane, constants)
    own.least[lane, 0] = 1.0
    if has_guards(system):
        for i in range(own.notes.shape[1]):
            own.notes[lane, i] = 0.0
    else:
        project(system.projection, system, clock_of(store).time[0], x)
        notes_of(system.projection).switches[0] = 0.0


@native_inline
def _copy_constants(programs: LanePrograms, out: Vector, lanes: int, lane: int, constants: Vector) -> None:
    """Copy the constants of programs in one lane from the constants of PROJECT."""
    for k in range(programs.addresses.size):
        for i in range(programs.places[2, k]):
            out[programs.places[0, k] + i * lanes + lane] = constants[programs.places[1, k] + i]


@native_inline
def slope_in_lanes(single: SingleRun, block: Block, out: Vector) -> None:
    """Write the slopes at the states of all lanes."""
    own = single[4]
    if own.modes.shape[0] == 0:
        call_program(block.address, block.state, block.inputs, block.constants, out, block.work)
        return
    lanes = len(block.lanes)
    call_compiled(single, block, own.slopes_of, out)
    if count_lanes(single, block, NONE) > 0:
        for lane in range(lanes):
            if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == NONE:
                for i in range(own.x.size):
                    own.x[i] = block.state[(1 + i) * lanes + lane]
                call_mode(lane_system(single, block, lane), RHS, block.state[lane], own.x, own.f)
                for i in range(own.f.size):
                    out[i * lanes + lane] = own.f[i]


@native_inline
def call_compiled(single: SingleRun, block: Block, programs: LanePrograms, out: Vector) -> None:
    """Call the program of each present mode; each lane gets the first outputs of the program of its mode."""
    own, lanes = single[4], len(block.lanes)
    for k in range(programs.addresses.size):
        if count_lanes(single, block, k) > 0:
            _load_inputs(single, block, k)
            constants = own.constants[programs.places[0, k] :]
            call_program(programs.addresses[k], block.state, block.inputs, constants, own.scratch, block.work)
            for lane in range(lanes):
                if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == k:
                    for i in range(lane, out.size, lanes):
                        out[i] = own.scratch[i]


@native_inline
def _load_inputs(single: SingleRun, block: Block, k: int) -> None:
    """Write the values that the programs of mode k read after the inputs, in the lanes with this mode."""
    system, own, lanes = single[0], single[4], len(block.lanes)
    j = 0
    while j < own.read.shape[1] and own.read[k, j] != NONE:
        for lane in range(lanes):
            if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == k:
                value = system.stages[mode_programs_at(own.modes[lane], 0).places[PROJECT] + own.read[k, j]]
                block.inputs[(system.inputs.size + j) * lanes + lane] = value
        j += 1


@native_inline
def chosen_in(single: SingleRun, lane: int) -> int:
    """Return the number of the present compiled mode of a lane, or NONE."""
    return int(single[0].headers[mode_programs_at(single[4].modes[lane], 0).places[PROJECT] + single[4].chosen])


@native_inline
def count_lanes(single: SingleRun, block: Block, k: int) -> int:
    """Return the number of lanes whose trajectory has compiled mode k."""
    found = 0
    for lane in range(len(block.lanes)):
        if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == k:
            found += 1
    return found
