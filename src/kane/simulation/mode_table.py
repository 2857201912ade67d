"""Modes in the form of native loops: a row in the table of modes, and the constants of its programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from kane.codegen.jit.function import ArrayFunction
from kane.engine.memory.loop_arguments import Indices, StateEquation, Vector
from kane.engine.memory.run_codes import ASIDE, PROJECT
from kane.engine.memory.run_memory import mode_of
from kane.engine.memory.views import mode_programs_at, mode_programs_size

# Compiled function of each program of a mode, by program number.
Programs = Mapping[int, ArrayFunction]


def new_row(
    key: int, programs: Programs, parameters: Vector, shared: Collection[int], at: int
) -> tuple[Indices, Vector]:
    """Build the row of a mode and the constants to which it refers, which will start at index ``at``.

    Args:
        key: key of the mode.
        programs: available programs, by RHS, PROJECT, ASIDE, EVENTS, GUARDS and TRANSITION.
        parameters: values.
        shared: programs that share the constants of PROJECT, where the speed selection is stored.
        at: number of doubles of constants before these.
    """
    row, stages = np.zeros(mode_programs_size(), np.int64), [np.zeros(0)]
    mode = mode_programs_at(row, 0)
    mode.key[0] = key
    for program in sorted(programs, key=lambda program: (program not in (PROJECT, ASIDE), program)):
        mode.addresses[program] = programs[program].address
        if program in shared:
            mode.places[program] = mode.places[PROJECT]
        else:
            mode.places[program] = at + sum(map(len, stages))
            again = program == ASIDE and programs[ASIDE] is programs.get(PROJECT)
            stages.append(stages[-1] if again else programs[program].stage(parameters))
    return row, np.concatenate(stages)


def with_row(system: StateEquation, row: Indices, stages: Vector, n_work: int) -> StateEquation:
    """Add a mode that needs scratch memory of length ``n_work`` to the system; the active mode does not change."""
    known = system.automaton
    table, stages = np.vstack([known.table, row]), np.concatenate([system.stages, stages])
    work = system.work if len(system.work) >= n_work else np.zeros(n_work)
    return system._replace(
        stages=stages, headers=stages.view(np.int64), work=work, automaton=known._replace(table=table)
    )


def stage_in_force(system: StateEquation, program: int, function: ArrayFunction) -> Vector:
    """Return the constants of a program of the active mode, as a view of the memory of native loops."""
    at = mode_of(system).places[program]
    return system.stages[at : at + function.n_stage]
