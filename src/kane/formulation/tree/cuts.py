"""Loops closed by a joint: the massless frame M at the cut receives part of the inertia of the body welded to it."""

from __future__ import annotations

from dataclasses import replace

from kane.formulation.tree.links import Link
from kane.formulation.tree.mass_parameters import mass_parameters
from kane.formulation.tree.spatial import ZERO_SIX, minus, plus, shifted_moment
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, is_zero, scaled
from kane.model.connection import Connection
from kane.model.constraints.welded import WeldedPose, welded_pose
from kane.model.model import Model

# Fraction of the welded body's mass and moments that the frame M receives.
CUT_MASS_FRACTION = 0.5


def sharing_inertia(system: System, model: Model) -> System:
    """Return the system in which the frame M of each joint that closes a loop has half of the welded body's inertia.

    Both move as one body while the loop is closed, so that the motion is the same; only the forces in the weld differ.
    Without this inertia, the mass matrix of all speeds (of the open loops) is singular, because only M moves with the
    joint.
    """
    if not model.cuts:
        return system
    links, closures = [*system.links], {imposed.name: imposed.rows for imposed in model.constraints}
    for cut in model.cuts:
        if cut.joint.nu and (rows := closures.get(f"closure of {cut.name}")):
            _share(cut, welded_pose(rows, cut.child), links, system)
    own = None if system.own is None else sharing_inertia(system.own, model)
    return replace(system, links=links, masses=mass_parameters(links, system.steps), own=own)


def _share(cut: Connection, weld: WeldedPose, links: list[Link], system: System) -> None:
    frame, on = system.places[cut.child.index].link, system.places[weld.body]
    given, carrier = links[on.link], links[system.places[cut.parent.index].link]
    if _turns(on.link, system):
        R, p = on.R_LB @ weld.orientation, plus(on.p_LB, on.R_LB.apply(weld.at))
        mc, J = shifted_moment(given.mass, given.mc, given.J, minus(ZERO_VECTOR, p))
        mc, J = R.apply_inverse(mc), R.inverse().rotate_symmetric(J)
    else:  # a body that never turns (a piston) may have no second moment: M gets tr J of the other link (the rod)
        mc, J = ZERO_VECTOR, (*(carrier.J[0] + carrier.J[1] + carrier.J[2],) * 3, *ZERO_SIX[3:])
    if on.link:
        links[on.link] = _part(given, given)
    else:  # M is welded to the ground and at rest, so that its mass has no effect
        given = carrier
    links[frame] = _part(links[frame], replace(given, mc=mc, J=J))


def _turns(index: int, system: System) -> bool:
    """Check whether any speed turns a link."""
    while index:
        if any(not is_zero(x) for w in system.steps[index].w_u for x in w):
            return True
        index = system.links[index].parent
    return False


def _part(link: Link, of: Link) -> Link:
    """Return ``link`` with the fraction CUT_MASS_FRACTION of the mass and moments of another link."""
    mc, J = (scaled(CUT_MASS_FRACTION, moment) for moment in (of.mc, of.J))
    return replace(link, mass=CUT_MASS_FRACTION * of.mass, mc=mc, J=J)
