"""Call native code from Python without ctypes, by a built-in function that reads the memory of NumPy arrays.

A ctypes call takes 0.3 us, NumPy's copy of an array 0.08 us, and ``array.ctypes.data`` 0.8 us. Most programs take only
0.1 us.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from kane.codegen.jit.python_arrays_text import ARRAYS_TEXT
from kane.codegen.jit.python_call_text import CALL_TEXT
from kane.errors import CompileError
from kane.machine.linker import Linked, link
from kane.machine.object_cache import environment_cache
from kane.machine.processor import feature_text, target_machine

# Byte offsets of the fields of an array object: its type ("kind"), data address, number of dimensions, addresses of its
# shape and strides, dtype ("numbers") and flags. NumPy's C interface guarantees this layout to compiled extensions.
_DATA = object.__basicsize__
_ARRAY_FIELDS = ("data", "dimension", "shape", "strides", "base", "numbers", "flags")
_LAYOUT = {"kind": _DATA - 8, **{place: _DATA + 8 * k for k, place in enumerate(_ARRAY_FIELDS)}}
FLOAT64 = np.dtype(np.float64)
# Contiguous, aligned and writeable.
_CARRAY = 0x1 | 0x100 | 0x400

# Batches of at least this many states run in lanes. Smaller ones would leave lanes empty, and run state after state.
LEAST_LANES = 8
_SYMBOLS = ("_Py_NoneStruct", "_Py_TrueStruct", *re.findall(r"declare .* @(Py\w+)", ARRAYS_TEXT + CALL_TEXT))
_FASTCALL = 0x80  # METH_FASTCALL: the C function receives an array of arguments and their number


# A function of (stage, out, parts of the state ..., rest).
Single = Callable[..., Any]


class _Method(ctypes.Structure):
    """The struct PyMethodDef of the C interface of Python."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@dataclass(frozen=True)
class Checks:
    """Conditions on the arguments of a call.

    Attributes:
        lengths: lengths of the parts of the state and of rest, which must be doubles (length,) or (1, length), or a
            list of floats.
        quaternions: index of each quaternion in the state.
        within: least and largest length of a quaternion.
        own: number of dimensions of ``out`` for one state if ``out`` is made for the call. Zero if the user supplies
            ``out``, which must then have shape (length,) or (1, length).
        states: most states of a batch, whose parts have shape (length,), (1, length) or (n, length). ``out`` must be
            made for the call if this exceeds 1.
    """

    lengths: Sequence[int]
    quaternions: Sequence[int]
    within: tuple[float, float]
    own: int = 0
    states: int = 1


def python_call(
    address: int,
    n_memory: int,
    n_out: int,
    *,
    first: int = 0,
    checks: Checks | None = None,
    lanes: tuple[int, int] = (0, 0),
) -> Single:
    """Return a built-in function of (stage, out, parts of the state ..., rest) that calls native code.

    The function fills and returns ``out``. All arguments are arrays of doubles; stage and out are contiguous, the
    others have shape (..., length) for one state. They may share memory, and any number of threads may call.

    With ``checks``, the function returns None and does nothing if ``out`` or another argument than stage violates them.
    It returns True if it filled an ``out`` made for the call that has a batch dimension too few or too many.

    Args:
        address: address of the code, which must outlive the function.
        n_memory: number of doubles of state, rest, outputs and scratch together.
        n_out: number of outputs to return.
        first: number of leading outputs of the code to skip.
        checks: conditions on the arguments; without them nothing is checked.
        lanes: address and scratch [doubles] of the loop over states in lanes (``LaneCode.rows_address``) whose sources
            are the parts of the state and rest. Without it batches must have fewer than ``LEAST_LANES`` states.
    """
    new: Any = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    asked = Checks((), (), (0.0, 0.0)) if checks is None else checks
    squares = np.square(asked.within).view(np.int64)
    lists = (len(asked.lengths), *asked.lengths, asked.own, len(asked.quaternions), *asked.quaternions, *squares)
    types = (id(np.ndarray), id(FLOAT64), id(list), id(float))
    loop = (lanes[0], 8 * lanes[1] + 16 * len(asked.lengths))
    table = np.array([address, 8 * n_memory, first, n_out, *types, asked.states, *loop, *lists], np.int64)
    method = ctypes.addressof(_method()[0])
    call: Single = new(("PyCFunction_NewEx", ctypes.pythonapi))(method, table, None)
    return call


@functools.cache
def _method() -> tuple[_Method, Linked]:
    """Return the function's PyMethodDef and the owner of its code; both must live as long as the process."""
    _require_layout(np.zeros((1, 6))[:, ::2])
    machine, cache = target_machine(optimization=1), environment_cache()
    text = (ARRAYS_TEXT + CALL_TEXT).format(**_LAYOUT, carray=_CARRAY, least_lanes=LEAST_LANES)
    origin = {
        "call": hashlib.sha256(text.encode()).hexdigest(),
        "triple": machine.triple,
        "target": [llvm.get_host_cpu_name(), feature_text()],
        "llvm": [*llvm.llvm_version_info, llvmlite.__version__],
        "passes": 1,
    }
    make = functools.partial(_object, text, machine)
    code = make() if cache is None else cache.get(origin, make)
    owner, (address,) = link("a call from Python", code, ("kane_call",), _SYMBOLS, machine)
    return _Method(b"kane_call", address, _FASTCALL, None), owner


def _object(text: str, machine: Any) -> bytes:
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = machine.triple
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def _require_layout(probe: np.ndarray) -> None:
    """Raise CompileError if NumPy's array objects have an unknown memory layout."""

    def read(kind: Any, place: str) -> Any:
        return kind.from_address(id(probe) + _LAYOUT[place])

    pointer, lengths = ctypes.c_void_p, ctypes.POINTER(ctypes.c_ssize_t)
    found = [read(pointer, place).value for place in ("kind", "data", "numbers")]
    found += [read(ctypes.c_int, place).value for place in ("dimension", "flags")]
    expected = [id(np.ndarray), probe.ctypes.data, id(FLOAT64), probe.ndim, probe.flags.num]
    if found != expected or [tuple(read(lengths, place)[: probe.ndim]) for place in ("shape", "strides")] != [
        probe.shape,
        probe.strides,
    ]:
        raise CompileError(f"the array objects of NumPy {np.__version__} have an unknown memory layout; use NumPy 2")
