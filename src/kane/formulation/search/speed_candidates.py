"""Candidates for generalized speeds: velocities of bodies in place of the joint speeds that cause them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.formulation.speeds.declared_velocities import ALIGNED_COSINE_TOLERANCE
from kane.formulation.tree.system import System
from kane.geometry.scalars import AXIS_LETTERS, Triple, is_zero
from kane.model.body import Body, Direction, VectorMeasure
from kane.model.connection import Connection


@dataclass(frozen=True)
class Definition:
    """Generalized speed: its name, and a function that returns its expression."""

    name: str
    expression: Callable[[], Expr]


@dataclass(frozen=True)
class SpeedGroup:
    """Definitions that replace some of the joints' own speeds.

    Attributes:
        columns: indices of the replaced speeds.
        definitions: new definitions, one for each column.
        direct: whether these are angular velocities along axes of the body itself.
    """

    columns: tuple[int, ...]
    definitions: tuple[Definition, ...]
    direct: bool = False


def own_speed_definitions(system: System) -> tuple[Definition, ...]:
    """Return the joints' own speeds, in the order of u."""
    return tuple(
        Definition(name, partial(_own, c, place))
        for c in system.speeds.motion
        for place, name in enumerate(c.speed_names)
    )


def _own(connection: Connection, place: int) -> Expr:
    return connection.speeds[place]


def candidates(system: System) -> list[SpeedGroup]:
    """Return candidates for a system in the joints' own speeds: angular velocities, and velocities of mass centres.

    An angular velocity has one measure number if a joint turns the body about a body axis. It has three if three joint
    speeds turn it. Velocities of mass centres are candidates where joints slide.

    Source: Mitiguy & Kane 1996 (velocities in N instead of relative velocities), as in Gillespie 2003, Example 2.
    """
    found: dict[tuple[str, ...], SpeedGroup] = {}
    for link in range(1, len(system.links)):
        for candidate in (*_whole(system, link), *_components(system, link), *_velocities(system, link)):
            found.setdefault(tuple(d.name for d in candidate.definitions), candidate)
    return list(found.values())


def _own_columns(system: System, link: int) -> tuple[list[tuple[int, Triple]], list[tuple[int, Triple]]]:
    """Return the columns of u of a link's joint, with their axes in K: turning speeds, then purely sliding speeds."""
    step, connection = system.steps[link], system.links[link].connection
    turning: list[tuple[int, Triple]] = []
    sliding: list[tuple[int, Triple]] = []
    if connection is not None and connection.speed_names:
        for k, w_u, v_u in zip(system.columns(link), step.w_u, step.v_u, strict=True):
            column = next(iter(system.speeds.C[k]))
            if all(is_zero(x) for x in w_u):
                sliding.append((column, v_u))
            else:
                turning.append((column, w_u))
    return turning, sliding


def _chain(system: System, link: int, kinds: Sequence[int]) -> tuple[int, ...]:
    """Return the three nearest inboard speeds of the given kinds; empty if these are not exactly three speeds."""
    columns: list[int] = []
    while link and len(columns) < 3:
        own = _own_columns(system, link)
        columns = [*(column for kind in kinds for column, _ in own[kind]), *columns]
        link = system.links[link].parent
    return tuple(columns) if len(columns) == 3 else ()


def _whole(system: System, link: int) -> Iterator[SpeedGroup]:
    """Yield w_NB by three measure numbers, along the axes of B and of its neighbours."""
    if not _own_columns(system, link)[0]:
        return
    columns, body = _chain(system, link, (0,)), system.links[link].body
    for frame in _near(system, link) if columns else ():
        yield SpeedGroup(columns, _measures(f"w_N{body.name}", body.angular_velocity, frame), frame is body)


def _near(system: System, link: int) -> list[Body]:
    """Return the bodies of a link, its parent and its children."""
    at = system.links[link]
    return [system.links[i].body for i in dict.fromkeys((link, at.parent, *at.children))]


def _measures(name: str, of: VectorMeasure, frame: Body) -> tuple[Definition, ...]:
    """Return all three measure numbers along the axes of a frame."""
    axes = zip(AXIS_LETTERS, (frame.x, frame.y, frame.z), strict=True)
    return tuple(Definition(f"{name}_{_letter(frame)}_{axis}", partial(of.dot, along)) for axis, along in axes)


def _letter(frame: Body) -> str:
    return frame.name if frame.index else "N"


def _components(system: System, link: int) -> Iterator[SpeedGroup]:
    """Yield w_NB . e for every axis e of B about which its joint turns it."""
    turning, _ = _own_columns(system, link)
    body = system.links[link].body
    # For a parent fixed in N these are the joint's own speeds; _whole covers three axes.
    for column, axis in turning if len(turning) < 3 and system.links[link].parent else ():
        along = _fixed(body, system.steps[link].R_LK.apply(axis))
        if along is not None:
            name = f"w_N{body.name}_{body.name}_{_word(along)}"
            yield SpeedGroup((column,), (Definition(name, partial(body.angular_velocity.dot, along)),), True)


def _fixed(body: Body, axis: Triple) -> Direction | None:
    """Return the direction of an axis fixed in a body, else None; coordinate axes have positive sign."""
    if any(x.__class__ is Expr and not x.is_constant for x in axis):
        return None
    v = np.array([float(x) for x in axis])
    size = np.linalg.norm(v)
    if size < ALIGNED_COSINE_TOLERANCE:
        return None
    v /= size
    largest = int(np.argmax(np.abs(v)))
    if abs(v[largest]) > 1.0 - ALIGNED_COSINE_TOLERANCE:
        return (body.x, body.y, body.z)[largest]
    return body.direction(v.tolist())


def _word(along: Direction) -> str:
    return AXIS_LETTERS[along.components.index(1.0)] if 1.0 in along.components else "axis"


def _velocities(system: System, link: int) -> Iterator[SpeedGroup]:
    """Yield velocities of the mass centre: three measure numbers, or along the directions in which the joint slides."""
    _, sliding = _own_columns(system, link)
    if not sliding:
        return
    body, ground = system.links[link].body, system.links[0].body
    name, velocity = f"v_N{body.name}cm", body.point(body.com).velocity
    own = tuple(column for column, _ in sliding)
    columns = own if len(own) == 3 else _chain(system, link, (0, 1))
    for frame in (body, ground) if columns else ():
        yield SpeedGroup(columns, _measures(name, velocity, frame))
    parent = system.links[link].parent
    frame = system.links[parent].body
    K_to_parent = [system.steps[parent].R_LK.apply(system.steps[link].R.apply(axis)) for _, axis in sliding]
    along = [_fixed(frame, axis) for axis in K_to_parent]
    if len(own) < 3 and all(d is not None for d in along):
        names = [f"{name}_{_letter(frame)}_{_word(d)}" for d in along if d is not None]
        if len(set(names)) == len(names):
            made = (Definition(n, partial(velocity.dot, d)) for n, d in zip(names, along, strict=True) if d is not None)
            yield SpeedGroup(own, tuple(made))
