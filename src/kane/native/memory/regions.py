"""All regions of memory that compiled programs and kernels share; ``generate.py`` makes views of them.

The constants of a constrained model begin with a ConstraintHeader, ConstraintLists and, for models with intermittent
constraints, a ContactBlock, a ContactTable, a ContactState and HeldResiduals. The scratch memory of a call has
ConstraintScratch behind the scratch of the programs, then ContactScratch, ResponseScratch and ModeScratch.
"""

from __future__ import annotations

from kane.native.memory.declare import CONSTANT, DOUBLES, INTEGERS, Array, Region, Room

# Meaning of the names of sizes.
SIZES = {
    "m": "rows of constraints, those of intermittent constraints included",
    "n": "generalized speeds",
    "nq": "coordinates",
    "p": "residuals of the configuration",
    "nc": "intermittent constraints",
    "k": "blocks of a problem of reactions",
    "fronts": "fronts of the elimination of closed loops",
    "quaternions": "unit quaternions in q",
    "own": "the joints' own speeds",
    "entries": "nonzero entries of L below its diagonal",
    "shared": "numbers that programs of rows share with the factor of M",
    "room": "numbers of the records of all rows",
    "most": "rows of the largest compiled solution",
    "columns": "columns in the record of a row",
    "inputs": "inputs of the model",
    "digits": "numbers that describe lost digits",
}


def _d(name: str, shape: tuple[str, ...], unit: str, writer: str, meaning: str) -> Array:
    return Array(name, DOUBLES, shape, unit, writer, meaning)


def _i(name: str, shape: tuple[str, ...], writer: str, meaning: str) -> Array:
    return Array(name, INTEGERS, shape, "-", writer, meaning)


def _c(name: str, writer: str, meaning: str) -> Array:
    return Array(name, CONSTANT, (), "-", writer, meaning)


# Outputs of programs.

