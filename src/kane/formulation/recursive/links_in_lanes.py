"""Routines for derivatives of inverse dynamics, with one link or one speed per SIMD lane and all vectors in one frame.

The formulas are those of ``coriolis``, which expresses each link in its own frame. Here all quantities refer to the
axes and the origin of one link, so that the operations are the same for all links:

* sigma, P and F of the links, and their sums over the links beyond each joint;
* psi, chi and the wrenches of the speeds;
* the entries of the speeds of a block with each speed of their ancestors.

The frame is K of the first link if all others descend from it: then a body far from the origin of N loses no digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from kane.codegen.programs.parts import MASKS, Routine
from kane.deferred import NamedTuple
from kane.formulation.recursive.composite import unit_wrench
from kane.formulation.recursive.coriolis import Twist
from kane.formulation.recursive.inverse import LinkWrench
from kane.formulation.recursive.kinematics import acceleration_fields, angular_velocities, origin_velocities
from kane.formulation.tree.mass_parameters import MassParameters
from kane.formulation.tree.spatial import inertia_of, minus, plus, rotated
from kane.formulation.tree.system import System
from kane.geometry.inertia import symmetric_rows
from kane.geometry.scalars import ZERO_VECTOR, NumberMatrix, Triple, cross, dot, is_zero

# Factors of a product, and the products that are summed to each of three components.
Pair: TypeAlias = tuple[Any, Any]
Terms: TypeAlias = Sequence[Sequence[Pair]]
# Lengths of the arrays of a link:
#   pose: R and p of K, the link's speed and acceleration;   joint: S, S u;   moving: V, psi, S udot + psi u;
#   rate: Vdot;   own and total: m, mc, J, T, p, F.
# The arrays joint, moving and fields (chi, Sdot + psi) are consecutive; FIELDS is the start of the third one.
POSE_NUMBERS, JOINT_NUMBERS, MOTION_NUMBERS, RATE_NUMBERS, OWN_NUMBERS = 14, 12, 18, 6, 28
FIELDS = JOINT_NUMBERS + MOTION_NUMBERS


class Frames:
    """Poses of all links in the frame of the reference, and the motion of the reference.

    Attributes:
        R, p: orientation and position of each link.
        V, rate: V and Vdot of the reference.
        ground: acceleration of the ground that replaces gravity.
    """

    def __init__(self, system: System, reference: int, udot: Sequence[Any]) -> None:
        steps, links = system.steps, system.links
        columns = [next(iter(row)) for row in system.speeds.C]
        w = angular_velocities(system)
        v = origin_velocities(system, w)
        fields = acceleration_fields(system, w, [udot[j] for j in columns])
        own = fields[reference]
        self.V = Twist(w[reference], v[reference])
        self.rate = Twist(own.alpha, minus(own.a, cross(*self.V)))
        lifted = minus(ZERO_VECTOR, system.gravity) if system.gravity is not ZERO_VECTOR else ZERO_VECTOR
        self.ground = steps[1].R.apply_inverse(lifted) if reference else lifted
        self.R: dict[int, NumberMatrix] = {reference: ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))}
        self.p: dict[int, Triple] = {reference: ZERO_VECTOR}
        for index in range(reference + 1, len(links)):
            step, parent = steps[index], links[index].parent
            rows = tuple(step.R.apply_inverse(row) for row in self.R[parent])
            foot = plus(self.p[parent], rotated(self.R[parent], step.p))
            self.R[index], self.p[index] = rows, plus(foot, rotated(rows, step.d))


def own_axes(system: System, index: int) -> list[Twist]:
    """Return S of a link's speeds in its frame K."""
    step = system.steps[index]
    return [Twist(a, plus(b, cross(a, step.d))) for a, b in zip(step.w_u, step.v_u, strict=True)]


