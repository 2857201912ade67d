"""Regions of the constants of compiled programs and native functions.

The constants of a constrained model begin with a ConstraintHeader and ConstraintLists. For models with intermittent
constraints a ContactBlock, a ContactTable, a ContactState, HeldResiduals and compiled modes follow. The constants of
the called programs are last.
"""

from __future__ import annotations

from kane.engine.memory.declare import MemoryRegion, constant, integer, real

CONSTRAINT_HEADER = MemoryRegion(
    "ConstraintHeader",
    "Header of the constants of native functions of constraints.",
    (),
    (
        integer("addresses", ("5",), "constrained_function", "addresses of the programs: CONSTRAINTS, ..."),
        integer("places", ("5",), "constrained_function", "offsets of the constants of these programs"),
        constant("mode", "constrained_function", "how dependent speeds are selected: AFRESH, KEPT or FIXED"),
        constant("linear", "constrained_function", "1 if all rows are linear in u"),
        constant("rows", "constrained_function", "m"),
        constant("speeds", "constrained_function", "n"),
        constant("coordinates", "constrained_function", "nq"),
        constant("residuals", "constrained_function", "p"),
        constant("quaternions", "constrained_function", "unit quaternions in q"),
        constant("own_speeds", "constrained_function", "the joints' own speeds"),
        integer(
            "rank",
            ("1",),
            "projection, front_embedding, speed_selections, transition",
            "rank of the selection of dependent speeds, or UNCHOSEN",
        ),
        constant("work", "constrained_function", "offset of ConstraintScratch in the scratch memory"),
        constant("fronts", "constrained_function", "number of fronts; 0 if closed loops are not eliminated by fronts"),
    ),
)
SELECTION_HEADER = MemoryRegion(
    "SelectionHeader",
    "Header of the constants of compiled speed selections; from mode on it is a ConstraintHeader.",
    (),
    (
        constant("rhs", "compiled_selections", "address of the numeric right-hand side"),
        constant("project", "compiled_selections", "address of the numeric projection"),
        constant("numeric", "compiled_selections", "offset of the constants of the numeric programs"),
        constant("selections", "compiled_selections", "number of compiled selections"),
        integer("chosen", ("1",), "speed_selections", "index of the active compiled selection, or NONE"),
        integer("unused", ("5",), "compiled_selections", "zeros"),
        *CONSTRAINT_HEADER.fields[2:],
    ),
)
SELECTION_ROW = MemoryRegion(
    "SelectionRow",
    "One compiled speed selection.",
    ("n",),
    (
        integer("addresses", ("3",), "compiled_selections", "addresses of its programs: OWN_RHS, ..."),
        integer("places", ("3",), "compiled_selections", "offsets of the constants of these programs"),
        constant("dependent", "compiled_selections", "number of dependent speeds"),
        integer("mask", ("n",), "compiled_selections", "1 for each dependent speed"),
    ),
)
CONSTRAINT_LISTS = MemoryRegion(
    "ConstraintLists",
    "Lists that follow a ConstraintHeader; the plan of the fronts, or a ContactBlock, follows them.",
    ("n", "p", "quaternions"),
    (
        integer("order", ("n",), "projection, front_embedding", "columns of u, dependent speeds first"),
        integer("rows_of_residuals", ("p",), "constrained_function", "row of A of each residual of the configuration"),
        integer("quaternions", ("quaternions",), "constrained_function", "index in q of each unit quaternion"),
    ),
)
CONTACT_BLOCK = MemoryRegion(
    "ContactBlock",
    "Programs and sizes of intermittent constraints.",
    (),
    (
        integer("addresses", ("13",), "contact_functions", "addresses of the programs: GAPS, ..."),
        integer("places", ("13",), "contact_functions", "offsets of the constants of these programs"),
        constant("constraints", "contact_functions", "nc"),
        constant("permanent", "contact_functions", "rows that are always active"),
        constant("closings", "contact_functions", "residuals of the configuration"),
        constant("in_turn", "contact_functions", "1 if simultaneous impacts are solved one after the other"),
        constant("shared", "contact_functions", "length of FactorTerms.common"),
        constant("columns", "contact_functions", "columns in the records of permanent rows"),
        constant("room", "contact_functions", "numbers of the records of all rows"),
        constant("entries", "contact_functions", "entries of L"),
        constant("inputs", "contact_functions", "inputs of the model"),
        constant("scratch", "contact_functions", "offset of ResponseScratch in the scratch memory"),
    ),
)
CONTACT_TABLE = MemoryRegion(
    "ContactTable",
    "Constants of each intermittent constraint.",
    ("nc",),
    (
        integer("normal", ("nc",), "contact_table", "row along the gap, or NONE"),
        integer("tangent", ("nc",), "contact_table", "first tangent row"),
        integer("tangents", ("nc",), "contact_table", "number of tangent rows"),
        integer("friction", ("nc",), "contact_table", "bound of tangential forces: UNBOUNDED, COULOMB or THRESHOLDS"),
        integer("law", ("nc",), "contact_table", "law of restitution: POISSON, NEWTON or STRONGE"),
        integer("bilateral", ("nc",), "contact_table", "1 if the constraint is bilateral"),
        integer("timed", ("nc",), "contact_table", "1 if an expression imposes the constraint"),
        integer("ended", ("nc",), "contact_table", "1 if an expression deletes the constraint"),
        integer("answer", ("nc",), "contact_functions", "address of the program of its records"),
        integer("answer_place", ("nc",), "contact_functions", "offset of the constants of this program"),
        integer("holds", ("nc",), "contact_table", "first configuration residual that keeps its value"),
        integer("holding", ("nc",), "contact_table", "number of residuals that keep their values"),
        integer("slide", ("nc",), "contact_functions", "address of the program of kinetic friction, or 0"),
        integer("slide_place", ("nc",), "contact_functions", "offset of the constants of this program"),
        integer("width", ("nc",), "contact_table", "columns in its records"),
        integer("moves", ("nc",), "contact_functions", "address of the program of the velocities of its rows"),
        integer("moves_place", ("nc",), "contact_functions", "offset of the constants of this program"),
        integer("first_column", ("nc",), "contact_table", "first column in which its rows have entries"),
        integer("last_column", ("nc",), "contact_table", "one past the last column in which its rows have entries"),
    ),
)
CONTACT_STATE = MemoryRegion(
    "ContactState",
    "Status and slip of each intermittent constraint; they change during a run.",
    ("nc",),
    (
        integer(
            "status", ("nc",), "consistency, transition, mode_search, rest, moreau_jean", "OPEN, STICKING or SLIDING"
        ),
        integer(
            "armed",
            ("nc",),
            "transition, rest, contact_switching",
            "1 if the sign of on (open) or off (imposed), or an approach, causes a transition",
        ),
        real("along", ("nc", "2"), "-", "consistency, mode_search, contact_projection", "direction of slip"),
        real(
            "begun",
            ("nc",),
            "m/s",
            "slip_threshold, contact_switching",
            "slip speed from which the direction is updated",
        ),
    ),
    whole=True,
)
HELD_RESIDUALS = MemoryRegion(
    "HeldResiduals",
    "Residuals of the configuration of models with intermittent constraints.",
    ("p",),
    (
        real("value", ("p",), "m or rad", "transition", "value that the residual keeps; NaN if it was not active yet"),
        real("found", ("p",), "m or rad", "configuration, contact_projection", "residuals at the current state"),
    ),
    whole=True,
)
COMPILED_MODE_BLOCK = MemoryRegion(
    "CompiledModeBlock",
    "Compiled modes; a CompiledModeRow for each of them follows.",
    (),
    (
        integer("numeric", ("4",), "compiled_contacts", "addresses of the numeric programs: NUMERIC_RHS, ..."),
        constant("modes", "compiled_contacts", "number of compiled modes"),
        integer("chosen", ("1",), "compiled_mode_programs", "index of the active mode, or NONE"),
        constant("inputs", "compiled_contacts", "number of inputs"),
    ),
)
COMPILED_MODE_ROW = MemoryRegion(
    "CompiledModeRow",
    "One compiled mode.",
    ("nc",),
    (
        integer(
            "addresses",
            ("5",),
            "compiled_contacts",
            "addresses of its programs: COMPILED_RHS, ...; 0 without code",
        ),
        integer("places", ("5",), "compiled_contacts", "offsets of the constants of these programs"),
        integer("statuses", ("nc",), "compiled_contacts", "status of each intermittent constraint"),
    ),
)
CHART_BLOCK = MemoryRegion(
    "ChartBlock",
    "Programs that change charts; the constants of the first program of the header follow.",
    (),
    (
        constant("guards", "charted_contacts", "address of the guards of the intermittent constraints"),
        constant("transition", "charted_contacts", "address of their transition"),
        integer(
            "addresses",
            ("2",),
            "charted_contacts",
            "addresses of CHART_GUARDS and NEXT_CHARTS",
        ),
        integer("places", ("2",), "charted_contacts", "offsets of the constants of these programs"),
        constant("charts", "charted_contacts", "number of charts"),
        constant("key", "charted_contacts", "key of the active charts"),
    ),
)