CONSTRAINT_ROWS = Region(
    "ConstraintRows",
    'Outputs of the program "constraints".',
    ("m", "n"),
    (
        _d("A", ("m", "n"), "m or 1", "constraints", "coefficients of the speeds in A u + b"),
        _d("motion", ("m",), "m/s or rad/s", "constraints", "velocities A u + b of the rows"),
    ),
    whole=True,
)
UNCONSTRAINED_TERMS = Region(
    "UnconstrainedTerms",
    'Outputs of the program "unconstrained": M udot + h = A^T lambda, A udot + remainder = 0.',
    ("m", "n", "nq"),
    (
        _d(
            "M",
            ("n * (n + 1) // 2",),
            "kg, kg m, kg m^2",
            "unconstrained",
            "lower triangle of the mass matrix, by rows",
        ),
        _d("h", ("n",), "N or N m", "unconstrained", "generalized forces of inertia and loads, without reactions"),
        _d("remainder", ("m",), "m/s^2 or rad/s^2", "unconstrained", "accelerations of the rows without udot"),
        _d("rates", ("nq",), "m/s or rad/s", "unconstrained", "dq/dt"),
    ),
    whole=True,
)
EMBEDDING = Region(
    "Embedding",
    'Outputs of the program "embedding": u = R u + e, udot = R udot + e_t.',
    ("n",),
    (
        _d(
            "conditioning",
            ("1",),
            "-",
            "embedding, loops",
            "smallest pivot of the selection over the longest column of A",
        ),
        _d("independent", ("n",), "-", "embedding, loops", "1 for each independent speed, else 0"),
        _d("u", ("n",), "m/s or rad/s", "embedding, loops", "speeds, the dependent ones from the independent ones"),
        _d("e_t", ("n",), "m/s^2 or rad/s^2", "embedding, loops", "remainders of the accelerations"),
        _d("R", ("n", "n"), "-", "embedding, loops", "zero in the columns of dependent speeds"),
    ),
)
PROJECTED_STATE = Region(
    "ProjectedState",
    'Outputs of the program "settle".',
    ("n", "nq"),
    (
        _d("q", ("nq",), "m or rad", "settle, settling", "coordinates on the constraints"),
        _d("u", ("n",), "m/s or rad/s", "settle, settling", "speeds on the constraints"),
        _d("configuration", ("1",), "m or rad", "settle, settling", "largest residual of the configuration before"),
        _d("motion", ("1",), "m/s or rad/s", "settle, settling", "largest residual of the velocities before"),
        _d("conditioning", ("1",), "-", "settle, settling", "conditioning of the selection of speeds, or of the rows"),
    ),
    whole=True,
)
GAP_TERMS = Region(
    "GapTerms",
    'Outputs of the program "gaps".',
    ("nc",),
    (
        _d("gap", ("nc",), "m or rad", "gaps", "signed distance; negative if bodies overlap"),
        _d("on", ("nc",), "-", "gaps", "positive where a switch is to be imposed"),
        _d("off", ("nc",), "-", "gaps", "positive where it is to be deleted, or beyond the ends of features"),
        _d("static", ("nc",), "- or N", "gaps", "bound of static friction: coefficient, or force"),
        _d("kinetic", ("nc",), "- or N", "gaps", "kinetic friction: coefficient, or force"),
        _d("restitution", ("nc",), "-", "gaps", "coefficient of restitution"),
    ),
    whole=True,
)
TRANSITION = Region(
    "Transition",
    'Outputs of the program "change": the state and the mode after a transition.',
    ("nc", "m", "n", "nq"),
    (
        _d("q", ("nq",), "m or rad", "excursion, passing", "coordinates"),
        _d("u", ("n",), "m/s or rad/s", "excursion, passing", "speeds after the impulses"),
        _d("status", ("1",), "-", "excursion, passing", "how the transition ended: ADOPTED, or an error"),
        _d("cause", ("1",), "-", "excursion, passing", "number of the intermittent constraint that caused it, or NONE"),
        _d("kind", ("1",), "-", "excursion, passing", "kind of change of this constraint"),
        _d("energy_lost", ("1",), "J", "resting, passing", "kinetic energy lost"),
        _d("impulses", ("m",), "N s or N m s", "excursion, passing", "impulse of each row; velocities left if OPPOSED"),
        _d("directions", ("nc", "2"), "-", "excursion, passing", "direction of slip of each constraint"),
        _d("statuses", ("nc",), "-", "excursion, passing", "status of each constraint"),
    ),
)
FACTOR_TERMS = Region(
    "FactorTerms",
    'Outputs of the program "factor", M = L^T D L, and what programs of rows and solutions read behind them.',
    ("n", "nq", "entries", "shared", "room"),
    (
        _d("L", ("entries",), "-", "factor", "entries of L below its diagonal that are not always zero, by rows"),
        _d("inverse", ("n",), "1/kg", "factor", "1 / D"),
        _d("scaled", ("n",), "m/s^2 or rad/s^2", "factor, islands", "z / D, to which forces of rows are added"),
        _d("z", ("n",), "N or N m", "factor", "loads in the coordinates of L"),
        _d("rates", ("nq",), "m/s or rad/s", "factor", "dq/dt"),
        _d("common", ("shared",), "-", "factor", "numbers that the programs of rows read"),
        _d("along", ("3",), "- and m/s", "quick", "direction of slip that a constraint had, and its begun"),
        _d("records", ("room",), "-", "programs of rows", "records of the active rows, one behind the other"),
        _d(
            "friction", ("n + 3",), "-", "programs of friction", "z / D with friction, then slip left and its direction"
        ),
    ),
    whole=True,
)
SOLUTION = Region(
    "Solution",
    "Outputs of a compiled solution for at most m rows.",
    ("m", "n"),
    (
        _d("udot", ("n",), "m/s^2 or rad/s^2", "solution, islands", "accelerations"),
        _d("force", ("m",), "N or N m", "solution, islands", "forces of the rows"),
        _d("good", ("1",), "-", "solution", "number of independent rows, or -1"),
        _d("pivot", ("m",), "1/kg", "solution", "pivots of W = A M^-1 A^T"),
        _d("left", ("m",), "m/s^2 or rad/s^2", "solution", "b of each row when its pivot was taken"),
    ),
    whole=True,
)

# Constants of a constrained model.

