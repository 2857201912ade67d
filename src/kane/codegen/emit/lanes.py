"""SIMD lanes: the LLVM type of one double, or of the doubles of several states in one register."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

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
    elements = "\n".join(f"  %e{k} = extractelement {t} %x{k}, i32 %i" for k in range(arity))
    operands = ", ".join(f"double %e{k}" for k in range(arity))
    return f"""define internal {t} {name}({signature}) noinline nounwind {{
start:
  br label %next
next:
  %i = phi i32 [ 0, %start ], [ %j, %next ]
  %y = phi {t} [ zeroinitializer, %start ], [ %y1, %next ]
{elements}
  %r = call double {function}({operands})
  %y1 = insertelement {t} %y, double %r, i32 %i
  %j = add i32 %i, 1
  %done = icmp eq i32 %j, {lanes.width}
  br i1 %done, label %finish, label %next
finish:
  ret {t} %y1
}}"""
