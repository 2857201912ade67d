"""Equations of motion, immutable: M udot + bias = B inputs, with qdot = kinematics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes as replace_leaves
from kane.formulation.constraints.embedding import (
    Embedding,
    NoConstraints,
    NumericalEmbedding,
    SymbolicEmbedding,
    weighted_sum,
)
from kane.formulation.constraints.intermittent_rows import (
    IntermittentEquations,
    controlled,
    intermittent_equations,
)
from kane.formulation.constraints.rows import Equation, constraint_equations
from kane.formulation.matrix_route import require_bodies
from kane.formulation.parameter_bounds import ParameterBounds
from kane.formulation.read_model import probe_of
from kane.formulation.recursive.applied import Applied, applied_loads
from kane.formulation.route import Route
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.system import System
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR
from kane.model.body import BodyFrame
from kane.model.model import Model

if TYPE_CHECKING:
    from kane.formulation.explicit.partial_velocities import PartialVelocities
    from kane.formulation.quantities.counts import OperationTable
    from kane.formulation.quantities.poses import FixedFrame

# Limits of notebook output: speeds for a table of counts, speeds and characters for the equations as text.
MOST_COUNTED, MOST_WRITTEN, LONGEST_WRITTEN = 60, 4, 4000


@dataclass(frozen=True, eq=False, repr=False)
class Equations:
    """Equations of motion of a model as expressions; the result of ``formulate``.

    Each property is derived on first access, then cached.

    Attributes:
        model: snapshot of the model.
        system: links, speeds and mass parameters that the routes use.
        tree: the bodies as declared, and the loads on them except gravity.
        route_of: constructor of the route that derives these equations.
        parameters, inputs: leaves, in the order of the run-time arrays.
        t: leaf of time.
        defaults: default value of every parameter and input, by name.
        bodies: names of the bodies, the ground first.
        frames: named frames fixed in the bodies.
        coordinate_units, speed_units: unit of each q and of each u.
        neutral: the q at which each joint frame M coincides with its F, (nq,).
        quaternions: index in q of the first entry of each unit quaternion (w, x, y, z).
        constraints: one equation A u + b = 0 for each row of the permanent constraints.
        embedding: elimination of the dependent speeds.
        intermittents: intermittent constraints; none of them is active in these equations.
        touching: whether ``constraints`` ends with the rows of all intermittent constraints, which native code
            activates one by one.
        baked: expressions that replace parameters, by leaf.
        controllers: expressions that replace inputs, by leaf.
        notes: elements that an importer left out, and contacts left out because no speed changes their gap.
        whole: whether these are the equations of the whole model with the substitutions of ``baked`` and
            ``controllers``, so that a digest of these has all that they are derived from. ``replace`` resets it.
    """

    model: Model
    system: System
    tree: BodyTree
    route_of: Callable[[Equations], Route]
    parameters: tuple[Expr, ...]
    inputs: tuple[Expr, ...]
    t: Expr
    defaults: Mapping[str, float]
    bodies: tuple[str, ...]
    frames: Mapping[str, BodyFrame]
    coordinate_units: tuple[str, ...]
    speed_units: tuple[str, ...]
    neutral: tuple[float, ...]
    quaternions: tuple[int, ...]
    constraints: tuple[Equation, ...] = ()
    embedding: Embedding = field(default_factory=NoConstraints)
    intermittents: tuple[IntermittentEquations, ...] = ()
    touching: bool = False
    baked: Mapping[Expr, Expr] = field(default_factory=dict)
    controllers: Mapping[Expr, Expr] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    whole: bool = field(default=False, init=False)

    def of_whole_model(self) -> Equations:
        """Return these equations, marked as those of the whole model."""
        object.__setattr__(self, "whole", True)
        return self

    def __repr__(self) -> str:
        return f"<Equations {self.summary}; {self.route.name} route>"

    def _repr_html_(self) -> str:
        """For notebooks: summary, operation counts, and the equations if they are short."""
        from kane.formulation.quantities.counts import count_programs

        remark = f"; operations {self.embedding.remark}" if self.embedding.remark else ""
        rows = f"<p>Equations {escape(self.summary)}; {escape(self.route.name)} route{escape(remark)}</p>"
        counted = count_programs(self, self.embedding.counted) if len(self.u) <= MOST_COUNTED else None
        table = f"<pre>{escape(repr(counted))}</pre>" if counted else ""
        written = self._repr_latex_()
        return rows + table + (f"<details><summary>equations</summary>{escape(written)}</details>" if written else "")

    def _repr_latex_(self) -> str | None:
        """For notebooks: the equations, if they fit on a page."""
        if len(self.u) > MOST_WRITTEN or self.embedding.numerical:
            return None
        text = self.latex().replace("align*", "aligned").replace("{align}", "{aligned}")
        return f"$$\n{text}\n$$" if len(text) <= LONGEST_WRITTEN else None

    @property
    def summary(self) -> str:
        """Name of the model, and numbers of coordinates, speeds, inputs and constraints, in words."""
        counts = ((self.q, "coordinate"), (self.u, "speed"), (self.inputs, "input"), (self.constraints, "constraint"))
        words = [f"{len(x)} {word}{'s' * (len(x) != 1)}" for x, word in counts if len(x) or word == "speed"]
        return f"of {self.name!r}: {', '.join(words)}"

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    @property
    def q(self) -> tuple[Expr, ...]:
        """Coordinates, nq leaves."""
        return self.system.speeds.q

    @property
    def u(self) -> tuple[Expr, ...]:
        """Generalized speeds, n leaves."""
        return self.system.speeds.u

    @property
    def udot(self) -> tuple[Expr, ...]:
        """Generalized accelerations, n leaves."""
        return self.system.speeds.udot

    @cached_property
    def kinematics(self) -> tuple[Expr, ...]:
        """dq/dt, nq expressions of q, u and t."""
        return self.baked_in(self.system.speeds.kinematics)

    @cached_property
    def mass_matrix(self) -> tuple[tuple[Expr, ...], ...]:
        """M, n x n: M[i][j] and M[j][i] are one node, unless matrices were given that are not symmetric.

        Rows and columns of dependent speeds are zero.
        """
        if self.based is not None:
            return self.based.mass_matrix
        M, n, zero = self.embedding.mass(self.route.mass), len(self.u), self.system.arena.zero
        rows = [[M.get((i, j), M.get((j, i), zero)) for j in range(n)] for i in range(n)]
        flat = self.baked_in([x for row in rows for x in row])
        return tuple(flat[i * n : (i + 1) * n] for i in range(n))

    @cached_property
    def bias(self) -> tuple[Expr, ...]:
        """All terms without udot and inputs, on the left side: velocity terms, gravity, springs, dampers, other forces.

        Zero at dependent speeds.
        """
        if self.based is not None:
            return self.based.bias
        return self.baked_in(self._embedded(self.route.passive, [0.0] * len(self.u)))

    @cached_property
    def inverse(self) -> tuple[Expr, ...]:
        """M udot + bias: the generalized forces that the inputs must supply, n expressions in udot.

        Zero at dependent speeds, whose accelerations follow from the others.
        """
        if self.based is not None:
            return self.based.inverse
        return self.baked_in(self._embedded(self.route.passive, self.udot))

    @cached_property
    def forward(self) -> tuple[Expr, ...]:
        """udot, n expressions that contain the inputs; dependent speeds are included."""
        if self.based is not None:
            natural = zip(self.system.speeds.C, self.based.natural_accelerations, strict=True)
            by_column = {column: x for row, x in natural for column in row}
            return tuple(by_column[j] for j in range(len(self.u)))
        return self.baked_in(self.embedding.forward(self.route))

    @cached_property
    def input_matrix(self) -> tuple[tuple[Expr, ...], ...]:
        """B, n x m, with M udot + bias = B inputs; zero in the rows of dependent speeds.

        Raises:
            ModelError: a load is not linear in the inputs.
        """
        final = [self.baked_in(self.embedding.forces(column)) for column in self.route.input_columns()]
        return tuple(tuple(column[i] for column in final) for i in range(len(self.u)))

    @cached_property
    def coriolis_matrix(self) -> tuple[tuple[Expr, ...], ...]:
        """C, n x n, in q, u and t, with Mdot = C + C^T, so that Mdot - 2 C is skew. C u are velocity terms of the bias.

        C_rs = sum over particles of m v_r . dv_s/dt, with partial velocities v_r. If motions are prescribed as
        functions of time, the bias has further velocity terms. Rows and columns of dependent speeds are zero.

        Raises:
            ModelError: constraints are embedded numerically.
        """
        from kane.formulation.recursive.coriolis import coriolis_matrix

        require_bodies(self, "the Coriolis matrix")
        n, zero = len(self.u), self.system.arena.zero
        rates = dict(zip(self.q, self.system.speeds.kinematics, strict=True)) | {self.t: self.system.arena.one}
        C = self.embedding.coriolis(coriolis_matrix(self.system), self.route.mass, rates)
        flat = self.baked_in([C.get((i, j), zero) for i in range(n) for j in range(n)])
        return tuple(flat[i * n : (i + 1) * n] for i in range(n))

    @cached_property
    def gravity_vector(self) -> tuple[Expr, ...]:
        """Contribution of the weight to the bias, n expressions of q; zero at dependent speeds."""
        from kane.formulation.recursive.coriolis import weight_bias

        require_bodies(self, "the gravity vector")
        return self.baked_in(self.embedding.forces(weight_bias(self.system)))

    def _embedded(self, needed: Callable[[Sequence[Any]], list[Any]], udot: Sequence[Any]) -> list[Any]:
        """Return -(F_r + F*_r) of the independent speeds for their udot, from the forces of all speeds."""
        return self.embedding.forces(needed(self.embedding.accelerations(udot)))

    @property
    def notes_on_embedding(self) -> str:
        """How the constraints are embedded, and why, in words."""
        return self.embedding.note

    @property
    def known_accelerations(self) -> Sequence[Expr]:
        """``forward``, or the leaves udot if constraints are embedded numerically."""
        return self.embedding.known_accelerations(self.udot, lambda: self.forward)

    @cached_property
    def based(self) -> Equations | None:
        """The equations in the speeds in which the constraints were embedded; None if these are the speeds u."""
        if not isinstance(self.embedding, SymbolicEmbedding) or self.embedding.based is None:
            return None
        system, embedding = self.embedding.based
        return replace(self, system=system, embedding=embedding, constraints=())

    @property
    def natural_accelerations(self) -> tuple[Expr, ...]:
        """wdot, the derivatives of the joints' natural speeds."""
        speeds = self.system.speeds
        changes = [weighted_sum(row, self.forward, rest) for row, rest in zip(speeds.C, speeds.a_t, strict=True)]
        return self.baked_in(changes)

    @cached_property
    def unconstrained(self) -> Equations:
        """The equations before constraints are embedded: all speeds are independent."""
        return replace(self, constraints=(), embedding=NoConstraints())

    @cached_property
    def with_intermittent_rows(self) -> Equations:
        """The equations with the rows of all intermittent constraints after the permanent rows, embedded numerically.

        Native code selects the active rows, and solves for the motion of all speeds by their mass matrix.
        """
        from kane.formulation.tree.cuts import sharing_inertia

        rows = (*self.constraints, *(row for c in self.intermittents for row in c.rows))
        system = sharing_inertia(self.system, self.model)
        return replace(self, system=system, constraints=rows, embedding=NumericalEmbedding(self.name), touching=True)

    @property
    def permanent(self) -> tuple[Equation, ...]:
        """The rows that are always active, which are the first of ``constraints``."""
        return self.constraints[: len(self.constraints) - sum(len(c.rows) for c in self.intermittents) * self.touching]

    @cached_property
    def intermittent_places(self) -> list[slice]:
        """Slices of ``constraints`` with the rows of each intermittent constraint; see ``with_intermittent_rows``."""
        ends = accumulate((len(c.rows) for c in self.intermittents), initial=len(self.permanent))
        return [slice(*pair) for pair in pairwise(ends)]

    @cached_property
    def own(self) -> Equations:
        """The equations in the joints' own speeds, without embedding; projections move coordinates in these speeds."""
        system, rows, intermittents = self.system.own, self.constraints, self.intermittents
        if system is not None:
            probe = probe_of(self.model)
            rows = constraint_equations(self.model.constraints, system, probe)
            # Projections read no signs of switches, and controllers may contain speeds that are unknown here.
            unread = dict.fromkeys(self.controllers, self.t.arena.zero)
            known = intermittent_equations(self.model.intermittents, self.model.constraints, system, probe)
            intermittents = controlled(known, unread)
            if self.touching:
                rows = (*rows, *(row for c in intermittents for row in c.rows))
        embedding = NumericalEmbedding(self.name) if rows else NoConstraints()
        own = system or self.system
        return replace(self, system=own, constraints=rows, intermittents=intermittents, embedding=embedding)

    @property
    def closing(self) -> tuple[Equation, ...]:
        """The constraints that restrict the configuration, in the joints' own speeds."""
        return tuple(row for row in self.own.constraints if row.configuration is not None)

    @property
    def held(self) -> tuple[Equation, ...]:
        """Rows of intermittent constraints that hold an integral at a constant value, in the joints' own speeds."""
        return tuple(row for row in self.own.constraints if row.integral is not None)

    @property
    def fails_where(self) -> tuple[Expr, ...]:
        """Divisors: where one of these expressions vanishes, the generalized or dependent speeds are singular."""
        return (*self.system.fails_where, *self.embedding.fails_where)

    def count(self) -> OperationTable:
        """Count the run-time operations of inverse and forward dynamics, mass matrix, bias and kinematics, exactly."""
        from kane.formulation.quantities.counts import count_programs

        return count_programs(self)

    def partial_velocities(self) -> PartialVelocities:
        """Return partial velocities of bodies and points, and F_r and F*_r by body and load, as printable tables."""
        from kane.formulation.explicit.partial_velocities import partial_velocities

        require_bodies(self, "the table of partial velocities")
        return partial_velocities(self.name, self.system, self.tree, self.baked_in)

    def listing(
        self, name: str = "rhs", *, digits: int = 12, names: Mapping[str, str] | None = None, columns: int = 1
    ) -> str:
        """Return a program as text: Z1 = ..., Z2 = ..., then its outputs, which are qdot and udot for "rhs".

        Args:
            name: name of the program.
            digits: significant digits of constants; long decimals that are short fractions are written as fractions.
            names: other names of coordinates, speeds, inputs and parameters; the names of derivatives follow.
            columns: equations in a line.

        Raises:
            ModelError: an option is unknown or out of range, or the program has no expressions.
        """
        from kane.formulation.quantities.written import written_listing

        return written_listing(self, name, (digits, {} if names is None else names, columns))

    def latex(
        self, name: str = "rhs", *, digits: int = 12, symbols: Mapping[str, str] | None = None, columns: int = 1
    ) -> str:
        """Return a program as a LaTeX align environment.

        Options as for ``listing``; ``symbols`` has LaTeX, such as {"q1": r"\\theta"}, which makes q1' a dotted theta.
        """
        from kane.formulation.quantities.written import written_latex

        return written_latex(self, name, (digits, {} if symbols is None else symbols, columns))

    @cached_property
    def applied(self) -> Applied:
        """The loads on the links and along the joints, in q, u, t, parameters and inputs."""
        return applied_loads(self.tree.effects, self.system)

    @cached_property
    def posed(self) -> dict[str, FixedFrame]:
        """Frames by name: the frames of all bodies except the ground, then the named frames."""
        from kane.formulation.quantities.poses import FixedFrame

        bodies = {name: FixedFrame(k, ZERO_VECTOR, Rotation.identity()) for k, name in enumerate(self.bodies) if k}
        return bodies | {name: FixedFrame(f.body.index, f.position, f.orientation) for name, f in self.frames.items()}

    @cached_property
    def route(self) -> Route:
        """The route (recursive or explicit) that derives M, bias and udot."""
        return self.route_of(self)

    @cached_property
    def parameter_bounds(self) -> ParameterBounds:
        """The model's requirements on the values of the remaining parameters."""
        written = [replace(r, expressions=self.baked_in(r.expressions)) for r in self.model.requirements]
        return ParameterBounds(written, self.parameters, self.defaults)

    def baked_in(self, expressions: Any) -> tuple[Expr, ...]:
        """Return expressions with dependent speeds and substituted parameters replaced."""
        lifted = [self.system.arena.lift(x) for x in expressions]
        if self.embedding.u:
            lifted = replace_leaves(lifted, {**self.embedding.u, **self.embedding.udot})
        return tuple(replace_leaves(lifted, self.baked) if self.baked else lifted)
