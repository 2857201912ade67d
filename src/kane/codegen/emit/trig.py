"""Emit LLVM functions that compute sine and cosine of one angle, or of several angles in SIMD lanes, within 2 ulp.

An angle |x| <= MAX_REDUCED_ANGLE is reduced by n = round(2 x / pi) to r = x - n pi/2, |r| <= pi/4. The parts of pi/2
are subtracted one after the other. Two polynomials give sin r and cos r; n mod 4 selects the sine, the cosine and their
signs. Larger angles, infinities and NaN are passed to the C library one by one, without effect on the other lanes.

The polynomials have a short critical path from x to the results, because programs often wait for their sines.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane.codegen.emit.lanes import Lanes, loop_lines
from kane.deferred import NamedTuple

# Largest |x| [rad] for which the products of n and the parts of pi/2 are exact enough.
MAX_REDUCED_ANGLE = 1.0e6

# pi/2 as the sum of three doubles, each the remainder rounded to nearest. With fused multiply-add the first difference
# is exact, the second rounds once, and the third matters only if x is very near a multiple of pi/2.
_PARTS_FUSED = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# Without fused multiply-add every product n * part must be exact: 33 bits per part leave 20 bits for n. The last part
# has 53 bits.
_PARTS_PLAIN = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)

# Polynomials in z = r^2 for (sin r / r - 1) / z and (cos r - 1 + z / 2) / z^2, constant coefficient first. They
# interpolate at the six Chebyshev nodes of 0 <= z <= (pi/4)^2 (1 + 2^-17), computed with 50 digits and rounded. Errors
# are 2^-56 and 2^-60.
_SINE = (
    -0.16666666666666666,
    0.008333333333330948,
    -0.00019841269836758438,
    2.7557316102481144e-06,
    -2.5051131830144625e-08,
    1.5918128224337974e-10,
)
_COSINE = (
    0.041666666666666664,
    -0.0013888888888887398,
    2.48015872987656e-05,
    -2.755731727168519e-07,
    2.0876146259107604e-09,
    -1.138263175580836e-11,
)
_TWO_OVER_PI = 0.6366197723675814
# Adding 1.5 * 2^52 rounds to an integer and stores this integer in the low bits.
_ROUNDER = 6755399441055744.0

# Branch weights of a conditional branch whose first target is the usual one.
LIKELY = '!prof !{!"branch_weights", i32 1048576, i32 1}'


def sincos_name(lanes: int) -> str:
    """Return the name of the function that computes the sines and cosines of ``lanes`` angles."""
    return "@sincos" if lanes == 1 else f"@sincos{lanes}"


def sincos_functions(lanes: Sequence[int], *, fused: bool) -> str:
    """Return LLVM text of the functions for the given numbers of lanes.

    Args:
        lanes: numbers of angles per call, each 1, 2, 4 or 8.
        fused: whether the machine has a fused multiply-add.
    """
    return "\n".join(_SineWriter(Lanes(w), fused, "%x", "%").function() for w in lanes)


class SmallAngles(NamedTuple):
    """LLVM text of the sines and cosines of small angles, |x| <= MAX_REDUCED_ANGLE.

    Attributes:
        lines: lines of text.
        pair: operand with the sines and cosines; valid if all angles are small.
        small: operand that is true if all angles are small.
    """

    lines: Sequence[str]
    pair: str
    small: str


def sincos_of_small(x: str, name: str, lanes: Lanes, *, fused: bool) -> SmallAngles:
    """Return the fast path of the function that ``sincos_name`` names, as text without a call.

    Args:
        x: operand with the angles.
        name: prefix for the names of intermediate values.
        lanes: number of angles, 1, 2, 4 or 8.
        fused: whether the machine has a fused multiply-add.
    """
    writer = _SineWriter(lanes, fused, x, f"{name}.")
    pair = writer.pair(*writer.fast())
    return SmallAngles(writer.lines, pair, writer.small()[1])


class _SineWriter:
    """Writer of LLVM text, line by line."""

    def __init__(self, lanes: Lanes, fused: bool, x: str, names: str) -> None:
        """Store the operand ``x`` with the angles and the prefix ``names`` of intermediate values."""
        self.lanes = lanes
        self.type = self.lanes.type
        self.fused = fused
        self.x, self.names = x, names
        self.lines: list[str] = []
        self.temporaries = 0

    def function(self) -> str:
        sine, cosine = self.fast()
        small, every = self.small()
        self.lines += [f"  br i1 {every}, label %fast, label %slow, {LIKELY}", "fast:"]
        self._return(sine, cosine)
        self.lines.append("slow:")
        if self.lanes.width == 1:
            self._slow_scalar()
        else:
            self._slow_lanes(sine, cosine, small)
        name = sincos_name(self.lanes.width)
        head = f"define internal {self.lanes.pair} {name}({self.type} %x) noinline nounwind {{"
        return "\n".join([head, *self.lines, "}"])

    def _line(self, text: str) -> str:
        self.temporaries += 1
        name = f"{self.names}t{self.temporaries}"
        self.lines.append(f"  {name} = {text}")
        return name

    def _number(self, value: float) -> str:
        return self.lanes.number(value)

    def _whole(self, value: int) -> str:
        return self.lanes.splat("i64", str(value))

    def _times(self, a: str, b: str) -> str:
        return self._line(f"fmul {self.type} {a}, {b}")

    def _fma(self, a: str, b: str, c: str) -> str:
        """Return a b + c, rounded once if the machine has a fused multiply-add."""
        if self.fused:
            t = self.type
            return self._line(f"call {t} @llvm.fma.{self.lanes.suffix}({t} {a}, {t} {b}, {t} {c})")
        return self._line(f"fadd {self.type} {self._times(a, b)}, {c}")

    def _series(self, first: str, factor: str, powers: tuple[str, str], c: Sequence[float]) -> str:
        """Return first + factor (c0 + c1 z + ... + c5 z^5) for powers (z, z^2), with a critical path of three steps."""
        z, z2 = powers
        low, middle, high = (self._fma(z, self._number(c[i + 1]), self._number(c[i])) for i in (0, 2, 4))
        rest = self._fma(z2, high, middle)
        return self._fma(self._times(factor, z2), rest, self._fma(factor, low, first))

    def small(self) -> tuple[str, str]:
        """Return operands for "is small" in each lane, and for "all are small"."""
        size = self._line(f"call {self.type} @llvm.fabs.{self.lanes.suffix}({self.type} {self.x})")
        small = every = self._line(f"fcmp ole {self.type} {size}, {self._number(MAX_REDUCED_ANGLE)}")
        if self.lanes.width > 1:
            every = self._line(f"call i1 @llvm.vector.reduce.and.v{self.lanes.width}i1({self.lanes.bits} {small})")
        return small, every

    def _reduce(self) -> tuple[str, str, str]:
        """Return r before the last part of pi/2 is subtracted, r itself, and integers with n in their low bits."""
        shifted = self._fma(self.x, self._number(_TWO_OVER_PI), self._number(_ROUNDER))
        n = self._line(f"fsub {self.type} {shifted}, {self._number(_ROUNDER)}")
        near = r = self.x
        for part in _PARTS_FUSED if self.fused else _PARTS_PLAIN:
            near, r = r, self._fma(n, self._number(-part), r)
        return near, r, self._line(f"bitcast {self.type} {shifted} to {self.lanes.integer}")

    def fast(self) -> tuple[str, str]:
        """Return sine and cosine; the results are arbitrary for angles beyond MAX_REDUCED_ANGLE."""
        near, r, n = self._reduce()
        # The last part of pi/2 matters only if r is tiny, where powers of r are negligible. So the powers use ``near``,
        # which is ready earlier.
        z = self._times(near, near)
        z2, zr = self._times(z, z), self._times(z, near)
        sine = self._series(r, zr, (z, z2), _SINE)
        cosine = self._series(self._fma(z, self._number(-0.5), self._number(1.0)), z2, (z, z2), _COSINE)
        odd = self._line(f"trunc {self.lanes.integer} {n} to {self.lanes.bits}")
        first = self._line(f"select {self.lanes.bits} {odd}, {self.type} {cosine}, {self.type} {sine}")
        second = self._line(f"select {self.lanes.bits} {odd}, {self.type} {sine}, {self.type} {cosine}")
        ahead = self._line(f"add {self.lanes.integer} {n}, {self._whole(1)}")
        return self._signed(first, n), self._signed(second, ahead)

    def _signed(self, value: str, n: str) -> str:
        """Return the value with its sign changed in lanes where bit 1 of n is set."""
        # After the shift, machines with three-operand logic do "and" and "xor" in one operation.
        moved = self._line(f"shl {self.lanes.integer} {n}, {self._whole(62)}")
        sign = self._line(f"and {self.lanes.integer} {moved}, {self._whole(-(2**63))}")
        raw = self._line(f"bitcast {self.type} {value} to {self.lanes.integer}")
        changed = self._line(f"xor {self.lanes.integer} {raw}, {sign}")
        return self._line(f"bitcast {self.lanes.integer} {changed} to {self.type}")

    def pair(self, sine: str, cosine: str) -> str:
        """Return sine and cosine as one LLVM struct."""
        half = self._line(f"insertvalue {self.lanes.pair} poison, {self.type} {sine}, 0")
        return self._line(f"insertvalue {self.lanes.pair} {half}, {self.type} {cosine}, 1")

    def _return(self, sine: str, cosine: str) -> None:
        self.lines.append(f"  ret {self.lanes.pair} {self.pair(sine, cosine)}")

    def _slow_scalar(self) -> None:
        self._return(self._line("call double @sin(double %x)"), self._line("call double @cos(double %x)"))

    def _slow_lanes(self, sine: str, cosine: str, small: str) -> None:
        t = self.type
        body = [
            f"  %small = extractelement {self.lanes.bits} {small}, i64 %k",
            "  br i1 %small, label %after, label %large",
            "large:",
            f"  %xi = extractelement {t} %x, i64 %k",
            "  %si = call double @sin(double %xi)",
            "  %ci = call double @cos(double %xi)",
            f"  %s1 = insertelement {t} %s, double %si, i64 %k",
            f"  %c1 = insertelement {t} %c, double %ci, i64 %k",
            "  br label %after",
            "after:",
            f"  %s2 = phi {t} [ %s, %again ], [ %s1, %large ]",
            f"  %c2 = phi {t} [ %c, %again ], [ %c1, %large ]",
        ]
        carried = [("%s", t, sine, "%s2"), ("%c", t, cosine, "%c2")]
        self.lines += loop_lines("slow", self.lanes.width, body, carried=carried, last="after")
        self._return("%s2", "%c2")