class Whole(NamedTuple):
    """Mass parameters sigma, T = tr P - P, momentum p and wrench F of a link, or of all links beyond a joint."""

    sigma: MassParameters
    T: NumberMatrix
    p: Triple
    force: LinkWrench

    @classmethod
    def of(cls, x: Sequence[Any]) -> Whole:
        """Return the object with these ``numbers``."""
        sigma = MassParameters(x[0], tuple(x[1:4]), tuple(x[4:10]))
        return cls(sigma, _rows(x[10:19]), tuple(x[19:22]), (tuple(x[22:25]), tuple(x[25:28])))

    @classmethod
    def moving(cls, sigma: MassParameters, V: Twist, rate: Twist) -> Whole:
        """Return the quantities of a link with twist V and rate V'.

        Its particles have the accelerations v' + w' x r + w x rdot. Therefore, with P = [w x] J + v mc^T,

            f = m v' + w' x mc + w x p,   n = mc x v' + (tr J - J) w' + T w.
        """
        (w, v), c = V, sigma.mc
        columns = [_crossed(column, w) for column in symmetric_rows(sigma.J)]
        others = [[(v[k], c[k]) for k in range(3) if k != i] for i in range(3)]
        T = tuple(
            tuple(_summed([*(others[i] if i == j else [(-v[i], c[j])]), *columns[j][i]]) for j in range(3))
            for i in range(3)
        )
        p = _added(_scaled(sigma.m, v), _crossed(w, c))
        f = _added(*_force(sigma, rate), _crossed(w, p))
        n = _added(*_moment(sigma, rate), _through(T, w))
        return cls(sigma, T, p, (f, n))

    @property
    def numbers(self) -> list[Any]:
        """All components, in the order of the arrays own and total."""
        sigma, T, p, (f, n) = self
        return [sigma.m, *sigma.mc, *sigma.J, *(x for row in T for x in row), *p, *f, *n]


class Lower(NamedTuple):
    """A speed as the lower one of a pair: b, and the wrenches of S, of a displacement and of a change of speed."""

    b: Triple
    m: LinkWrench
    displaced: LinkWrench
    driven: LinkWrench

    @classmethod
    def beyond(cls, whole: Whole, S: Twist, fields: tuple[Twist, Twist, Twist]) -> Lower:
        """Return the object for motion S, its fields (psi, chi, Sdot + psi), and the sums beyond its joint."""
        (sigma, T, p, (f, n)), (psi, chi, swept) = whole, fields
        both, turned = S.plus(S), plus(psi.w, psi.w)
        # Terms that use the same numbers are adjacent, F first and sigma last, so that few registers are in use.
        force, moment = _added(_crossed(S.w, f)), [*_added(_crossed(S.w, n), _crossed(S.v, f))]
        force = _added(_crossed(turned, p), to=force)
        push, b, turn = _added(_crossed(both.w, p)), _added(_crossed(p, both.v)), [0.0] * 3
        for i, row in enumerate(T):
            moment[i] = _summed(zip(row, turned, strict=True), moment[i])
            turn[i] = _summed(zip(row, both.w, strict=True))
            b = _added(_scaled(both.w[i], row), to=b)
        m = _added(*_force(sigma, S)), _added(*_moment(sigma, S))
        driven = _added(*_force(sigma, swept), to=push), _added(*_moment(sigma, swept), to=turn)
        displaced = _added(*_force(sigma, chi), to=force), _added(*_moment(sigma, chi), to=moment)
        return cls(b, m, displaced, driven)

    def under(self, S: Twist, fields: tuple[Twist, Twist, Twist]) -> tuple[list[Any], Any, Any]:
        """Return the entries with an ancestor's speed.

        Args:
            S: motion of the ancestor's speed.
            fields: psi, chi and Sdot + psi of this speed.

        Returns:
            Derivatives of this speed's force by the ancestor's q, u and udot; derivatives of the ancestor's force by
            this speed's q, and by this speed.
        """
        psi, chi, swept = fields
        w, v = [*zip(psi.w, self.b, strict=True)], [*zip(S.w, self.b, strict=True)]
        own = [_summed([*w, *_power(chi, self.m)]), _summed([*v, *_power(swept, self.m)]), _summed(_power(S, self.m))]
        return own, _summed(_power(S, self.displaced)), _summed(_power(S, self.driven))