CONSTRAINT_HEADER = Region(
    "ConstraintHeader",
    "The beginning of the constants of native functions of constraints.",
    (),
    (
        _i("addresses", ("5",), "constrained_function", "addresses of the programs, in the order of ``Called``"),
        _i("places", ("5",), "constrained_function", "where the constants of each of these programs begin"),
        _c("mode", "constrained_function", "how dependent speeds are selected: AFRESH, KEPT or FIXED"),
        _c("linear", "constrained_function", "1 if all rows are linear in u"),
        _c("rows", "constrained_function", "m"),
        _c("speeds", "constrained_function", "n"),
        _c("coordinates", "constrained_function", "nq"),
        _c("residuals", "constrained_function", "p"),
        _c("quaternions", "constrained_function", "unit quaternions in q"),
        _c("own_speeds", "constrained_function", "the joints' own speeds"),
        _i("rank", ("1",), "settle, loops", "rank of the selection of dependent speeds, or UNCHOSEN"),
        _c("work", "constrained_function", "where in the scratch memory ConstraintScratch begins"),
        _c("fronts", "constrained_function", "number of fronts; 0 if loops are not taken apart"),
    ),
)
SELECTION_HEADER = Region(
    "SelectionHeader",
    "The beginning of the constants of compiled speed selections; from mode on it is a ConstraintHeader.",
    (),
    (
        _c("rhs", "compiled_selections", "address of the numeric right-hand side"),
        _c("settle", "compiled_selections", "address of the numeric projection"),
        _c("numeric", "compiled_selections", "where the constants of the numeric programs begin"),
        _c("selections", "compiled_selections", "number of compiled selections"),
        _i("chosen", ("1",), "choices", "number of the compiled selection in force, or NONE"),
        _i("unused", ("5",), "compiled_selections", "zeros"),
        *CONSTRAINT_HEADER.fields[2:],
    ),
)
SELECTION_ROW = Region(
    "SelectionRow",
    "One compiled speed selection.",
    ("n",),
    (
        _i("addresses", ("3",), "compiled_selections", "addresses of its programs, in the order of ``choices``"),
        _i("places", ("3",), "compiled_selections", "where the constants of each of these programs begin"),
        _c("dependent", "compiled_selections", "number of dependent speeds"),
        _i("mask", ("n",), "compiled_selections", "1 for each dependent speed"),
    ),
)
CONSTRAINT_LISTS = Region(
    "ConstraintLists",
    "Lists behind a ConstraintHeader; the plan of the fronts, or a ContactBlock, follows.",
    ("n", "p", "quaternions"),
    (
        _i("order", ("n",), "settle, loops", "columns of u in the order of the selection, dependent speeds first"),
        _i("rows_of_residuals", ("p",), "constrained_function", "row of A of each residual of the configuration"),
        _i("quaternions", ("quaternions",), "constrained_function", "where in q each unit quaternion begins"),
    ),
)
CONTACT_BLOCK = Region(
    "ContactBlock",
    "Programs and sizes of intermittent constraints.",
    (),
    (
        _i("addresses", ("12",), "contact_functions", "addresses of the programs, in the order of ``Program``"),
        _i("places", ("12",), "contact_functions", "where the constants of each of these programs begin"),
        _c("constraints", "contact_functions", "nc"),
        _c("permanent", "contact_functions", "rows that are always active"),
        _c("closings", "contact_functions", "residuals of the configuration"),
        _c("in_turn", "contact_functions", '1 if simultaneous impacts are taken in turn (``m.impacts = "in turn"``)'),
        _c("shared", "contact_functions", "shared numbers of FactorTerms"),
        _c("columns", "contact_functions", "columns in the records of permanent rows"),
        _c("room", "contact_functions", "numbers of the records of all rows"),
        _c("entries", "contact_functions", "entries of L"),
        _c("scratch", "contact_functions", "where in the scratch memory ResponseScratch begins"),
    ),
)
CONTACT_TABLE = Region(
    "ContactTable",
    "Constants of each intermittent constraint.",
    ("nc",),
    (
        _i("normal", ("nc",), "contact_table", "row along the gap, or NONE"),
        _i("tangent", ("nc",), "contact_table", "first tangent row"),
        _i("tangents", ("nc",), "contact_table", "number of tangent rows"),
        _i("friction", ("nc",), "contact_table", "bound of the tangents: UNBOUNDED, COULOMB or THRESHOLDS"),
        _i("law", ("nc",), "contact_table", "law of restitution: POISSON or NEWTON"),
        _i("bilateral", ("nc",), "contact_table", "1 if the rows hold both ways"),
        _i("timed", ("nc",), "contact_table", "1 if an expression imposes the constraint"),
        _i("ended", ("nc",), "contact_table", "1 if an expression deletes the constraint"),
        _i("answer", ("nc",), "contact_functions", "address of the program of its records"),
        _i("answer_place", ("nc",), "contact_functions", "where the constants of this program begin"),
        _i("holds", ("nc",), "contact_table", "first residual that is held at the value found"),
        _i("holding", ("nc",), "contact_table", "number of these residuals"),
        _i("slide", ("nc",), "contact_functions", "address of the program of kinetic friction, or 0"),
        _i("slide_place", ("nc",), "contact_functions", "where the constants of this program begin"),
        _i("width", ("nc",), "contact_table", "columns in its records"),
        _i("moves", ("nc",), "contact_functions", "address of the program of the velocities of its rows"),
        _i("moves_place", ("nc",), "contact_functions", "where the constants of this program begin"),
        _i("first_column", ("nc",), "contact_table", "first column that its rows have"),
        _i("last_column", ("nc",), "contact_table", "one past the last column that its rows have"),
    ),
)
CONTACT_STATE = Region(
    "ContactState",
    "Status and slip of each intermittent constraint, which change in a run.",
    ("nc",),
    (
        _i("status", ("nc",), "mode, excursion, search, resting, passing", "OPEN, HELD or SLIDING"),
        _i(
            "armed",
            ("nc",),
            "excursion, resting",
            "1 if the sign of on (open) or off (imposed), or an approach, counts",
        ),
        _d("along", ("nc", "2"), "-", "mode, search, settling", "direction of slip"),
        _d("begun", ("nc",), "m/s", "contact_functions, slip_threshold", "speed from which slip has its own direction"),
    ),
    whole=True,
)
HELD_RESIDUALS = Region(
    "HeldResiduals",
    "Residuals of the configuration of models with intermittent constraints.",
    ("p",),
    (
        _d("value", ("p",), "m or rad", "excursion", "value that is held; NaN where none was found yet"),
        _d("found", ("p",), "m or rad", "configuration, settling", "residuals at the state"),
    ),
    whole=True,
)
COMPILED_MODES = Region(
    "CompiledModes",
    "Modes that have compiled equations; rows of ``CompiledModeRow`` follow.",
    (),
    (
        _i("numeric", ("4",), "compiled_contacts", "addresses of the numeric programs, in the order of ``Numeric``"),
        _c("modes", "compiled_contacts", "number of compiled modes"),
        _i("chosen", ("1",), "ahead", "number of the mode in force, or NONE"),
        _c("inputs", "compiled_contacts", "number of inputs"),
    ),
)
COMPILED_MODE_ROW = Region(
    "CompiledModeRow",
    "One compiled mode.",
    ("nc",),
    (
        _i(
            "addresses",
            ("5",),
            "compiled_contacts",
            "addresses of its programs, in the order of ``Own``; 0 without code",
        ),
        _i("places", ("5",), "compiled_contacts", "where the constants of each of these programs begin"),
        _i("statuses", ("nc",), "compiled_contacts", "status of each intermittent constraint"),
    ),
)
CHART_BLOCK = Region(
    "ChartBlock",
    "Programs that change charts, right before the constants of the first program of the header.",
    (),
    (
        _c("guards", "charted_contacts", "address of the guards of the intermittent constraints"),
        _c("change", "charted_contacts", "address of their transition"),
        _i(
            "addresses",
            ("2",),
            "charted_contacts",
            "addresses of the programs of the charts, in the order of ``Charted``",
        ),
        _i("places", ("2",), "charted_contacts", "where the constants of each of these programs begin"),
        _c("charts", "charted_contacts", "number of charts"),
        _c("key", "charted_contacts", "key of the charts in force"),
    ),
)

