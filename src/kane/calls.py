"""Errors for wrong calls and unknown names: each message names the argument and the cure.

``guided`` wraps each exported function or class at its first use. A correct call costs one more stack frame; methods
that are called at every state are not wrapped.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kane.errors import CallError, UnknownNameError, list_names, shown

# Keywords of other libraries and the corresponding keywords of kane; messages offer the first accepted keyword.
KEYWORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("method", "solver", "scheme", "rtol", "atol", "max_step"), ("integrator",)),
    **dict.fromkeys(("t_span", "tspan", "t_end", "tf", "tmax", "t_final", "duration", "T", "stop"), ("until",)),
    **dict.fromkeys(("t_eval", "ts", "teval", "frames_per_sec"), ("times",)),
    **dict.fromkeys(("t0", "start_time"), ("start",)),
    **dict.fromkeys(("h", "step", "timestep", "time_step", "step_size"), ("dt",)),
    **dict.fromkeys(("x0", "y0", "initial_conditions", "q0", "qpos", "theta", "initial_state"), ("q",)),
    **dict.fromkeys(("u0", "v0", "qd", "qdot", "qvel", "v", "qd0", "velocity"), ("u",)),
    **dict.fromkeys(("a", "qdd", "qddot", "qacc", "acceleration"), ("udot",)),
    **dict.fromkeys(("tau", "ctrl", "control", "controller", "forces", "torque", "input", "specifieds"), ("inputs",)),
    **dict.fromkeys(("args", "params", "constants", "parameter", "p"), ("parameters",)),
    **dict.fromkeys(("m", "weight"), ("mass",)),
    **dict.fromkeys(("I", "J", "inertias", "central_inertia", "inertia_matrix", "moments_of_inertia"), ("inertia",)),
    **dict.fromkeys(("cog", "cm", "center_of_mass", "mass_center", "masscenter", "center"), ("com", "centre")),
    **dict.fromkeys(("pos", "position", "xyz", "origin", "offset", "location", "parent_point"), ("at",)),
    **dict.fromkeys(("child_pos", "child_point"), ("child_at",)),
    **dict.fromkeys(("rpy", "quat", "rotation", "R", "parent_interframe"), ("orientation",)),
    **dict.fromkeys(("r", "rad", "size"), ("radius",)),
    **dict.fromkeys(("k", "spring_constant", "c", "d", "damping", "linear"), ("stiffness", "damping", "coefficient")),
    **dict.fromkeys(("e", "cor", "bounce"), ("restitution",)),
    **dict.fromkeys(("mu", "mu_s", "static_friction"), ("friction", "static")),
    **dict.fromkeys(("mu_k", "dynamic_friction", "kinetic_friction"), ("kinetic",)),
    **dict.fromkeys(("g",), ("gravity",)),
    **dict.fromkeys(("limits", "range", "lower_limit", "min"), ("lower",)),
    **dict.fromkeys(("upper_limit", "max"), ("upper",)),
    **dict.fromkeys(("direction", "joint_axis"), ("axis",)),
    **dict.fromkeys(("file", "filename", "fname"), ("path", "source")),
}
BODY_CALL, JOINT_CALL = (
    'model.body("name", mass=1.0, inertia=(1, 1, 1))',
    'model.connect(parent, child, kane.{}("q1", axis="z"))',
)
# Names in other libraries and the corresponding calls of kane.
FOREIGN_NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("RigidBody", "Body", "Particle", "Link", "RigidBodyTree", "add_body", "addBody", "AddRigidBody"), BODY_CALL
    ),
    **dict.fromkeys(("System", "MultibodyPlant", "MjModel", "World", "Robot", "ReferenceFrame"), 'kane.Model("name")'),
    **dict.fromkeys(
        ("KanesMethod", "LagrangesMethod", "kanes_equations", "derive", "form_eoms"), "kane.formulate(model)"
    ),
    **dict.fromkeys(("dynamicsymbols",), 'kane.Revolute("q1", axis="z"), which names a coordinate'),
    **dict.fromkeys(("symbols", "add_parameter"), 'model.parameter("L", 0.5), or model.input("tau")'),
    **dict.fromkeys(
        ("add_input", "add_actuator", "AddJointActuator"), 'model.input("tau"), and a kane.Motor(joint, tau)'
    ),
    **dict.fromkeys(("PinJoint", "HingeJoint", "RevoluteJoint", "Hinge"), JOINT_CALL.format("Revolute")),
    **dict.fromkeys(("SliderJoint", "PrismaticJoint", "Slider", "Slide"), JOINT_CALL.format("Prismatic")),
    **dict.fromkeys(("add_joint", "addJoint", "AddJoint", "joint"), JOINT_CALL.format("Revolute")),
    **dict.fromkeys(("BallJoint", "SphericalJoint", "Ball"), 'kane.Spherical("ball")'),
    **dict.fromkeys(("FreeJoint", "Floating", "FreeFlyer", "SixDof"), 'kane.Free("base")'),
    **dict.fromkeys(("WeldJoint", "Fixed", "FixedJoint"), "kane.Weld()"),
    **dict.fromkeys(
        ("odeint", "solve_ivp", "integrate", "solve", "Simulator", "run", "mj_step", "ode"),
        "kane.simulate(dyn, until=10)",
    ),
    **dict.fromkeys(("compile", "generate_ode_function"), "kane.build(kane.formulate(model))"),
    **dict.fromkeys(
        ("loadURDF", "buildModelFromUrdf", "from_urdf", "Parser", "read_urdf"), 'kane.load_urdf("robot.urdf")'
    ),
    **dict.fromkeys(("from_xml_path", "load_xml", "load_mujoco"), 'kane.load_mjcf("robot.xml")'),
    **dict.fromkeys(("rnea", "inverse_dynamics", "ID"), "dyn.inverse(q, u, udot)"),
    **dict.fromkeys(("aba", "forward_dynamics", "FD"), "dyn.forward(q, u, inputs)"),
    **dict.fromkeys(("crba", "mass_matrix_full"), "dyn.mass_matrix(q)"),
    **dict.fromkeys(("forward_kinematics", "forwardKinematics", "fk"), "dyn.poses(q)"),
    **dict.fromkeys(
        ("add_force", "apply_force", "add_load", "add_spring"),
        "model.load(kane.Force(...)), or kane.Motor, kane.Spring, kane.Damper",
    ),
    **dict.fromkeys(("add_constraint", "add_contact"), "model.constrain(...), or model.contact(...)"),
    **dict.fromkeys(("RK45", "DOP853", "Dopri5", "RungeKutta"), "kane.RK5(), or kane.RK8()"),
    **dict.fromkeys(("Radau", "LSODA", "CVODE"), "kane.BDF()"),
    **dict.fromkeys(("pi",), "numpy.pi"),
    **dict.fromkeys(("t",), "model.time, or run.time"),
    **dict.fromkeys(("y", "x", "state", "states"), "run.q and run.u"),
    **dict.fromkeys(("to_csv", "to_numpy", "to_dataframe"), "run.to_pandas(), or run.to_xarray()"),
}
STEP_SIZE_CURE = "give the step to kane.simulate(dyn, until=10, integrator=..., dt=0.01)"
# Advice for calls with arguments that belong to another call.
MISPLACED_ARGUMENT_CURES: Mapping[str, str] = {
    **dict.fromkeys(("RK4", "Gauss4", "Midpoint", "MoreauJean"), STEP_SIZE_CURE),
    "Stepper": "give the length of a step to its method: stepper.step(0.01)",
}
# Classes whose methods are not wrapped, because they are called at every state, or many times for each node.
QUICK = ("Dynamics", "Stepper", "Derivatives", "Rotation")
UNPREPARED_CLASSES = ("Expr",)


def guided(exported: Any) -> Any:
    """Return an exported function or class that raises errors of kane for wrong calls."""
    if inspect.isfunction(exported):
        made = _answering(exported, exported.__name__)
        made.__module__ = "kane"
        return made
    if isinstance(exported, type):
        _prepare_family(exported)
    return exported


def _prepare_family(exported: type) -> None:
    """Prepare a class and its base classes that belong to kane."""
    for known in reversed(exported.__mro__):
        own = known.__module__.startswith("kane.") and not issubclass(known, BaseException)
        if own and "_guided" not in vars(known) and known.__name__ not in UNPREPARED_CLASSES:
            _prepare(known, exported.__name__ in QUICK)


def _prepare(known: type, quick: bool) -> None:
    """Wrap the constructor and public methods of a class, and add the error for unknown attributes."""
    known._guided = True  # type: ignore[attr-defined]
    for name, method in list(vars(known).items()):
        public = not name.startswith("_") and not quick
        if inspect.isfunction(method) and (name == "__init__" or public):
            title = f"{known.__name__}.{name}"
            setattr(known, name, _answering(method, title, bound=True))
    if not hasattr(known, "__getattr__") and not quick:  # it adds 30 ns to each attribute access
        known.__getattr__ = _missing  # type: ignore[attr-defined]


def _answering(function: Callable[..., Any], title: str, *, bound: bool = False) -> Callable[..., Any]:
    """Wrap a function so that wrong arguments raise ``CallError``, and prepare the classes that it returns."""
    named = re.findall(r"\w+", str(function.__annotations__.get("return", "")))
    for word in named:
        returned = function.__globals__.get(word)
        if isinstance(returned, type):
            _prepare_family(returned)
    unknown = any(word not in function.__globals__ and not hasattr(builtins, word) for word in named)

    @functools.wraps(function)
    def answering(*args: Any, **kwargs: Any) -> Any:
        try:
            found = function(*args, **kwargs)
            return _prepared(found) if unknown else found
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # the error comes from inside the function
            name = title
            if bound and args:  # the class of the object, which may inherit the method
                method = title.rpartition(".")[2]
                name = type(args[0]).__name__ + ("" if method == "__init__" else f".{method}")
            wrong = _misfit(inspect.signature(function), name, args[bound:], kwargs, bound)
            if wrong is None:
                raise
            raise CallError(f"{wrong}{_described(name, function)}") from None

    return answering


def _prepared(found: Any) -> Any:
    """Return a result after its class was prepared, or the classes in a tuple; the function imports them."""
    for kind in set(map(type, found if type(found) in (tuple, list) else (found,))):
        if kind.__module__.startswith("kane.") and "_guided" not in vars(kind):
            _prepare_family(kind)
    return found


def _misfit(
    signature: inspect.Signature, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], bound: bool
) -> str | None:
    """Describe the first argument that does not fit, with the cure; None if all arguments fit."""
    taken = list(signature.parameters.values())[bound:]
    in_order = [p.name for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p.name for p in taken if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [word for word in kwargs if word not in named]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in taken):
        return f"{name}() takes no {unknown[0]}=; {_keyword(unknown[0], named)}"
    surplus = args[len(in_order) :]
    if surplus and not any(p.kind is p.VAR_POSITIONAL for p in taken):
        left = [word for word in named if word not in in_order and word not in kwargs]
        count = f"{len(in_order) or 'no'} argument{'s' * (len(in_order) != 1)} without a name"
        which = f" ({', '.join(in_order)})" if in_order else ""
        cure = f"name the others, such as {left[0]}={shown(surplus[0])}" if left else "leave the others out"
        return f"{name}() takes {count}{which}, not {len(args)}; {cure}"
    twice = [word for word in in_order[: len(args)] if word in kwargs]
    if twice:
        return f"{name}() is given {twice[0]} by position and by name; leave one of them out"
    given = {*in_order[: len(args)], *kwargs}
    missing = [p.name for p in taken if p.default is p.empty and p.name in {*in_order, *named} - given]
    return f"{name}() needs {', '.join(missing)}; give {missing[0]}=" if missing else None


def _keyword(word: str, named: Sequence[str]) -> str:
    """Return advice that names the keyword meant by an unknown one, or lists the accepted keywords."""
    meant = [known for known in KEYWORDS.get(word, ()) if known in named] or _near(word, named)
    if meant:
        return f"did you mean {meant[0]}=?"
    return f"it takes {list_names([f'{known}=' for known in named])}" if named else "it takes nothing"


def _described(name: str, function: Callable[..., Any]) -> str:
    """Return the end of a message about arguments that belong to another call."""
    return f"; {MISPLACED_ARGUMENT_CURES[name]}" if name in MISPLACED_ARGUMENT_CURES else ""


def missing_name(owner: str, name: str, known: Iterable[str], prefix: str = "") -> UnknownNameError:
    """Return the error for an unknown name, with similar names or the call of kane for a name of another library."""
    near = [f"{prefix}{word}" for word in _near(name, known)]
    cure = FOREIGN_NAMES.get(name) or (f"{' or '.join(near)}" if near else "")
    advice = f"did you mean {cure}?" if cure else f"dir({owner.split()[-1].strip(chr(39)).lower()}) lists its names"
    return UnknownNameError(f"{owner} has no attribute {name!r}; {advice}")


def _missing(self: Any, name: str) -> Any:
    """Raise the error for a missing attribute; serves as ``__getattr__`` of the prepared classes."""
    kind = type(self)
    if name.startswith("_"):
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
    if any(name in vars(known) for known in kind.__mro__):
        return object.__getattribute__(self, name)  # a property failed; evaluating it again raises its own error
    raise missing_name(f"a {kind.__name__}", name, [word for word in dir(kind) if not word.startswith("_")])


def _near(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three similar names, nearest first; case and underscores do not count."""
    import difflib  # needed for errors only

    plain: dict[str, str] = {}
    for word in known:
        plain.setdefault(_plain(word), word)
    found = difflib.get_close_matches(_plain(name), plain, n=3, cutoff=0.75)
    return [plain[word] for word in found]


def _plain(name: str) -> str:
    return re.sub(r"_", "", name).lower()
