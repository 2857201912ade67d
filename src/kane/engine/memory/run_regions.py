"""Regions of the memory of a run: clock, counters, active mode, transitions, and diagnostics of the projection.

A ``Store`` has the clock, the counters and the rows of transitions. ``StateEquation.mode`` is a ModePrograms, and
``Projection.notes`` is a ProjectionNotes.
"""

from __future__ import annotations

from kane.engine.memory.declare import REST, MemoryRegion, integer, real
from kane.engine.memory.loop_arguments import SAMPLES
from kane.engine.memory.outputs import PROJECTION_RESIDUALS

# Step ends whose guards are kept.
KEPT_ENDS = 3
RUN_CLOCK = MemoryRegion(
    "RunClock",
    "Time and step lengths of a run.",
    (),
    (
        real(
            "time",
            ("1",),
            "s",
            "step_ends, lanes, moreau_jean_tick, offered_loop, prescribed_motion, moreau_jean, initial_value_problem",
            "time of the state",
        ),
        real("next_step", ("1",), "s", "explicit, row_turns", "length of the next step to try"),
        real("last_error", ("1",), "-", "explicit", "error of the last step over the tolerance"),
        real("uncut_step", ("1",), "s", "explicit", "length before the step was cut to end at a stop"),
        real("cut_step", ("1",), "s", "transitions, explicit, row_turns", "length of a step that is cut; 0 if none is"),
        real("history", (REST,), "SI", "transitions, slip_directions", "GuardHistory, then SlipMemory"),
    ),
)
GUARD_HISTORY = MemoryRegion(
    "GuardHistory",
    "Guards at the ends of the last steps, in the order of time.",
    ("guards",),
    (
        real(
            "ends",
            (str(KEPT_ENDS), "1 + guards"),
            "s, then SI",
            "transitions",
            "time of each end, then the guards there; NaN where none is known",
        ),
    ),
)
GUARD_SAMPLES = MemoryRegion(
    "GuardSamples",
    "Guards at SAMPLES within a step: ``Watch.roots`` of guards.",
    ("guards",),
    (real("values", (str(SAMPLES.size), "guards"), "SI", "guards, lane_guards, lanes", "guards at each of SAMPLES"),),
)
SLIP_MEMORY = MemoryRegion(
    "SlipMemory",
    "State of friction at the start of a step, which a step that is cut restores.",
    ("nc", "least"),
    (
        real("along", ("nc", "2"), "-", "slip_directions", "direction of slip of each intermittent constraint"),
        real("least", ("least",), "-, then SI", "slip_directions", "copy of Projection.least"),
    ),
)
RUN_COUNTS = MemoryRegion(
    "RunCounts",
    "Counters and states of a run.",
    (),
    (
        integer(
            "steps", ("1",), "step_ends, offered_loop", "accepted steps; of fixed steps only those that reach the grid"
        ),
        integer("rows", ("1",), "state_equation", "recorded states"),
        integer("events", ("1",), "event_location", "located events"),
        integer("stop", ("1",), "explicit, sundae", "index of the next stop of the course"),
        integer("evaluations", ("1",), "explicit, implicit, step_ends", "evaluations of the right-hand side"),
        integer("rejected", ("1",), "explicit", "steps that were rejected for their error"),
        integer("started", ("1",), "step_ends, lanes, stepper", "1 after the first step has begun"),
        integer("ended", ("1",), "event_location", "1 if a terminal event has ended the run"),
        integer("slope_known", ("1",), "step_ends, transitions", "1 if the first slope is that of the current state"),
        integer("cuts", ("1",), "transitions, step_ends", "number of times that the step was cut"),
        integer("missed", ("1",), "transitions", "cut steps in a row that missed the zero of their guard"),
        integer("off_grid", ("1",), "step_ends", "1 if the state lies within a step of the grid"),
        integer("transitions", ("1",), "transitions", "rows of Store.transitions in use"),
        integer("wanted_key", ("1",), "transitions", "key of a mode that is missing in the table of modes"),
    ),
)
MODE_PROGRAMS = MemoryRegion(
    "ModePrograms",
    "Compiled programs of a mode, a row in the table of modes.",
    (),
    (
        integer("key", ("1",), "mode_table", "key of the mode"),
        integer("addresses", ("6",), "mode_table, python_inputs", "addresses of the programs: RHS, ...; 0 if missing"),
        integer("places", ("6",), "mode_table, projected_lanes", "where in the constants those of each program begin"),
    ),
)
TRANSITION_NOTE = MemoryRegion(
    "TransitionNote",
    "A transition: one row of Store.transitions.",
    ("nx",),
    (
        real("time", ("1",), "s", "transitions, moreau_jean_tick, moreau_jean", "time"),
        real(
            "rows", ("1",), "-", "transitions, moreau_jean_tick, moreau_jean", "recorded states before the transition"
        ),
        real(
            "events", ("1",), "-", "transitions, moreau_jean_tick, moreau_jean", "located events before the transition"
        ),
        real("key_before", ("1",), "-", "transitions, moreau_jean_tick, moreau_jean", "key of the mode before"),
        real("key_after", ("1",), "-", "transitions, moreau_jean_tick, moreau_jean", "key of the mode after"),
        real("before", ("nx",), "SI", "transitions, moreau_jean_tick, moreau_jean", "[q, u] before"),
        real("after", ("nx",), "SI", "transitions, moreau_jean_tick, moreau_jean", "[q, u] after, on the constraints"),
        real("notes", (REST,), "SI", "transitions, moreau_jean_tick, moreau_jean", "further outputs of TRANSITION"),
    ),
)
PROJECTION_NOTES = MemoryRegion(
    "ProjectionNotes",
    "Diagnostics of the projection, recorded with each state; empty for unconstrained models.",
    (),
    (
        *PROJECTION_RESIDUALS.fields,
        real("switches", ("1",), "-", "state_equation", "number of changes of the speed selection"),
    ),
)
TRAJECTORY_QUEUE = MemoryRegion(
    "TrajectoryQueue",
    "Part of ``Trajectories.order`` that a thread computes.",
    (),
    (
        integer("next", ("1",), "workers, lanes", "index of the next trajectory"),
        integer("stop", ("1",), "workers", "one past the last trajectory"),
        integer("more", ("1",), "workers", "1 if further trajectories may follow"),
    ),
)
