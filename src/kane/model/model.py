"""The model: everything that the user declares. It may grow; everything derived from it is frozen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kane.errors import ModelError, shown
from kane.expression.arena import Arena
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import require, text
from kane.expression.operations import COORDINATE, INPUT, OPERATIONS, PARAMETER, RATE, TIME
from kane.model.body import Body, BodyFrame, own_body
from kane.model.checks import require_known, require_word
from kane.model.connection import Connection, fixed_pose, joint_symbols, require_tree, title_of
from kane.model.constraints import Constraint, Row
from kane.model.contacts import IntermittentConstraint
from kane.model.contacts.declarations import IntermittentDeclarations
from kane.model.joints.joint import Joint
from kane.model.loads.load import Load
from kane.model.mass_properties import DEFAULT_ORIGIN, checked_mass_properties
from kane.model.requirements import Requirement
from kane.model.unit_text import read_unit

if TYPE_CHECKING:
    from kane.model.constraints.constraint import Imposed
    from kane.model.shapes.shape import Shape


class Model(IntermittentDeclarations):
    """Bodies, joints, loads and constraints, in SI units.

    Args:
        name: for titles and files.
        gravity: acceleration of free fall, measure numbers in the ground's frame N [m/s^2].

    Attributes:
        ground: the body fixed in N.
        bodies, connections, loads, constraints: all declared ones, in order; ``bodies[0]`` is the ground.
        intermittents: intermittent constraints (contacts, stops, latches, sticking joints, switches), in order.
        cuts: connections that close loops. Their children are massless frames M, welded by constraints to the bodies at
            which the loops close.
        speed_choice: definitions of generalized speeds, and the selection of dependent speeds.
        parameters, inputs: name to default value.
        units: name of a parameter or input to its unit, if declared.
        frames: named frames fixed in bodies.
        shapes: shapes of the bodies, see ``Body.shape``.
        coordinate_order: names of the coordinates that come first in q.
        notes: messages about features that an importer left out.
        requirements: conditions on masses, lengths and coefficients that are expressions of parameters; checked
            whenever parameter values are given.
    """

    def __init__(self, name: str = "model", gravity: Sequence[Scalar] = (0.0, 0.0, -9.81)) -> None:
        from kane.model.speed_choice import SpeedChoice

        self.name = text(name, 'the name of a model (gravity is a keyword: kane.Model("arm", gravity=(0, 0, -9.81)))')
        self.arena = Arena()
        self.parameters: dict[str, float] = {}
        self.inputs: dict[str, float] = {}
        self.units: dict[str, str] = {}
        self._lines = {}
        none = (DEFAULT_ORIGIN, DEFAULT_ORIGIN, DEFAULT_ORIGIN)
        self.bodies: list[Body] = [Body(self, "ground", 0, 0.0, DEFAULT_ORIGIN, none)]
        self.connections: list[Connection] = []
        self.loads: list[Load] = []
        self.constraints: list[Imposed] = []
        self.intermittents: list[IntermittentConstraint] = []
        self.cuts: list[Connection] = []
        self.speed_choice = SpeedChoice({}, ())
        self.frames: dict[str, BodyFrame] = {}
        self.shapes: list[Shape] = []
        self.notes: list[str] = []
        self.requirements: list[Requirement] = []
        self.coordinate_order: tuple[str, ...] = ()
        self._symbols = {"t"}  # names of time, parameters, inputs, coordinates and speeds
        self._parents: dict[Body, Body] = {}
        self.gravity = gravity

    @property
    def time(self) -> Expr:
        """The leaf t [s]."""
        return self.arena.leaf(TIME, "t")

    def parameter(self, name: str, default: float, *, unit: str | None = None) -> Expr:
        """Add a parameter: a symbol with a default value, changed at run time without new derivation or compilation.

        Args:
            name: unique among parameters, inputs, coordinates and speeds.
            default: its value.
            unit: SI unit such as "N s/m", for displays and ``kane.units``, which infers other units.

        Raises:
            ModelError: the name is taken or is not a word, the default is not a finite number, or the unit is no SI
                unit.
        """
        return self._symbol(PARAMETER, self.parameters, name, default, unit)

    def input(self, name: str, default: float = 0.0, *, unit: str | None = None) -> Expr:
        """Add a run-time input, such as a motor torque, a thrust or a reference, with its default value.

        Raises:
            ModelError: as ``parameter``, which explains ``unit``.
        """
        return self._symbol(INPUT, self.inputs, name, default, unit)

    def _symbol(self, kind: int, table: dict[str, float], name: str, default: float, unit: str | None) -> Expr:
        self._require_new_symbol(name)
        value = self.scalar(default, f"the default of {name!r}")
        if isinstance(value, Expr):
            raise ModelError(f"the default of {name!r} must be a number, not the expression {shown(value)}")
        if unit is not None:
            read_unit(unit, f"the unit of {name!r}")
            self.units[name] = unit
        table[name] = value
        self._symbols.add(name)
        self.note_line(OPERATIONS[kind].name, name)
        return self.arena.leaf(kind, name)

    def _require_new_symbol(self, name: str) -> None:
        require_word(name)
        if name in self._symbols:
            raise ModelError(
                f"the name {name!r} is already taken by time, a parameter, input, coordinate or speed of this model; "
                "give another"
            )

    def body(
        self,
        name: str,
        *,
        mass: Scalar,
        inertia: Sequence[Any] = DEFAULT_ORIGIN,
        com: Sequence[Scalar] = DEFAULT_ORIGIN,
        moments: tuple[Sequence[Scalar], Sequence[Any]] | None = None,
    ) -> Body:
        """Add a rigid body B.

        Args:
            name: unique among bodies and frames.
            mass: m [kg], not negative.
            inertia: central inertia in body axes [kg m^2]: 3 principal moments, or xx yy zz xy xz yz, or 3 x 3.
            com: mass centre p_BoBcm_B [m].
            moments: instead of inertia and com: first moment m p_BoBcm_B [kg m] and inertia about the origin Bo
                [kg m^2]. The equations of motion are linear in these and the mass.

        Raises:
            ModelError: the name is taken; mass, inertia or com are not physical or not finite (the message offers the
                nearest valid inertia).
        """
        self._require_new_place(name)
        properties = checked_mass_properties(self, f"body {name!r}", mass, (inertia, com), moments)
        body = Body(self, name, len(self.bodies), *properties)
        self.bodies.append(body)
        self.note_line("body", name)
        return body

    def connect(
        self,
        parent: Body | str,
        child: Body | str,
        joint: Joint,
        *,
        at: Sequence[Scalar] = DEFAULT_ORIGIN,
        orientation: Any = None,
        child_at: Sequence[Scalar] = DEFAULT_ORIGIN,
        child_orientation: Any = None,
        name: str | None = None,
    ) -> Connection:
        """Connect two bodies by a joint.

        Args:
            parent, child: bodies of this model or their names (the ground is "ground"); a child has one parent.
            joint: kind of the joint, with coordinate name and axis.
            at: position p_PF_P of the joint frame F in the parent [m].
            orientation: R_PF of F in the parent: a kane.Rotation, a 3 x 3 matrix, or a unit quaternion (w, x, y, z).
            child_at, child_orientation: pose of the joint frame M in the child: p_CM_C [m], R_CM.
            name: of the joint; by default the name of its coordinate.

        Raises:
            ModelError: bodies or a coordinate expression of another model, a second parent, a loop, or a name that is
                taken.
        """
        parent, child = own_body(self, parent), own_body(self, child)
        require_tree(parent, child, self._parents)
        if not isinstance(joint, Joint):
            raise ModelError(f'{shown(joint)} is not a joint; give one such as kane.Revolute("q1", axis="z")')
        joint = self.read(joint)
        label, title = joint.label, title_of(joint, parent, child, name)
        if any(title == c.name for c in self.connections):
            raise ModelError(f"there is already a joint named {title!r}; give another name=")
        pose_on_parent = fixed_pose(self, at, orientation, f"joint {title!r} on {parent.name!r}")
        pose_on_child = fixed_pose(self, child_at, child_orientation, f"joint {title!r} on {child.name!r}")
        names = joint_symbols(self.arena, joint, title)
        for symbol in (*names[0], *names[1]):
            self._require_new_symbol(symbol)
        if isinstance(label, Expr):
            coordinates: tuple[Expr, ...] = (label,)
        else:
            coordinates = tuple(self.arena.leaf(COORDINATE, c) for c in names[0])
        defaults = {self.arena.leaf(PARAMETER, p): value for p, value in self.parameters.items()}
        joint.check(coordinates, defaults, f"joint {title!r}")
        connection = Connection(title, parent, child, joint, *pose_on_parent, *pose_on_child, coordinates, *names)
        self.connections.append(connection)
        self._symbols.update(*names)
        self._parents[child] = parent
        self.note_line("joint", title)
        return connection

    def close(
        self,
        parent: Body | str,
        child: Body | str,
        joint: Joint,
        *,
        at: Sequence[Scalar] = DEFAULT_ORIGIN,
        orientation: Any = None,
        child_at: Sequence[Scalar] = DEFAULT_ORIGIN,
        child_orientation: Any = None,
        name: str | None = None,
    ) -> Connection:
        """Close a loop with a joint of any kind between two bodies that are already connected to the ground.

        Arguments as for ``connect``. The joint has coordinates and speeds like any other, and carries motors, springs
        and dampers. Its frame M, a massless body named after the joint, is welded to the child by six constraints. If
        other joints imply some of them, ``formulate`` treats these as redundant.

        Raises:
            ModelError: as ``connect``.
        """
        from kane.model.constraints.welded import Welded

        parent, child = own_body(self, parent), own_body(self, child)
        title = title_of(joint, parent, child, name)
        pose = fixed_pose(self, child_at, child_orientation, f"joint {title!r} on {child.name!r}")
        frame = self.body(f"{title}_M", mass=0.0)
        try:
            cut = self.connect(parent, frame, joint, at=at, orientation=orientation, name=title)
        except ModelError:
            self.bodies.remove(frame)
            raise
        self.cuts.append(cut)
        self.constrain(Welded(frame, child, *pose, axes=parent), name=f"closure of {title}")
        return cut

    def constrain(self, constraint: Constraint | Expr, *, name: str | None = None) -> Imposed:
        """Impose a constraint: a Constraint such as kane.Rolling(...), or an expression that must vanish.

        An expression that contains rates, velocities or angular velocities is a motion constraint; it need not be
        integrable. An expression of coordinates, positions, directions and time is a configuration constraint.

        Args:
            constraint: the constraint or the expression.
            name: for messages, residuals and reactions; unique.

        Raises:
            ModelError: a name that is taken, an expression of another model, or one that restricts nothing.
        """
        from kane.model.constraints.constraint import Imposed, row_from_expression

        usual = constraint.title if isinstance(constraint, Constraint) else "constraint"
        title = self._free_title(usual) if name is None else name
        require_word(title)
        if isinstance(constraint, Constraint):
            rows = tuple(self.read(constraint).rows())
            for row in rows:
                require(row, Row, f"rows of the constraint {title!r} are kane.Row")
        else:
            expression = self.scalar(constraint, f"the constraint {title!r}")
            if not isinstance(expression, Expr):
                raise ModelError(f"the constraint {title!r} is the number {shown(expression)}; give an expression")
            rows = (row_from_expression(expression, title),)
        if title in self._taken():
            raise ModelError(f"there is already a constraint named {title!r}; give another name=")
        for expression in (x for row in rows for x in (row.configuration, row.motion) if x is not None):
            self.scalar(expression, f"the constraint {title!r}")
        imposed = Imposed(title, rows)
        self.constraints.append(imposed)
        self.note_line("constraint", title)
        return imposed

    def speeds(self, *, dependent: Sequence[str] = (), **definitions: Scalar) -> None:
        """Choose the generalized speeds: u_r = sum Y_rs qdot_s + Z_r.

        Args:
            dependent: names of the speeds that follow from the others by the motion constraints; by default selected at
                each state.
            definitions: expressions by name, linear in the rates of coordinates: ``joint.qdot``, ``joint.speeds``,
                measure numbers such as ``B.angular_velocity.dot(B.x)`` and ``P.velocity.dot(A.y)``, and mixtures. u has
                the same order. Without definitions the joints' own speeds stay. There may be fewer definitions than
                rates if the motion constraints determine the rest.

        Raises:
            ModelError: a name that is taken, a definition without rates, or one of another model.

        Source: Kane & Levinson 1983, Eq. 1; Gillespie 2003, Eqs. 1-2, 51-57, 60.
        """
        from kane.model.speed_choice import checked_choice

        taken = self._symbols - {n for c in self.connections for n in c.speed_names}
        given = {name: self.scalar(x, f"the speed {name!r}") for name, x in definitions.items()}
        for name, x in given.items():
            require_word(name)
            if not isinstance(x, Expr):
                raise ModelError(f"the speed {name!r} is the number {shown(x)}; give an expression of rates")
        self.speed_choice = checked_choice(given, dependent, taken)  # type: ignore[arg-type]
        for name in given:
            self.note_line("speed", name)

    def load(self, load: Load) -> Load:
        """Add a load and check it.

        Raises:
            ModelError: not a load, or one whose joints or bodies belong to another model.
        """
        if not isinstance(load, Load):
            raise ModelError(f"{shown(load)} is not a load; give one such as kane.Motor(joint, effort)")
        load = self.read(load)
        effect = load.effect()
        for along, _ in effect.efforts:
            self._require_own(along.connection.child, f"joint {along.connection.name!r}")
        for wrench in effect.wrenches:
            for body in (wrench.point.body, wrench.expressed_in):
                self._require_own(body, f"body {body.name!r}")
        self.note_line("load", len(self.loads))
        self.loads.append(load)
        return load

    def __repr__(self) -> str:
        from kane.model.picture.drawing import summary

        return summary(self)

    def __str__(self) -> str:
        from kane.model.picture.drawing import graph_text

        return graph_text(self)

    def _repr_html_(self) -> str:
        from kane.model.picture.drawing import html

        return html(self)

    def frame(
        self, name: str, body: Body | str, *, at: Sequence[Scalar] = DEFAULT_ORIGIN, orientation: Any = None
    ) -> BodyFrame:
        """Name a frame fixed in a body: a tool, a sensor, or a link that was lumped with the body.

        Args:
            name: unique among bodies and frames.
            body: the body B or its name.
            at, orientation: pose of the frame P in B: p_BoP_B [m], R_BP; the body frame by default.

        Raises:
            ModelError: the name is taken, or the body or the pose is not valid.
        """
        self._require_new_place(name)
        made = BodyFrame(own_body(self, body), *fixed_pose(self, at, orientation, f"frame {name!r}"))
        self.frames[name] = made
        self.note_line("frame", name)
        return made

    def _require_new_place(self, name: str) -> None:
        require_word(name)
        if name in self.frames or any(name == b.name for b in self.bodies):
            raise ModelError(f"there is already a body or frame named {name!r}; give another name")

    def _require_own(self, body: Body, what: str) -> None:
        if body.model is not self:
            raise ModelError(f"{what} belongs to another model, {body.model.name!r}; build everything with one model")

    def coordinates(self, *names: str) -> None:
        """Put the named coordinates first in q, in this order; the others follow in the order of ``connect``.

        Raises:
            ModelError: an unknown coordinate, or one that is named twice.
        """
        known = [n for c in self.connections for n in c.coordinate_names]
        for n in names:
            require_known(n, known, "coordinate")
        if len(set(names)) != len(names):
            raise ModelError(f"a coordinate is named twice in {names}; name each once")
        self.coordinate_order = names

    @property
    def ordered_connections(self) -> list[Connection]:
        """The connections, in the order of their coordinates in q."""
        place = {n: i for i, n in enumerate(self.coordinate_order)}
        late = len(place)

        def first(connection: Connection) -> int:
            return min((place.get(n, late) for n in connection.coordinate_names), default=late)

        return sorted(self.connections, key=first)

    def rate(self, coordinate: str) -> Expr:
        """Return the leaf dq/dt of a coordinate."""
        require_word(coordinate)
        return self.arena.leaf(RATE, coordinate)
