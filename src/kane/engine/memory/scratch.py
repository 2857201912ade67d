"""Regions of scratch memory of native functions.

The scratch memory of the called programs is first. ConstraintScratch, ContactScratch, ResponseScratch and ModeScratch
follow if the model needs them.
"""

from __future__ import annotations

from kane.engine.memory.constants import CONTACT_STATE
from kane.engine.memory.contact_codes import MOST
from kane.engine.memory.declare import MemoryRegion, Room, integer, real
from kane.engine.memory.outputs import (
    CONSTRAINT_ROWS,
    FACTOR_TERMS,
    GAP_TERMS,
    MODE_GUARDS,
    PROJECTED_STATE,
    SOLUTION_TERMS,
    UNCONSTRAINED_TERMS,
)

# Modules that state problems of reactions.
LOADERS = "mode_search, collisions, time_step_laws"
# Number of terms of the Taylor series of an impact.
TERMS = 28
FACTOR_SCRATCH = MemoryRegion(
    "FactorScratch",
    "Matrix (m, n) and its QR factors with column pivoting.",
    ("m", "n"),
    (
        real("A", ("m", "n"), "-", "embedding, factorizations", "matrix; then R, the reflectors, and D"),
        integer("order", ("n",), "factorizations", "column of the given matrix in place k"),
        real("diag", ("n",), "-", "factorizations", "diagonal of R"),
        real("beta", ("n",), "-", "factorizations", "2 / v^T v of the reflectors v"),
        real("norms", ("2", "n"), "-", "factorizations", "squared norms of the columns: current, and when last summed"),
        real("w", ("n",), "-", "factorizations", "scratch"),
    ),
)
FRONT_SCRATCH = MemoryRegion(
    "FrontScratch",
    "Lists of each front of the elimination of closed loops.",
    ("fronts", "m", "n"),
    (
        integer(
            "lists", ("fronts * (m + n)",), "fronts", "columns (n) and rows (m) of each front, dependent ones first"
        ),
        integer("columns", ("fronts",), "fronts", "number of columns of each front"),
        integer("own", ("fronts",), "fronts", "number of columns that later fronts do not have"),
        integer("rows", ("fronts",), "fronts", "number of rows"),
        integer("pivots", ("fronts",), "fronts", "number of dependent speeds"),
        integer("free", ("fronts",), "fronts", "number of independent speeds that are eliminated"),
        integer("first_column", ("fronts",), "fronts", "first column that earlier fronts pass to each front, or -1"),
        integer("first_row", ("fronts",), "fronts", "first row that earlier fronts pass to each front, or -1"),
        integer("next_column", ("n",), "fronts", "next column that is passed to the same front, or -1"),
        integer("next_row", ("m",), "fronts", "next row that is passed to the same front, or -1"),
        integer("candidates", ("n",), "front_embedding", "1 for each column that may be dependent"),
        real("diag", ("n",), "-", "fronts", "diagonal of R, by columns"),
        real("beta", ("n",), "-", "fronts", "2 / v^T v of the reflectors, by columns"),
    ),
)
CONSTRAINT_SCRATCH = MemoryRegion(
    "ConstraintScratch",
    "Scratch memory of native functions of constraints.",
    ("m", "n", "nq", "p", "fronts", "own"),
    (
        real("state", ("1 + nq + n",), "SI", "embedding", "[t, q, u]"),
        Room("rows", CONSTRAINT_ROWS, ("m", "n")),
        Room("unconstrained", UNCONSTRAINED_TERMS, ("m", "n", "nq")),
        Room("factors", FACTOR_SCRATCH, ("m", "n")),
        real("x", ("m",), "-", "embedding, row_forces, momentum", "right-hand sides of the rows"),
        real(
            "M",
            ("n", "n"),
            "kg, kg m, kg m^2",
            "embedding, front_embedding",
            "mass matrix, in the order of the selection",
        ),
        real("W", ("n", "n"), "kg, kg m, kg m^2", "embedding", "M R, in its columns of independent speeds"),
        real("reduced", ("n", "n"), "kg, kg m, kg m^2", "embedding", "R^T M R"),
        real("e", ("n",), "m/s^2 or rad/s^2", "embedding, front_embedding", "e_t, in the order of the selection"),
        real("z", ("n",), "N or N m", "embedding, mode_dynamics", "loads, in the order of the selection"),
        real("udot", ("n",), "m/s^2 or rad/s^2", "embedding, mode_dynamics", "accelerations, in this order"),
        real("gram", ("p", "p"), "1/kg", "projection", "A A^T of the rows of the configuration"),
        real("y", ("p",), "-", "projection", "multipliers of these rows"),
        real("residual", ("p",), "m or rad", "projection", "residuals of the configuration"),
        real("s", ("n",), "m or rad", "projection, contact_projection", "change of the configuration, as speeds"),
        real("q", ("nq",), "m or rad", "projection, contact_projection", "coordinates before the change"),
        real(
            "slope", ("nq",), "m or rad", "projection, contact_projection", "rates of the coordinates for the speeds s"
        ),
        real("own_state", ("1 + nq + own",), "SI", "projection", "[t, q, own speeds]"),
        Room("own_found", PROJECTED_STATE, ("own", "nq")),
        Room("front_lists", FRONT_SCRATCH, ("fronts", "m", "n")),
    ),
)
REACTION_PROBLEM = MemoryRegion(
    "ReactionProblem",
    "Problem of reactions: a = W f + b with the laws of Signorini and Coulomb; see ``newton``.",
    ("m", "k"),
    (
        real(
            "W",
            ("m", "m"),
            "1/kg",
            LOADERS,
            "accelerations, or velocities, per reaction",
        ),
        real(
            "b",
            ("m",),
            "m/s^2 or m/s",
            LOADERS,
            "accelerations, or velocities, without reactions",
        ),
        real("f", ("m",), "N or N s", "newton, interior_point", "initial guess, then the reactions"),
        integer("row", ("k",), LOADERS, "first row of each block"),
        integer(
            "pushes",
            ("k",),
            LOADERS,
            "1 if the first row of a block is a normal row with f >= 0",
        ),
        integer(
            "tangents",
            ("k",),
            LOADERS,
            "number of tangent rows of a block: 0, 1 or 2",
        ),
        real("bound", ("k",), "- or N", LOADERS, "friction coefficient, or bound"),
        real("least", ("k",), "N or N s", LOADERS, "least normal force"),
        real("a", ("m",), "m/s^2 or m/s", "newton", "accelerations, or velocities, with the reactions"),
        real("rho", ("m",), "kg", "newton", "scale of each row"),
        real("K", ("m", "m"), "-", "newton, interior_point", "linearized equations"),
        real("S", ("m", "m"), "-", "interior_point", "equations of a step"),
        real("slopes", ("2", "6"), "-", "newton", "residual and derivatives of the friction of a contact"),
        real("x", ("m",), "-", "newton, interior_point", "right-hand side"),
        real("step", ("m",), "N or N s", "newton, interior_point", "solution of the linearized equations"),
        real("shift", ("m",), "N or N s", "newton, interior_point", "f - rho a"),
        real("best", ("m",), "N or N s", "newton, interior_point", "reactions with the smallest residual"),
        real("before", ("m",), "N or N s", "newton, interior_point", "reactions before a step"),
        real("inner", ("m",), "N or N s", "newton, least_reactions", "reactions found by interior points"),
        integer("place", ("m",), "newton, mode_search", "index of each row among the unknowns, or -1"),
        integer("unknown", ("m",), "newton", "rows that are unknown"),
        integer("pivots", ("m",), "elimination, rest", "exchanges, or order, of an elimination"),
    ),
)
STRUCK = MemoryRegion(
    "Struck",
    "Contacts with simultaneous impacts.",
    ("m", "k"),
    (
        integer("member", ("k",), "collisions", "indices of the intermittent constraints"),
        real("before", ("m",), "m/s or rad/s", "collisions", "velocities before the impact"),
        real("total", ("m",), "N s or N m s", "collisions", "impulses of the compression"),
        real("squeezed", ("m",), "m/s or rad/s", "collisions", "velocities after the compression"),
    ),
)
SELECTION_SCRATCH = MemoryRegion(
    "SelectionScratch",
    "Scratch memory of compiled speed selections, after the scratch memory of the programs.",
    ("n", "nq"),
    (
        real("state", ("1 + nq + n",), "SI", "speed_selections", "[t, q, u]"),
        real("found", ("3 + nq + n",), "SI", "step of a selection", "residuals and state after a Newton step"),
        real("follows", ("4 + nq + n",), "SI", "consequences of a selection", "residual, conditioning and state"),
    ),
)
IMPACT = MemoryRegion(
    "Impact",
    "One impact at one contact; see ``impact``.",
    (),
    (
        real("G", ("3", "3"), "1/kg", "impulses", "velocities per impulse, normal row first"),
        real("v", ("3",), "m/s", "impulses, impact", "velocity, normal first"),
        real("p", ("3",), "N s", "impact", "impulse, normal first"),
        real("static", ("1",), "-", "impulses", "coefficient of static friction"),
        real("kinetic", ("1",), "-", "impulses", "coefficient of kinetic friction"),
        real("end_velocity", ("1",), "m/s", "impact", "normal velocity at which the phase ends, or infinity"),
        real("end_impulse", ("1",), "N s", "impact", "normal impulse at which the phase ends, or infinity"),
        real("end_work", ("1",), "J", "impact", "work of the normal impulse at which the phase ends, or infinity"),
        real("work", ("1",), "J", "impact", "work of the normal impulse in this phase; NaN if no phase needs it"),
        real("series", ("17", str(TERMS)), "-", "impact", "Taylor series of the path"),
    ),
)
CONTACT_SCRATCH = MemoryRegion(
    "ContactScratch",
    "Scratch memory of native functions of intermittent constraints, after ConstraintScratch.",
    ("m", "n", "nc"),
    (
        Room("all_rows", CONSTRAINT_ROWS, ("m", "n")),
        integer("active", ("m",), "mode_dynamics", "indices of the active rows"),
        integer("row_mask", ("m",), "mode_dynamics", "1 for each active row"),
        Room("gaps", GAP_TERMS, ("nc",)),
        real("forces", ("m",), "N or N m", "row_forces, mode_dynamics, internal_forces", "force of each row"),
        real("F", ("nc", "n"), "-", "mode_dynamics", "generalized forces per normal force of each sliding contact"),
        real("Y", ("nc", "n"), "m/s^2/N", "mode_dynamics", "accelerations per normal force of each sliding contact"),
        real("K", ("nc", "nc"), "-", "mode_dynamics", "equations of the normal forces of sliding contacts"),
        real("N", ("nc",), "N", "mode_dynamics", "normal rows of sliding contacts, then their normal forces"),
        real(
            "l",
            ("m",),
            "-",
            "mode_dynamics, row_forces, internal_forces, internal_blocks",
            "right-hand sides, or indices",
        ),
        real("h", ("n",), "N or N m", "mode_dynamics", "generalized forces, including friction of given size"),
        real(
            "remainder",
            ("m",),
            "m/s^2 or rad/s^2",
            "mode_dynamics, row_forces, internal_blocks",
            "remainders of active rows",
        ),
        real("udot", ("n",), "m/s^2 or rad/s^2", "mode_dynamics", "accelerations"),
        real("J", ("m", "n"), "m or 1", "momentum", "R^T J^T of the rows"),
        real("Z", ("m", "n"), "1/kg", "momentum", "(R^T M R)^-1 R^T J^T of the rows"),
        real("G", ("m", "m"), "1/kg", "momentum, islands", "velocity of each row per impulse of each row"),
        real("v", ("m",), "m/s or rad/s", "impulses, rest, time_step_laws", "velocities of the rows"),
        real("start", ("m",), "m/s or rad/s", "transition, moreau_jean", "velocities of the rows at the start"),
        real("impulse", ("m",), "N s or N m s", "impulses, collisions, time_step_laws", "impulses of the rows"),
        real("rounding", ("m",), "m/s or rad/s", "impulses", "rounding error of the velocities of rows"),
        real("left", ("m",), "m/s or rad/s", "momentum", "rounding error added by impulses"),
        real("total", ("m",), "N s or N m s", "momentum", "total impulses of the rows"),
        real("before", ("n",), "m/s or rad/s", "momentum", "speeds before a projection"),
        real("first", ("n",), "m/s or rad/s", "transition, moreau_jean", "speeds when the transition began"),
        Room("kept", CONTACT_STATE, ("nc",)),
        integer("undecided", ("nc",), "consistency", "DECIDED, RESTING or SLIPPING"),
        Room("impact", IMPACT, ()),
        integer("aimed", ("nc",), "mode_search", "constraints that begin to slip along two tangents"),
        real("angle", ("nc",), "rad", "mode_search", "angle of the slip direction"),
        real("turn", ("nc",), "rad", "mode_search", "angle from the slip direction to the acceleration"),
        real("step", ("nc",), "rad", "mode_search", "Newton step of the angles"),
        real("turns", ("nc", "nc"), "-", "mode_search", "derivatives of turn"),
        integer(
            "cause", ("1",), "transition, mode_search, collisions", "constraint that caused the transition, or NONE"
        ),
        integer(
            "blamed", ("1",), "transition, mode_search, collisions", "constraint of the last impact, or of an error"
        ),
        integer("halted", ("1",), "transition, collisions", "1 if repeated impacts were stopped"),
        integer("jammed", ("1",), "transition", "sliding contact with an impulse but no collision, or NONE"),
        integer("pivots", ("nc",), "mode_dynamics, row_forces, mode_search, internal_forces", "exchanges, or contacts"),
        Room("redundant", FACTOR_SCRATCH, ("n", "m")),
        real(
            "B",
            ("m", "m"),
            "-",
            "internal_forces, row_forces",
            "null space: combinations of forces with zero resultant, by columns",
        ),
        real("H", ("m + 1", "m + 1"), "-", "internal_forces", "Hessian of the barrier"),
        real("path", ("6", "m + 1"), "-", "internal_forces", "unknowns, step and slopes of the central path"),
        integer("group", ("nc",), "collisions, mode_search, rest", "group of each constraint, or NONE"),
        integer("island", ("nc",), "momentum, islands", "first constraint of the island of each constraint, or NONE"),
        Room("struck", STRUCK, ("m", "nc")),
        real("present", ("m",), "N or N m", "mode_search", "forces in the first candidate mode"),
        integer("lost", ("nc",), "mode_search", "1 for the first constraint of an island without a consistent mode"),
        real(
            "response",
            ("nc",),
            "-",
            "mode_dynamics, row_forces",
            "normal acceleration of a sliding contact per normal force, with friction",
        ),
        Room("reactions", REACTION_PROBLEM, ("m", "m")),
        real("residual", ("m",), "m or rad", "moreau_jean", "configuration residual of each row, NaN without one"),
        real("wanted", ("m",), "m/s or rad/s", "time_step_laws", "velocities of rows that neither part nor slip"),
    ),
)
RESPONSE_SCRATCH = MemoryRegion(
    "ResponseScratch",
    "Scratch memory of rows that are solved by the factor of M, after ContactScratch.",
    ("m", "n", "nq", "nc", "entries", "shared", "room", "inputs"),
    (
        Room("given", FACTOR_TERMS, ("n", "nq", "entries", "shared", "room")),
        Room("found", SOLUTION_TERMS, (f"{MOST} + m", "n")),
        real("slip_left", ("nc",), "m/s", "tree_response", "remaining slip of each sliding constraint"),
        real("slip", ("nc", "2"), "-", "tree_response", "direction of this slip"),
        integer("row", ("m",), "row_forces, islands", "indices of the active rows, in the order of their records"),
        real("S", ("m", "m"), "1/kg", "islands", "W = A M^-1 A^T of one island"),
        real("pivot", ("m",), "kg", "islands, redundant_rows", "inverse pivots"),
        real("b", ("m",), "m/s^2 or rad/s^2", "islands, contact_projection", "right-hand sides, then forces"),
        real("square", ("m",), "1/kg", "islands", "squares of the rows"),
        real("reach", ("m",), "m/s^2/N", "islands", "reaches of the rows"),
        integer("owner", ("n",), "islands", "first group with an entry in each column"),
        integer("group_place", ("nc + 1",), "islands", "where the records of each group of rows begin in given"),
        integer("group_rows", ("nc + 1",), "islands", "number of rows of each group"),
        integer("group_width", ("nc + 1",), "islands", "number of columns of each group"),
        integer("group_constraint", ("nc + 1",), "islands", "intermittent constraint of each group, or NONE"),
        integer("group_root", ("nc + 1",), "islands", "group to which each group is tied"),
        integer("group_next", ("nc + 1",), "islands", "next group of the same island, or NONE"),
        integer("slot", ("nc + 1",), "islands", "index of the first row of each group"),
        integer("tail", ("m",), "islands, contact_projection", "offset in given of the RecordTail of each row"),
        integer("exchanges", ("m",), "islands, island_forces", "exchanges of an elimination, or numbers of rows"),
        integer("loose", ("m",), "islands, contact_projection", "order of the rows by elimination"),
        real("Y", ("m", "n"), "-", "islands", "y of the rows of an island, by its columns"),
        real("W", ("n", "m"), "1/kg", "islands", "w of the rows of an island, by its columns"),
        integer("number", ("n",), "islands", "index of each column in its island"),
        integer("column", ("n",), "islands", "columns of an island"),
        integer(
            "mode",
            ("1",),
            "tree_response, contact_projection, momentum",
            "key of the mode of the stored records, or 0",
        ),
        real(
            "velocity",
            ("m", "2"),
            "m/s or rad/s",
            "programs of velocities",
            "velocity of each row, and the sum of its terms",
        ),
        real("signals", ("m + inputs",), "SI", "signals", "forces of all rows, then the inputs"),
    ),
)
MODE_SCRATCH = MemoryRegion(
    "ModeScratch",
    "Scratch memory of compiled modes, after ResponseScratch.",
    ("m", "n", "nq", "nc", "inputs"),
    (
        real("given", ("inputs + 3 * nc",), "SI", "compiled_mode_programs", "inputs; direction and begun of each slip"),
        Room("found", MODE_GUARDS, ("m", "n", "nq", "nc")),
        real("state", ("1 + nq + n",), "SI", "compiled_mode_programs", "[t, q, u]"),
        real("before", ("nq",), "m or rad", "compiled_mode_programs", "coordinates before a step of the projection"),
    ),
)
