"""Regions of the outputs of compiled programs and native functions."""

from __future__ import annotations

from kane.engine.memory.declare import MemoryRegion, real

CONSTRAINT_ROWS = MemoryRegion(
    "ConstraintRows",
    'Outputs of the program "constraints".',
    ("m", "n"),
    (
        real("A", ("m", "n"), "m or 1", "constraints", "coefficients of the speeds in A u + b"),
        real("motion", ("m",), "m/s or rad/s", "constraints", "velocities A u + b of the rows"),
    ),
    whole=True,
)
UNCONSTRAINED_TERMS = MemoryRegion(
    "UnconstrainedTerms",
    'Outputs of the program "unconstrained": M udot + h = A^T lambda, A udot + remainder = 0.',
    ("m", "n", "nq"),
    (
        real(
            "M",
            ("n * (n + 1) // 2",),
            "kg, kg m, kg m^2",
            "unconstrained",
            "lower triangle of the mass matrix, by rows",
        ),
        real("h", ("n",), "N or N m", "unconstrained", "generalized forces of inertia and loads, without reactions"),
        real("remainder", ("m",), "m/s^2 or rad/s^2", "unconstrained", "accelerations of the rows without udot"),
        real("rates", ("nq",), "m/s or rad/s", "unconstrained", "dq/dt"),
    ),
    whole=True,
)
EMBEDDING_TERMS = MemoryRegion(
    "EmbeddingTerms",
    'Outputs of the program "embedding": u = R u + e, udot = R udot + e_t.',
    ("n",),
    (
        real(
            "conditioning",
            ("1",),
            "-",
            "embedding, front_embedding",
            "smallest pivot of the selection over the longest column of A",
        ),
        real("independent", ("n",), "-", "embedding, front_embedding", "1 for each independent speed, else 0"),
        real("u", ("n",), "m/s or rad/s", "embedding, front_embedding", "speeds that satisfy the constraints"),
        real("e_t", ("n",), "m/s^2 or rad/s^2", "embedding, front_embedding", "remainders of the accelerations"),
        real("R", ("n", "n"), "-", "embedding, front_embedding", "zero in the columns of dependent speeds"),
    ),
)
PROJECTION_RESIDUALS = MemoryRegion(
    "ProjectionResiduals",
    "Diagnostics of a projection, which follow the projected state.",
    (),
    (
        real(
            "configuration",
            ("1",),
            "m or rad",
            "projection, contact_projection",
            "largest residual of the coordinates before",
        ),
        real(
            "motion",
            ("1",),
            "m/s or rad/s",
            "projection, contact_projection",
            "largest residual of the velocities before",
        ),
        real(
            "conditioning",
            ("1",),
            "-",
            "projection, contact_projection",
            "conditioning of the selection, or of the rows",
        ),
    ),
)
PROJECTED_STATE = MemoryRegion(
    "ProjectedState",
    'Outputs of the program "project".',
    ("n", "nq"),
    (
        real("q", ("nq",), "m or rad", "projection, contact_projection", "coordinates on the constraints"),
        real("u", ("n",), "m/s or rad/s", "projection, contact_projection", "speeds on the constraints"),
        *PROJECTION_RESIDUALS.fields,
    ),
    whole=True,
)
GAP_TERMS = MemoryRegion(
    "GapTerms",
    'Outputs of the program "gaps".',
    ("nc",),
    (
        real("gap", ("nc",), "m or rad", "gaps", "signed distance; negative if bodies overlap"),
        real("on", ("nc",), "-", "gaps", "positive if a switch is to be imposed"),
        real("off", ("nc",), "-", "gaps", "positive if it is to be deleted, or outside of the features"),
        real("static", ("nc",), "- or N", "gaps", "bound of static friction: coefficient, or force"),
        real("kinetic", ("nc",), "- or N", "gaps", "kinetic friction: coefficient, or force"),
        real("restitution", ("nc",), "-", "gaps", "coefficient of restitution"),
    ),
    whole=True,
)
TRANSITION_OUTPUTS = MemoryRegion(
    "Transition",
    'Outputs of the program "transition": the state and the mode after a transition.',
    ("nc", "m", "n", "nq"),
    (
        real("q", ("nq",), "m or rad", "transition, moreau_jean", "coordinates"),
        real("u", ("n",), "m/s or rad/s", "transition, moreau_jean", "speeds after the impulses"),
        real("status", ("1",), "-", "transition, moreau_jean", "how the transition ended: ADOPTED, or an error"),
        real("cause", ("1",), "-", "transition, moreau_jean", "constraint that caused the transition, or NONE"),
        real("kind", ("1",), "-", "transition, moreau_jean", "kind of change of this constraint"),
        real("energy_lost", ("1",), "J", "rest, moreau_jean", "kinetic energy lost"),
        real(
            "impulses",
            ("m",),
            "N s or N m s",
            "transition, moreau_jean",
            "impulses of the rows; their velocities if OPPOSED",
        ),
        real("directions", ("nc", "2"), "-", "transition, moreau_jean", "direction of slip of each constraint"),
        real("statuses", ("nc",), "-", "transition, moreau_jean", "status of each constraint"),
    ),
)
TIME_STEP_GIVEN = MemoryRegion(
    "TimeStepGiven",
    "State argument of a Moreau-Jean time step.",
    ("nx", "m"),
    (
        real("state", ("1 + nx",), "SI", "time_steps", "[t, q, u]"),
        real("length", ("1",), "s", "time_steps", "length of the step"),
        real("single", ("1",), "-", "time_step_program", "1 for a single step past a state without a mode, else 0"),
        real("guess", ("m",), "N s or N m s", "time_steps", "guess of the impulse of each row"),
    ),
)
FACTOR_TERMS = MemoryRegion(
    "FactorTerms",
    'Outputs of the program "factor", M = L^T D L, followed by inputs of the programs of rows and solutions.',
    ("n", "nq", "entries", "shared", "room"),
    (
        real("L", ("entries",), "-", "factor", "entries of L below its diagonal that are not always zero, by rows"),
        real("inverse", ("n",), "1/kg", "factor", "1 / D"),
        real("scaled", ("n",), "m/s^2 or rad/s^2", "factor, islands", "z / D, to which forces of rows are added"),
        real("z", ("n",), "N or N m", "factor", "loads in the coordinates of L"),
        real("rates", ("nq",), "m/s or rad/s", "factor", "dq/dt"),
        real("common", ("shared",), "-", "factor", "numbers that the programs of rows read"),
        real(
            "along", ("3",), "- and m/s", "tree_response", "previous direction of slip of a constraint, and its begun"
        ),
        real("records", ("room",), "-", "programs of rows", "records of the active rows, one after the other"),
        real(
            "friction",
            ("n + 3",),
            "-",
            "programs of friction",
            "z / D with friction, then the remaining slip and its direction",
        ),
    ),
    whole=True,
)
RECORD_TAIL = MemoryRegion(
    "RecordTail",
    "The end of the record of a row.",
    (),
    (
        real(
            "b",
            ("1",),
            "m/s^2 or rad/s^2",
            "programs of rows, contact_projection",
            "acceleration of the row without forces, negative",
        ),
        real("square", ("1",), "1/kg", "programs of rows", "y^T D^-1 y"),
        real("reach", ("1",), "m/s^2/N", "programs of rows", "largest acceleration per force of the row"),
        real("remainder", ("1",), "m/s^2 or rad/s^2", "programs of rows", "remainder of the acceleration"),
    ),
)
ROW_RECORD = MemoryRegion(
    "RowRecord",
    "Record of a row a in the coordinates of L^-1.",
    ("columns",),
    (
        real("y", ("columns",), "-", "programs of rows", "L^-T a"),
        real("w", ("columns",), "1/kg", "programs of rows", "D^-1 (y + friction)"),
        *RECORD_TAIL.fields,
    ),
)
SOLUTION_TERMS = MemoryRegion(
    "SolutionTerms",
    "Outputs of a compiled solution for at most m rows.",
    ("m", "n"),
    (
        real("udot", ("n",), "m/s^2 or rad/s^2", "solution, islands", "accelerations"),
        real("force", ("m",), "N or N m", "solution, islands", "forces of the rows"),
        real("good", ("1",), "-", "solution", "number of independent rows, or -1"),
        real("pivot", ("m",), "1/kg", "solution", "pivots of W = A M^-1 A^T"),
        real("left", ("m",), "m/s^2 or rad/s^2", "solution", "b of each row at its elimination"),
    ),
    whole=True,
)
MODE_GUARDS = MemoryRegion(
    "ModeGuards",
    "Outputs of the guards of a compiled mode.",
    ("m", "n", "nq", "nc"),
    (
        real("guards", ("2 * nc",), "SI", "guards of a mode", "two guards of each intermittent constraint"),
        real("slopes", ("nq + n",), "SI", "guards of a mode", "dq/dt and udot"),
        real("digits", ("3",), "-", "guards of a mode", "DEPENDENCE, CONTRIBUTION and MAGNITUDE"),
        real("forces", ("m",), "N or N m", "guards of a mode", "forces of all rows"),
    ),
    whole=True,
)
MODE_RESIDUALS = MemoryRegion(
    "ModeResiduals",
    "Outputs of the residuals of a compiled mode.",
    (),
    (
        real("configuration", ("1",), "m or rad", "residuals of a mode", "largest residual of the configuration"),
        real("motion", ("1",), "m/s or rad/s", "residuals of a mode", "largest residual of the velocities"),
    ),
)
MODE_STEP = MemoryRegion(
    "ModeStep",
    "Outputs of a Newton step of a compiled mode.",
    ("nq",),
    (
        real("dependence", ("1",), "-", "step of a mode", "largest square of a row over its pivot"),
        real("q", ("nq",), "m or rad", "step of a mode", "coordinates after the step"),
    ),
)
MODE_PROJECTED = MemoryRegion(
    "ModeProjected",
    "Outputs of the projection of a compiled mode.",
    ("n", "nc"),
    (
        real("dependence", ("1",), "-", "projection of a mode", "largest square of a row over its pivot"),
        real("u", ("n",), "m/s or rad/s", "projection of a mode", "speeds on the constraints"),
        real("slips", ("nc", "2"), "m/s", "projection of a mode", "slip velocity of each sliding constraint"),
    ),
)