def base_fields(S: Twist, V: Twist, above: Twist) -> tuple[Twist, Twist, Twist]:
    """Return psi, chi and Sdot + psi of a child of the ground; ``above`` is the ground's acceleration in its frame."""
    return Twist(ZERO_VECTOR, ZERO_VECTOR), above.bracket(S), V.bracket(S)


def motions(axes: Sequence[float | None]) -> Routine:
    """Return the routine of S and S u; ``axes`` are the components of S in K that are equal for all links."""
    at = Routine("kane_motions")
    pose = at.read("pose", 0, POSE_NUMBERS)
    own = [at.read("axes", k)[0] if same is None else same for k, same in enumerate(axes)]
    R, p = _rows(pose[:9]), pose[9:12]
    w, v = _turned(R, own[:3]), _turned(R, own[3:])
    S = (*w, *plus(v, cross(p, w)))
    at.write("joint", [*S, *(x * pose[12] for x in S)])
    return at


def twists(count: int, width: int) -> Routine:
    """Return the routine of V, psi = [V, S] and S udot + psi u, the link's own contribution to Vdot.

    For a joint with one speed, [V_p, S] = [V, S], and [Vdot_p, S] + [V_p, psi] = [Vdot, S] + [V, psi].
    """
    at = Routine("kane_twists", plain={"moved": 1, "above": width})
    S, pose = _twist(at.read("joint", 0, 6)), at.read("pose", 12, 2)
    above = at.read("above", 0, 6)
    V = _twist([_up_to_here(at, "moved", k, above[k], count=count, width=width) for k in range(6)])
    psi = _brackets((V, S))
    pushed = [pose[1] * s + pose[0] * x for s, x in zip((*S.w, *S.v), (*psi.w, *psi.v), strict=True)]
    at.write("moving", [*V.w, *V.v, *psi.w, *psi.v, *pushed])
    return at


def links(count: int, width: int) -> Routine:
    """Return the routine of Vdot, and of sigma, P and F of each link."""
    at = Routine("kane_links", plain={"pushed": 1, "above": width})
    above = at.read("above", 0, 6)
    rate = _twist([_up_to_here(at, "pushed", k, above[k], count=count, width=width) for k in range(6)])
    pose, V = at.read("pose", 0, 12), _twist(at.read("moving", 0, 6))
    m, *mc = at.read("masses", 0, 4)
    xx, yy, zz, xy, xz, yz = at.read("masses", 4, 6)
    R, p = _rows(pose[:9]), pose[9:12]
    H = tuple(zip(*(_turned(R, column) for column in symmetric_rows((xx, yy, zz, xy, xz, yz))), strict=True))
    turned = _turned(R, mc)
    c = _added(_scaled(m, p), to=turned)
    J = tuple(
        _summed([(turned[i], p[j]), (p[i], c[j]), *zip(H[i], R[j], strict=True)])
        for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    )
    at.write("rate", [*rate.w, *rate.v])
    at.write("own", Whole.moving(MassParameters(m, c, J), V, rate).numbers)
    return at


def sums(count: int, width: int, hanging: int) -> Routine:
    """Return the routine that sums over the links beyond each joint; ``hanging`` children are in other blocks."""
    more = {f"total{k}": width for k in range(hanging)}
    at = Routine(f"kane_sums{count}_{hanging}", plain={"all": 1, **more})
    found = [_beyond(at, "own", k, more, count=count, width=width) for k in range(OWN_NUMBERS)]
    at.write("total", found)
    return at


def fields() -> Routine:
    """Return the routine of chi and Sdot + psi of each speed."""
    at = Routine("kane_fields")
    S, V, psi = _twist(at.read("joint", 0, 6)), _twist(at.read("moving", 0, 6)), _twist(at.read("moving", 6, 6))
    chi, swept = _brackets((_twist(at.read("rate", 0, 6)), S), (V, psi)), psi.plus(psi)
    at.write("fields", [*chi.w, *chi.v, *swept.w, *swept.v])
    return at


