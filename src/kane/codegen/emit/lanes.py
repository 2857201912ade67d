"""Values side by side: the LLVM type of one double, or of several states' doubles in one register."""

from __future__ import annotations

import struct
from dataclasses import dataclass


def hexadecimal(value: float) -> str:
    """A double as LLVM text writes it, to the last bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


@dataclass(frozen=True)
class Lanes:
    """``width`` doubles side by side; one is a plain double.

    Attributes:
        width: 1, 2, 4 or 8.
    """

    width: int

    @property
    def type(self) -> str:
        """LLVM's type of the doubles."""
        return self._of("double")

    @property
    def integer(self) -> str:
        """LLVM's type of as many 64-bit integers."""
        return self._of("i64")

    @property
    def bits(self) -> str:
        """LLVM's type of as many truth values."""
        return self._of("i1")

    @property
    def pair(self) -> str:
        """LLVM's type of two such values, as functions return a sine and a cosine."""
        return f"{{ {self.type}, {self.type} }}"

    @property
    def suffix(self) -> str:
        """What intrinsic functions of this type end in."""
        return "f64" if self.width == 1 else f"v{self.width}f64"

    def number(self, value: float) -> str:
        """The same double in every lane."""
        return self.splat("double", hexadecimal(value))

    def splat(self, element: str, value: str) -> str:
        """The same constant, an ``element`` as LLVM writes it, in every lane."""
        if self.width == 1:
            return value
        return "<" + ", ".join([f"{element} {value}"] * self.width) + ">"

    def _of(self, element: str) -> str:
        return element if self.width == 1 else f"<{self.width} x {element}>"


ONE = Lanes(1)


def intrinsics(lanes: Lanes, *, fused: bool) -> list[str]:
    """Declarations of the intrinsic functions of LLVM that programs and their trigonometry call on such values."""
    t = lanes.type
    found = [f"declare {t} @llvm.{name}.{lanes.suffix}({t})" for name in ("fabs", "sqrt")]
    if fused:
        found.append(f"declare {t} @llvm.fma.{lanes.suffix}({t}, {t}, {t})")
    if lanes.width > 1:
        found.append(f"declare i1 @llvm.vector.reduce.and.v{lanes.width}i1({lanes.bits})")
    return found


def lane_by_lane(name: str, function: str, arity: int, lanes: Lanes) -> str:
    """LLVM text of ``name``, which calls a function of doubles for one lane after the other."""
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
