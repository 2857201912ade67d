"""SIMD lanes: the LLVM type of one double, or of the doubles of several states in one register."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from kane.deferred import dataclass

CACHE_LINE_BYTES = 64  # size of a cache line and of the widest register [bytes]


def hexadecimal(value: float) -> str:
    """Return a double as an exact hexadecimal LLVM literal."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def constant_array(name: str, element: str, values: Sequence[str], *, align: int | None = None) -> str:
    """Return a global array of constants of LLVM type ``element``, aligned to ``align`` bytes if given."""
    elements = ", ".join(f"{element} {value}" for value in values)
    end = f", align {align}" if align else ""
    return f"{name} = internal unnamed_addr constant [{len(values)} x {element}] [{elements}]{end}"


def align_lines(pointer: str, name: str) -> list[str]:
    """Return lines that move a pointer to the start of the next cache line; ``name`` is the result."""
    return [
        f"  {name}.address = ptrtoint ptr {pointer} to i64",
        f"  {name}.negative = sub i64 0, {name}.address",
        f"  {name}.shift = and i64 {name}.negative, {CACHE_LINE_BYTES - 1}",
        f"  {name} = getelementptr inbounds i8, ptr {pointer}, i64 {name}.shift",
    ]


def loop_lines(
    entry: str, n: int | str, body: Iterable[str], *, carried: Iterable[Sequence[str]] = (), last: str = "again"
) -> list[str]:
    """Return lines that run the body n times, n > 0, with the index %k.

    Args:
        entry: label of the block before the loop.
        n: number of rounds, an integer or an operand.
        body: lines of one round, without jumps out of it.
        carried: name, type, first value and next value of each value that rounds pass on.
        last: label of the last block of the body, if it has several.
    """
    return [
        "  br label %again",
        "again:",
        f"  %k = phi i64 [ 0, %{entry} ], [ %k1, %{last} ]",
        *(f"  {name} = phi {kind} [ {first}, %{entry} ], [ {later}, %{last} ]" for name, kind, first, later in carried),
        *body,
        "  %k1 = add i64 %k, 1",
        f"  %more = icmp ult i64 %k1, {n}",
        "  br i1 %more, label %again, label %done",
        "done:",
    ]


@dataclass(frozen=True)
class Lanes:
    """A register of ``width`` doubles; a plain double if the width is 1.

    Attributes:
        width: number of lanes, 1, 2, 4 or 8.
    """

    width: int

    @property
    def type(self) -> str:
        """LLVM type of the doubles."""
        return self._of("double")

    @property
    def integer(self) -> str:
        """LLVM type of ``width`` 64-bit integers."""
        return self._of("i64")

    @property
    def bits(self) -> str:
        """LLVM type of ``width`` truth values."""
        return self._of("i1")

    @property
    def pair(self) -> str:
        """LLVM type of two registers, as returned by functions that compute a sine and a cosine."""
        return f"{{ {self.type}, {self.type} }}"

    @property
    def suffix(self) -> str:
        """Suffix of intrinsic functions of this type."""
        return "f64" if self.width == 1 else f"v{self.width}f64"

    def number(self, value: float) -> str:
        """Return a literal with the same double in every lane."""
        return self.splat("double", hexadecimal(value))

    def splat(self, element: str, value: str) -> str:
        """Return a literal with the same constant of LLVM type ``element`` in every lane."""
        if self.width == 1:
            return value
        return "<" + ", ".join([f"{element} {value}"] * self.width) + ">"

    def _of(self, element: str) -> str:
        return element if self.width == 1 else f"<{self.width} x {element}>"


ONE = Lanes(1)


def intrinsics(lanes: Lanes, *, fused: bool) -> list[str]:
    """Return declarations of the LLVM intrinsics that programs and their trigonometry call with these lanes."""
    t = lanes.type
    found = [f"declare {t} @llvm.{name}.{lanes.suffix}({t})" for name in ("fabs", "sqrt")]
    if fused:
        found.append(f"declare {t} @llvm.fma.{lanes.suffix}({t}, {t}, {t})")
    if lanes.width > 1:
        found.append(f"declare i1 @llvm.vector.reduce.and.v{lanes.width}i1({lanes.bits})")
    return found


def lane_by_lane(name: str, function: str, arity: int, lanes: Lanes) -> str:
    """Return LLVM text of the function ``name``, which calls a function of doubles lane by lane."""
    t = lanes.type
    signature = ", ".join(f"{t} %x{k}" for k in range(arity))
    operands = ", ".join(f"double %e{k}" for k in range(arity))
    body = [
        *(f"  %e{k} = extractelement {t} %x{k}, i64 %k" for k in range(arity)),
        f"  %r = call double {function}({operands})",
        f"  %y1 = insertelement {t} %y, double %r, i64 %k",
    ]
    loop = loop_lines("start", lanes.width, body, carried=[("%y", t, "zeroinitializer", "%y1")])
    head = f"define internal {t} {name}({signature}) noinline nounwind {{"
    return "\n".join([head, "start:", *loop, f"  ret {t} %y1", "}"])