def pairs(base: Sequence[Twist], width: int) -> Routine:
    """Return the routine of the force of each speed, and of its entries.

    The entries are those with the speeds of the reference (motions ``base``), and in each round those with the speed of
    one ancestor.
    """
    plain = {"upper": width, "V": width, "ground": 1}
    at = Routine("kane_pairs", plain=plain, swept=("upper", "own", "by_q", "by_u"))
    S, found = _upper(at, "joint")
    whole = Whole.of(at.read("total", 0, OWN_NUMBERS))
    at.write("force", [S.power(whole.force)])
    lower = Lower.beyond(whole, S, found)
    if base:
        V, ground = _twist(at.read("V", 0, 6)), Twist(ZERO_VECTOR, at.read("ground", 0, 3))
        for k, own in enumerate(base):
            _write_pair(at, k, lower.under(own, base_fields(own, V, ground)), "base_")
    _write_pair(at, 0, lower.under(*_upper(at, "upper")))
    return at


def _upper(at: Routine, array: str) -> tuple[Twist, tuple[Twist, Twist, Twist]]:
    """Return S, and psi, chi and Sdot + psi."""
    S, psi, chi, swept = (_twist(at.read(array, first, 6)) for first in (0, JOINT_NUMBERS + 6, FIELDS, FIELDS + 6))
    return S, (psi, chi, swept)


def momenta() -> Routine:
    """Return the routine of each speed's force, and of the wrench on the links beyond its joint at a unit speed."""
    at = Routine("kane_momenta")
    S, whole = _twist(at.read("joint", 0, 6)), Whole.of(at.read("total", 0, OWN_NUMBERS))
    f, n = unit_wrench(whole.sigma, S.w, S.v)
    at.write("unit", [*f, *n])
    at.write("force", [S.power(whole.force)])
    return at


def mass_pairs(width: int) -> Routine:
    """Return the routine of the entries of M with the speed of one ancestor in each round."""
    at = Routine("kane_mass_pairs", plain={"above": width}, swept=("above", "mass"))
    unit = at.read("unit", 0, 6)
    at.write("mass", [_twist(at.read("above", 0, 6)).power((unit[:3], unit[3:]))])
    return at


def base_mass_pairs(S: Sequence[Twist]) -> Routine:
    """Return the routine of the entries of M with the speeds of the reference."""
    at = Routine("kane_base_mass_pairs")
    unit = at.read("unit", 0, 6)
    at.write("mass", [own.power((unit[:3], unit[3:])) for own in S])
    return at


def pushes() -> Routine:
    """Return the routine of S udot."""
    at = Routine("kane_pushes")
    (udot,) = at.read("udot", 0)
    at.write("pushed", [udot * x for x in at.read("joint", 0, 6)])
    return at


def driven(count: int, width: int) -> Routine:
    """Return the routine that adds S udot to Vdot, and computes the change of F, which is linear in Vdot."""
    at = Routine("kane_driven", plain={"pushed": 1, "above": width})
    above = at.read("above", 0, 6)
    more = _twist([_up_to_here(at, "pushed", k, above[k], count=count, width=width) for k in range(6)])
    sigma = Whole.of(at.read("own", 0, OWN_NUMBERS)).sigma
    at.write("more", [*more.w, *more.v])
    at.write("rate", [x + y for x, y in zip(at.read("rate", 0, 6), (*more.w, *more.v), strict=True)])
    f, n = unit_wrench(sigma, *more)
    at.write("wrench", [*f, *n])
    return at


def wrench_sums(count: int, width: int, hanging: int) -> Routine:
    """Return the routine that adds the contributions of udot to F of the links beyond each joint."""
    more = {f"total{k}": width for k in range(hanging)}
    at = Routine(f"kane_wrench_sums{count}_{hanging}", plain={"all": 1, **more})
    found = [_beyond(at, "wrench", k, more, count=count, width=width) for k in range(6)]
    at.write("beyond", found)
    force = at.read("total", OWN_NUMBERS - 6, 6)
    at.write("total", [x + y for x, y in zip(force, found, strict=True)], OWN_NUMBERS - 6)
    return at


