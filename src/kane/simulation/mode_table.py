"""A mode as native loops read it: a row of the table of modes, and the stages of its programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from kane.codegen.jit.function import ArrayFunction
from kane.native.arrays import ASIDE, KEY, MODE, SETTLE, Indices, StateEquation, Vector

# Program of the mode to what computes it.
Programs = Mapping[int, ArrayFunction]


def new_row(
    key: int, programs: Programs, parameters: Vector, shared: Collection[int], at: int
) -> tuple[Indices, Vector]:
    """The row of a mode, and the stages that it refers to, which are to lie from ``at`` on.

    Args:
        key: of the mode.
        programs: those that there are, by RHS, SETTLE, ASIDE, EVENTS, GUARDS and CHANGE.
        parameters: values.
        shared: the programs that read the stage of SETTLE, and write the choice of speeds there.
        at: how many doubles of stages there are already.
    """
    row, stages = np.zeros(MODE, np.int64), [np.zeros(0)]
    row[KEY] = key
    for program in sorted(programs, key=lambda program: (program not in (SETTLE, ASIDE), program)):
        row[program] = programs[program].address
        if program in shared:
            row[program + 1] = row[SETTLE + 1]
        else:
            row[program + 1] = at + sum(map(len, stages))
            again = program == ASIDE and programs[ASIDE] is programs.get(SETTLE)
            stages.append(stages[-1] if again else programs[program].stage(parameters))
    return row, np.concatenate(stages)


def with_row(system: StateEquation, row: Indices, stages: Vector, n_work: int) -> StateEquation:
    """The system with one more mode, which needs so much scratch; the mode in force stays."""
    known = system.automaton
    table, stages = np.vstack([known.table, row]), np.concatenate([system.stages, stages])
    work = system.work if len(system.work) >= n_work else np.zeros(n_work)
    return system._replace(
        stages=stages, headers=stages.view(np.int64), work=work, automaton=known._replace(table=table)
    )


def stage_in_force(system: StateEquation, program: int, function: ArrayFunction) -> Vector:
    """The stage of a program of the mode in force, in the memory that native loops use."""
    at = system.mode[program + 1]
    return system.stages[at : at + function.n_stage]