# Scratch of calls.

FACTOR_SCRATCH = Region(
    "FactorScratch",
    "A matrix (m, n) and its QR factors with column pivoting.",
    ("m", "n"),
    (
        _d("A", ("m", "n"), "-", "embedding, algebra", "the matrix; then R, reflectors, and D of the dependent speeds"),
        _i("order", ("n",), "algebra", "column of the given matrix that is column k now"),
        _d("diag", ("n",), "-", "algebra", "diagonal of R"),
        _d("beta", ("n",), "-", "algebra", "2 / v^T v of the reflectors v"),
        _d("norms", ("2", "n"), "-", "algebra", "squared norms of the columns left, and when they were last summed"),
        _d("w", ("n",), "-", "algebra", "scratch"),
    ),
)
FRONT_SCRATCH = Region(
    "FrontScratch",
    "What each front of closed loops works on.",
    ("fronts", "m", "n"),
    (
        _i(
            "lists", ("fronts * (m + n)",), "fronts", "of each front its columns (n) and rows (m), dependent ones first"
        ),
        _i("columns", ("fronts",), "fronts", "number of columns of each front"),
        _i("own", ("fronts",), "fronts", "number of columns that later fronts do not have"),
        _i("rows", ("fronts",), "fronts", "number of rows"),
        _i("pivots", ("fronts",), "fronts", "number of dependent speeds"),
        _i("free", ("fronts",), "fronts", "number of independent speeds that are eliminated"),
        _i("first_column", ("fronts",), "fronts", "first column that was left to each front, or -1"),
        _i("first_row", ("fronts",), "fronts", "first row that was left to each front, or -1"),
        _i("next_column", ("n",), "fronts", "column left to the same front after each column, or -1"),
        _i("next_row", ("m",), "fronts", "row left to the same front after each row, or -1"),
        _i("candidates", ("n",), "loops", "1 for each column that may be dependent"),
        _d("diag", ("n",), "-", "fronts", "diagonal of R, by columns"),
        _d("beta", ("n",), "-", "fronts", "2 / v^T v of the reflectors, by columns"),
    ),
)
CONSTRAINT_SCRATCH = Region(
    "ConstraintScratch",
    "Scratch memory of native functions of constraints.",
    ("m", "n", "nq", "p", "fronts", "own"),
    (
        _d("state", ("1 + nq + n",), "SI", "embedding", "[t, q, u]"),
        Room("rows", CONSTRAINT_ROWS, ("m", "n")),
        Room("free", UNCONSTRAINED_TERMS, ("m", "n", "nq")),
        Room("factors", FACTOR_SCRATCH, ("m", "n")),
        _d("x", ("m",), "-", "embedding, forces, momentum", "right-hand sides of the rows"),
        _d("M", ("n", "n"), "kg, kg m, kg m^2", "embedding, loops", "mass matrix, in the order of the selection"),
        _d("W", ("n", "n"), "kg, kg m, kg m^2", "embedding", "M R, in its columns of independent speeds"),
        _d("reduced", ("n", "n"), "kg, kg m, kg m^2", "embedding", "R^T M R"),
        _d("e", ("n",), "m/s^2 or rad/s^2", "embedding, loops", "e_t, in the order of the selection"),
        _d("z", ("n",), "N or N m", "embedding, motion", "loads, in the order of the selection"),
        _d("udot", ("n",), "m/s^2 or rad/s^2", "embedding, motion", "accelerations, in the order of the selection"),
        _d("gram", ("p", "p"), "1/kg", "settle", "A A^T of the rows of the configuration"),
        _d("y", ("p",), "-", "settle", "multipliers of these rows"),
        _d("diagonal", ("p",), "1/kg", "settle", "diagonal of A A^T"),
        _d("residual", ("p",), "m or rad", "settle", "residuals of the configuration"),
        _d("s", ("n",), "m or rad", "settle, settling", "change of the configuration in the speeds"),
        _d("q", ("nq",), "m or rad", "settle, settling", "coordinates before the change"),
        _d("slope", ("nq",), "m or rad", "settle, settling", "rates of the coordinates with s"),
        _d("own_state", ("1 + nq + own",), "SI", "settle", "[t, q, own speeds]"),
        Room("own_found", PROJECTED_STATE, ("own", "nq")),
        Room("front_lists", FRONT_SCRATCH, ("fronts", "m", "n")),
    ),
)
REACTION_PROBLEM = Region(
    "ReactionProblem",
    "A problem of reactions: a = W f + b, Signorini's and Coulomb's laws; see ``complementarity``.",
    ("m", "k"),
    (
        _d("W", ("m", "m"), "1/kg", "search, collisions", "accelerations, or velocities, per reaction"),
        _d("b", ("m",), "m/s^2 or m/s", "search, collisions", "accelerations, or velocities, without reactions"),
        _d("f", ("m",), "N or N s", "complementarity, interior", "where to start, then the reactions"),
        _i("row", ("k",), "search, collisions", "first row of each block"),
        _i("pushes", ("k",), "search, collisions", "1 if the first row of a block is a normal row"),
        _i("tangents", ("k",), "search, collisions", "number of tangent rows of a block: 0, 1 or 2"),
        _d("bound", ("k",), "- or N", "search, collisions", "friction coefficient; bound if there is no normal row"),
        _d("least", ("k",), "N or N s", "search, collisions", "least normal force"),
        _d("a", ("m",), "m/s^2 or m/s", "complementarity", "accelerations, or velocities, with the reactions"),
        _d("rho", ("m",), "kg", "complementarity", "scale of each row"),
        _d("K", ("m", "m"), "-", "complementarity, interior", "linearized equations"),
        _d("S", ("m", "m"), "-", "shortest, interior", "scratch"),
        _d("x", ("m",), "-", "complementarity, interior", "right-hand side"),
        _d("step", ("m",), "N or N s", "shortest, interior", "solution of the linearized equations"),
        _d("shift", ("m",), "N or N s", "complementarity, interior", "f - rho a"),
        _d("best", ("m",), "N or N s", "complementarity, interior", "reactions with the smallest residual"),
        _d("before", ("m",), "N or N s", "complementarity, interior", "reactions before a step"),
        _d("inner", ("m",), "N or N s", "complementarity, shortening", "reactions that the interior points led to"),
        _i("place", ("m",), "complementarity, search", "of each row its number among the unknowns, or -1"),
        _i("unknown", ("m",), "complementarity", "rows that are unknown"),
        _i("pivots", ("m",), "shortest, resting", "order in which the unknowns are eliminated"),
    ),
)
STRUCK = Region(
    "Struck",
    "Contacts that are struck together.",
    ("m", "k"),
    (
        _i("member", ("k",), "collisions", "numbers of the intermittent constraints"),
        _d("before", ("m",), "m/s or rad/s", "collisions", "velocities before the impact"),
        _d("total", ("m",), "N s or N m s", "collisions", "impulses of the compression"),
        _d("squeezed", ("m",), "m/s or rad/s", "collisions", "velocities after the compression"),
    ),
)
SELECTION_SCRATCH = Region(
    "SelectionScratch",
    "Scratch memory of compiled speed selections, behind that of the programs.",
    ("n", "nq"),
    (
        _d("state", ("1 + nq + n",), "SI", "choices", "[t, q, u]"),
        _d("found", ("3 + nq + n",), "SI", "step of a selection", "residuals and state after a Newton step"),
        _d("next", ("3 + nq + n",), "SI", "step of a selection", "the same of the next step"),
        _d("follows", ("4 + nq + n",), "SI", "consequences of a selection", "residual, conditioning, and the state"),
    ),
)
# Terms of a Taylor series of an impact.
TERMS = 28
IMPACT = Region(
    "Impact",
    "One impact at one contact; see ``impact``.",
    (),
    (
        _d("G", ("3", "3"), "1/kg", "impulses", "velocities per impulse, normal row first"),
        _d("v", ("3",), "m/s", "impulses, impact", "velocity, normal first"),
        _d("p", ("3",), "N s", "impact", "impulse, normal first"),
        _d("static", ("1",), "-", "impulses", "coefficient of static friction"),
        _d("kinetic", ("1",), "-", "impulses", "coefficient of kinetic friction"),
        _d("end_velocity", ("1",), "m/s", "impact", "normal velocity at which the phase ends, or infinity"),
        _d("end_impulse", ("1",), "N s", "impact", "normal impulse at which the phase ends, or infinity"),
        _d("series", ("15", str(TERMS)), "-", "impact", "Taylor series of the path"),
    ),
)
CONTACT_SCRATCH = Region(
    "ContactScratch",
    "Scratch memory of native functions of intermittent constraints, behind ConstraintScratch.",
    ("m", "n", "nc"),
    (
        Room("every", CONSTRAINT_ROWS, ("m", "n")),
        _i("active", ("m",), "motion", "numbers of the active rows"),
        _i("counted", ("m",), "motion", "1 for each active row"),
        Room("gaps", GAP_TERMS, ("nc",)),
        _d("forces", ("m",), "N or N m", "forces, motion, shares", "force of every row"),
        _d("F", ("nc", "n"), "-", "motion", "generalized forces per normal force of each sliding contact"),
        _d("Y", ("nc", "n"), "m/s^2/N", "motion", "accelerations per normal force of each sliding contact"),
        _d("K", ("nc", "nc"), "-", "motion", "equations of the normal forces of sliding contacts"),
        _d("N", ("nc",), "N", "motion", "normal rows of sliding contacts, then their normal forces"),
        _d("l", ("m",), "-", "motion, forces, shares", "right-hand sides, and numbers of rows"),
        _d("h", ("n",), "N or N m", "motion", "generalized forces, with friction of given size"),
        _d("remainder", ("m",), "m/s^2 or rad/s^2", "motion, forces", "remainders of the active rows"),
        _d("udot", ("n",), "m/s^2 or rad/s^2", "motion", "accelerations"),
        _d("J", ("m", "n"), "m or 1", "momentum", "R^T J^T of the rows"),
        _d("Z", ("m", "n"), "1/kg", "momentum", "(R^T M R)^-1 R^T J^T of the rows"),
        _d("G", ("m", "m"), "1/kg", "momentum, islands", "velocity of each row per impulse of each row"),
        _d("v", ("m",), "m/s or rad/s", "impulses, resting", "velocities of the rows"),
        _d("start", ("m",), "m/s or rad/s", "excursion, passing", "velocities of the rows when the transition began"),
        _d("impulse", ("m",), "N s or N m s", "impulses, collisions", "impulses of the rows in the impacts"),
        _d("rounding", ("m",), "m/s or rad/s", "impulses", "rounding error of the velocities of rows"),
        _d("left", ("m",), "m/s or rad/s", "momentum", "rounding error that impulses add"),
        _d("total", ("m",), "N s or N m s", "momentum", "impulses of the rows in all"),
        _d("before", ("n",), "m/s or rad/s", "momentum", "speeds before a projection"),
        _d("first", ("n",), "m/s or rad/s", "excursion, passing", "speeds when the transition began"),
        Room("kept", CONTACT_STATE, ("nc",)),
        _i("undecided", ("nc",), "mode", "DECIDED, STILL or MOVING"),
        Room("impact", IMPACT, ()),
        _i("aimed", ("nc",), "search", "constraints that begin to slip in space"),
        _d("angle", ("nc",), "rad", "search", "directions of their slips"),
        _d("turn", ("nc",), "rad", "search", "angles from these directions to the accelerations"),
        _d("step", ("nc",), "rad", "search", "Newton's step of the angles"),
        _d("turns", ("nc", "nc"), "-", "search", "derivatives of turn"),
        _i("cause", ("1",), "excursion, search, collisions", "constraint that caused the transition, or NONE"),
        _i("blamed", ("1",), "excursion, search, collisions", "constraint that struck last, or that an error is about"),
        _i("halted", ("1",), "excursion, collisions", "1 if repeated impacts were brought to an end"),
        _i("jammed", ("1",), "excursion", "contact that was struck without a collision, or NONE"),
        _d("E", ("n", "m"), "-", "shares", "equations of redundant forces"),
        _d("B", ("m", "m"), "-", "shares, forces", "forces that add up to nothing, by columns"),
        _d("H", ("m + 1", "m + 1"), "-", "shares", "second derivatives of the barrier"),
        _d("path", ("6", "m + 1"), "-", "shares", "unknowns, step and slopes of the central path"),
        _i("group", ("nc",), "collisions, search, resting", "group of each constraint, or NONE"),
        _i("island", ("nc",), "momentum, islands", "first constraint that each one may feel, or NONE"),
        Room("struck", STRUCK, ("m", "nc")),
        _d("present", ("m",), "N or N m", "search", "forces in the mode that was tried first"),
        _i("lost", ("nc",), "search", "1 for the first constraint of an island without a consistent mode"),
        _d(
            "response",
            ("nc",),
            "-",
            "motion, forces",
            "normal acceleration of a sliding contact per normal force, with friction",
        ),
        Room("reactions", REACTION_PROBLEM, ("m", "nc")),
    ),
)
RECORD_TAIL = Region(
    "RecordTail",
    "The end of the record of a row.",
    (),
    (
        _d(
            "b",
            ("1",),
            "m/s^2 or rad/s^2",
            "programs of rows, settling",
            "acceleration of the row without forces, negative",
        ),
        _d("square", ("1",), "1/kg", "programs of rows", "y^T D^-1 y"),
        _d("reach", ("1",), "m/s^2/N", "programs of rows", "largest acceleration per force of the row"),
        _d("remainder", ("1",), "m/s^2 or rad/s^2", "programs of rows", "remainder of the acceleration"),
    ),
)
RECORD = Region(
    "Record",
    "Record of a row a with L^-1: the program of its rows writes it.",
    ("columns",),
    (
        _d("y", ("columns",), "-", "programs of rows", "L^-T a"),
        _d("w", ("columns",), "1/kg", "programs of rows", "D^-1 (y + friction)"),
        *RECORD_TAIL.fields,
    ),
)
RESPONSE_SCRATCH = Region(
    "ResponseScratch",
    "Scratch memory of rows that are solved by the factor of M, behind ContactScratch.",
    ("m", "n", "nq", "nc", "entries", "shared", "room", "most"),
    (
        Room("given", FACTOR_TERMS, ("n", "nq", "entries", "shared", "room")),
        Room("found", SOLUTION, ("most + m", "n")),
        _d("slip_left", ("nc",), "m/s", "quick", "slip of each sliding constraint that is left"),
        _d("slip", ("nc", "2"), "-", "quick", "direction of this slip"),
        _i("row", ("m",), "forces, islands", "numbers of the active rows, in the order of their records"),
        _d("S", ("m", "m"), "1/kg", "islands", "W = A M^-1 A^T of one island"),
        _d("pivot", ("m",), "kg", "islands, repeating", "inverse pivots"),
        _d("b", ("m",), "m/s^2 or rad/s^2", "islands, settling", "right-hand sides, then forces"),
        _d("square", ("m",), "1/kg", "islands", "squares of the rows"),
        _d("reach", ("m",), "m/s^2/N", "islands", "reaches of the rows"),
        _i("owner", ("n",), "islands", "first group that has each column"),
        _i("group_place", ("nc + 1",), "islands", "where the records of each group of rows begin in given"),
        _i("group_rows", ("nc + 1",), "islands", "number of rows of each group"),
        _i("group_width", ("nc + 1",), "islands", "number of columns of each group"),
        _i("group_constraint", ("nc + 1",), "islands", "intermittent constraint of each group, or NONE"),
        _i("group_root", ("nc + 1",), "islands", "group to which each group is tied"),
        _i("group_next", ("nc + 1",), "islands", "next group of the same island, or NONE"),
        _i("slot", ("nc + 1",), "islands", "number of the first row of each group"),
        _i("tail", ("m",), "islands, settling", "where the RecordTail of each row begins in given"),
        _i("loose", ("m",), "islands, settling", "order of the rows by elimination"),
        _d("Y", ("m", "n"), "-", "islands", "y of the rows of an island, by its columns"),
        _d("W", ("n", "m"), "1/kg", "islands", "w of the rows of an island, by its columns"),
        _i("number", ("n",), "islands", "number of each column in its island"),
        _i("column", ("n",), "islands", "columns of an island"),
        _i("mode", ("1",), "quick, settling, momentum", "key of the mode whose records are there, or 0"),
        _d(
            "velocity",
            ("m", "2"),
            "m/s or rad/s",
            "programs of velocities",
            "velocity of each row, and the sum of its terms",
        ),
    ),
)
MODE_GUARDS = Region(
    "ModeGuards",
    "Outputs of the guards of a compiled mode.",
    ("m", "n", "nq", "nc"),
    (
        _d("guards", ("2 * nc",), "SI", "guards of a mode", "two guards of each intermittent constraint"),
        _d("slopes", ("nq + n",), "SI", "guards of a mode", "dq/dt and udot"),
        _d("digits", ("3",), "-", "guards of a mode", "DEPENDENCE, PUSHED and OTHERS"),
        _d("forces", ("m",), "N or N m", "guards of a mode", "forces of all rows"),
    ),
    whole=True,
)
MODE_RESIDUALS = Region(
    "ModeResiduals",
    "Outputs of the residuals of a compiled mode.",
    (),
    (
        _d("configuration", ("1",), "m or rad", "residuals of a mode", "largest residual of the configuration"),
        _d("motion", ("1",), "m/s or rad/s", "residuals of a mode", "largest residual of the velocities"),
    ),
)
MODE_STEP = Region(
    "ModeStep",
    "Outputs of a Newton step of a compiled mode.",
    ("nq",),
    (
        _d("dependence", ("1",), "-", "step of a mode", "largest square of a row over its pivot"),
        _d("q", ("nq",), "m or rad", "step of a mode", "coordinates after the step"),
    ),
)
MODE_PROJECTED = Region(
    "ModeProjected",
    "Outputs of the projection of a compiled mode.",
    ("n", "nc"),
    (
        _d("dependence", ("1",), "-", "projection of a mode", "largest square of a row over its pivot"),
        _d("u", ("n",), "m/s or rad/s", "projection of a mode", "speeds on the constraints"),
        _d("slips", ("nc", "2"), "m/s", "projection of a mode", "slip velocity of each sliding constraint, in order"),
    ),
)
MODE_SCRATCH = Region(
    "ModeScratch",
    "Scratch memory of compiled modes, behind ResponseScratch.",
    ("m", "n", "nq", "nc", "inputs"),
    (
        _d("given", ("inputs + 3 * nc",), "SI", "ahead", "inputs, then direction and begun of each sliding constraint"),
        Room("found", MODE_GUARDS, ("m", "n", "nq", "nc")),
        _d("state", ("1 + nq + n",), "SI", "ahead", "[t, q, u]"),
        _d("before", ("nq",), "m or rad", "ahead", "coordinates before a step of the projection"),
    ),
)