def _beyond(at: Routine, array: str, k: int, more: Mapping[str, int], *, count: int, width: int) -> Any:
    """Return the sum of the k-th values of all links beyond a joint; the first link of a block is beyond no other."""
    masks = at.read(MASKS, 0, count - 1 + len(more))
    (x,) = at.read(array, k)
    for mask, part in zip(masks, at.read("all", k * width + 1, count - 1), strict=False):
        x = x + mask * part
    for mask, name in zip(masks[count - 1 :], more, strict=True):
        x = x + mask * at.read(name, k)[0]
    return x


def _write_pair(at: Routine, k: int, entries: tuple[list[Any], Any, Any], which: str = "") -> None:
    own, by_q, by_u = entries
    at.write(f"{which}own", own, 3 * k)
    at.write(f"{which}by_q", [by_q], k)
    at.write(f"{which}by_u", [by_u], k)


def _up_to_here(at: Routine, array: str, k: int, above: Any, *, count: int, width: int) -> Any:
    """Return the sum of the k-th values of a link and its ancestors, with the value ``above`` of the block's parent."""
    total = above
    for mask, part in zip(at.read(MASKS, 0, count), at.read(array, k * width, count), strict=True):
        total = total + mask * part
    return total


def _summed(pairs: Iterable[Pair], total: Any = 0.0) -> Any:
    """Return total + x y + ..., product by product, so that each product is fused with the sum before it."""
    for x, y in pairs:
        if not (is_zero(x) or is_zero(y)):
            total = x * y if is_zero(total) else total + x * y
    return total


def _added(*terms: Terms, to: Sequence[Any] = ZERO_VECTOR) -> Triple:
    """Return the sum of a triple and of terms, product by product."""
    return tuple(_summed((pair for term in terms for pair in term[k]), to[k]) for k in range(3))


def _crossed(a: Triple, b: Triple) -> Terms:
    """Return a x b."""
    return [[(a[i], b[j]), (-a[j], b[i])] for i, j in ((1, 2), (2, 0), (0, 1))]


def _scaled(s: Any, v: Triple) -> Terms:
    """Return s v."""
    return [[(s, x)] for x in v]


def _through(M: NumberMatrix, v: Triple) -> Terms:
    """Return M v."""
    return [[*zip(row, v, strict=True)] for row in M]


def _power(S: Twist, wrench: LinkWrench) -> list[Pair]:
    """Return w . n + v . f."""
    return [*zip((*S.w, *S.v), (*wrench[1], *wrench[0]), strict=True)]


def _force(sigma: MassParameters, A: Twist) -> tuple[Terms, Terms]:
    """Return m v + w x mc, the force of the accelerations v + w x r."""
    return _scaled(sigma.m, A.v), _crossed(A.w, sigma.mc)


def _moment(sigma: MassParameters, A: Twist) -> tuple[Terms, Terms]:
    """Return (tr J - J) w + mc x v, the moment of the accelerations v + w x r."""
    return _through(symmetric_rows(inertia_of(sigma.J)), A.w), _crossed(sigma.mc, A.v)


def _brackets(*pairs: tuple[Twist, Twist]) -> Twist:
    """Return the sum of [A, B] over pairs."""
    w = _added(*(_crossed(A.w, B.w) for A, B in pairs))
    return Twist(w, _added(*(term for A, B in pairs for term in (_crossed(A.w, B.v), _crossed(A.v, B.w)))))


def _rows(x: Sequence[Any]) -> NumberMatrix:
    return tuple(tuple(x[k : k + 3]) for k in (0, 3, 6))


def _twist(x: Sequence[Any]) -> Twist:
    return Twist(tuple(x[:3]), tuple(x[3:6]))


def _turned(R: NumberMatrix, v: Sequence[Any]) -> Triple:
    return tuple(dot(row, v) for row in R)
