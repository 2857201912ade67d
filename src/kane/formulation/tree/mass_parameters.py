"""Mass parameters in the computational frames K, and base inertial parameters."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kane.deferred import dataclass
from kane.formulation.tree.frames import Step
from kane.formulation.tree.links import Link
from kane.formulation.tree.spatial import ZERO_SIX, plus, shifted_moment, square_of, symmetric_product, times
from kane.geometry.scalars import ZERO_VECTOR, Six, Triple, add_vectors, is_zero, scaled

# After a change of frame, a moment that is exactly zero has round-off up to this fraction of the largest moment.
# Nonzero moments can be small too: the moment of a long thin body about its axis may be 1e-12 of the others.
MOMENT_ROUND_OFF = 4e-15


@dataclass(frozen=True)
class MassParameters:
    """Mass, first moment m p and second moment J about O_K, measured in K [kg, kg m, kg m^2]."""

    m: Any
    mc: Triple
    J: Six


def mass_parameters(links: list[Link], steps: list[Step]) -> list[MassParameters]:
    """Return the mass parameters of every link, about O_K in its frame K."""
    found = []
    for link, step in zip(links, steps, strict=True):
        turned = step.R_LK.apply_inverse(link.mc)
        J = step.R_LK.inverse().rotate_symmetric(link.J)
        p = step.R_LK.apply_inverse(tuple(-x for x in step.p_LK))
        mc, J = shifted_moment(link.mass, turned, J, p)
        found.append(MassParameters(link.mass, _clean_vector(mc, link.mass), _clean_six(J)))
    return found


def _clean_vector(v: Triple, mass: Any) -> Triple:
    """Set components to zero that are round-off of the change of frame."""
    numbers = [abs(x) for x in v if isinstance(x, float)]
    size = max([*numbers, abs(mass) if isinstance(mass, float) else 0.0])
    return tuple(0.0 if isinstance(x, float) and abs(x) <= MOMENT_ROUND_OFF * size else x for x in v)


def _clean_six(J: Six) -> Six:
    numbers = [abs(x) for x in J if isinstance(x, float)]
    size = max(numbers, default=0.0)
    return tuple(0.0 if isinstance(x, float) and abs(x) <= MOMENT_ROUND_OFF * size else x for x in J)


def regrouped(
    parameters: list[MassParameters], links: list[Link], steps: list[Step], bases: Collection[int] = ()
) -> list[MassParameters]:
    """Return base inertial parameters: mass that acts as if it were fixed in the parent moves to the parent.

    For a turning joint this is mass on the axis: m, m z and J_zz = integral z^2 dm. For a sliding joint it is the
    second moment, on which sliding has no effect. For any other joint that turns about a point (ball, universal,
    gimbal) it is the mass, at that point. The equations of motion do not change. The joint forces differ from those of
    the original links.

    Args:
        bases: links that keep their parameters, because their declared velocity determines the velocity of the parent.

    Source: after Gautier & Khalil 1990, in terms of first and second moments instead of moments of inertia.
    """
    out = list(parameters)
    for index in range(len(links) - 1, 0, -1):
        step, own = steps[index], out[index]
        shared = None if index in bases else _shared(step, own)
        if shared is not None:
            out[index], moved = shared
            above = out[links[index].parent]
            out[links[index].parent] = MassParameters(
                above.m + moved.m, plus(above.mc, moved.mc), add_vectors(above.J, moved.J)
            )
    return out


def _shared(step: Step, own: MassParameters) -> tuple[MassParameters, MassParameters] | None:
    """Return the parameters that stay with the link, in its K, and the parameters for the parent, in the parent's K."""
    xx, yy, zz, xy, xz, yz = own.J
    about_a_point = all(is_zero(x) for v in step.v_u for x in v)
    if step.w_u == ((0.0, 0.0, 1.0),) and about_a_point:
        kept = MassParameters(0.0, (own.mc[0], own.mc[1], 0.0), (xx, yy, 0.0, xy, xz, yz))
        return kept, _on_axis(step, own.m, own.mc[2], zz)
    if all(w == ZERO_VECTOR for w in step.w_u) and not step.R.factors:
        return MassParameters(own.m, own.mc, ZERO_SIX), MassParameters(0.0, ZERO_VECTOR, own.J)
    if about_a_point and step.d == ZERO_VECTOR:
        return MassParameters(0.0, own.mc, own.J), _on_axis(step, own.m, 0.0, 0.0)
    return None


def _on_axis(step: Step, m: Any, mz: Any, zz: Any) -> MassParameters:
    """Return the mass parameters, in the parent's K, of mass on the z axis of K, which is fixed in the parent."""
    p, z = step.p, ZERO_VECTOR
    if not (is_zero(mz) and is_zero(zz) and step.d == ZERO_VECTOR):
        z = step.R.apply((0.0, 0.0, 1.0))
        p = plus(p, times(step.d[2], z))
    J = add_vectors(scaled(m, square_of(p)), symmetric_product(p, times(mz, z)))
    J = add_vectors(J, scaled(zz, square_of(z)))
    return MassParameters(m, plus(times(m, p), times(mz, z)), J)
