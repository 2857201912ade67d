"""Native code that calls a Python function before it runs, for use in native loops without access to Python."""

from __future__ import annotations

import ctypes
import functools
import re
import weakref
from collections.abc import Callable
from typing import final

import llvmlite.binding as llvm

from kane.machine.linker import link
from kane.machine.processor import target_machine

# The table contains the Python function, the address of the code or zero, the number of outputs, the function ``keep``
# for exceptions, and the addresses of state, rest and out of the last call. PyGILState_Ensure takes the interpreter
# lock whether or not the surrounding loop has it.
_INPUT_CALL_TEXT = """
@kane_table = global [7 x i64] zeroinitializer

declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare void @PyErr_Clear()

define void @kane_asked(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) {
begin:
  %kind = alloca ptr
  %error = alloca ptr
  %trace = alloca ptr
  %function = load ptr, ptr @kane_table
  %code = load ptr, ptr getelementptr (i64, ptr @kane_table, i64 1)
  %count = load i64, ptr getelementptr (i64, ptr @kane_table, i64 2)
  %keep = load ptr, ptr getelementptr (i64, ptr @kane_table, i64 3)
  store ptr %state, ptr getelementptr (i64, ptr @kane_table, i64 4)
  store ptr %rest, ptr getelementptr (i64, ptr @kane_table, i64 5)
  store ptr %out, ptr getelementptr (i64, ptr @kane_table, i64 6)
  %lock = call i32 @PyGILState_Ensure()
  %answer = call ptr @PyObject_CallNoArgs(ptr %function)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %raised, label %run
run:
  call void @Py_DecRef(ptr %answer)
  call void @PyGILState_Release(i32 %lock)
  %alone = icmp eq ptr %code, null
  br i1 %alone, label %done, label %after
after:
  call void %code(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work)
  ret void
raised:
  call void @PyErr_Fetch(ptr %kind, ptr %error, ptr %trace)
  call void @PyErr_NormalizeException(ptr %kind, ptr %error, ptr %trace)
  %kind.object = load ptr, ptr %kind
  %error.object = load ptr, ptr %error
  %trace.object = load ptr, ptr %trace
  %set = call i32 @PyException_SetTraceback(ptr %error.object, ptr %trace.object)
  %kept = call ptr @PyObject_CallOneArg(ptr %keep, ptr %error.object)
  call void @Py_DecRef(ptr %kept)
  call void @Py_DecRef(ptr %kind.object)
  call void @Py_DecRef(ptr %error.object)
  call void @Py_DecRef(ptr %trace.object)
  call void @PyErr_Clear()
  call void @PyGILState_Release(i32 %lock)
  br label %more
more:
  %k = phi i64 [ 0, %raised ], [ %k.next, %next ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %next, label %done
next:
  %at = getelementptr double, ptr %out, i64 %k
  store double 0x7FF8000000000000, ptr %at
  %k.next = add i64 %k, 1
  br label %more
done:
  ret void
}
"""
_INPUT_CALL_SYMBOLS = re.findall(r"declare .* @(\w+)", _INPUT_CALL_TEXT)


@final
class AskedCode:
    """Native code (state, rest, stage, out, work) that calls a Python function without arguments, and then other code.

    Exceptions cannot pass through native loops, so the code passes them to ``keep`` and sets the outputs to NaN.
    ``keep`` must not raise. It should be a built-in function, because a pending interrupt could be raised inside a
    Python function.

    Attributes:
        address: address of the code, valid as long as this object lives.
        given: addresses of state, rest and out of the current call.
    """

    def __init__(
        self, function: Callable[[], None], keep: Callable[[BaseException], None], address: int, n_out: int
    ) -> None:
        """Generate the code.

        Args:
            function, keep: see the class.
            address: address of the code to call afterwards; zero if the function writes the outputs itself.
            n_out: number of outputs.
        """
        machine = target_machine(optimization=1)
        owner, (self.address, table) = link(
            "an input", _code(), ("kane_asked", "kane_table"), _INPUT_CALL_SYMBOLS, machine
        )
        (ctypes.c_int64 * 4).from_address(table)[:] = [id(function), address, n_out, id(keep)]
        self.given = (ctypes.c_int64 * 3).from_address(table + 4 * ctypes.sizeof(ctypes.c_int64))
        self._called = function, keep  # kept alive
        weakref.finalize(self, owner.close).atexit = False


@functools.cache
def _code() -> bytes:
    """Return the object code. Every ``AskedCode`` links its own copy, because each has its own table."""
    machine = target_machine(optimization=1)
    module = llvm.parse_assembly(_INPUT_CALL_TEXT, llvm.create_context())
    module.triple = machine.triple
    return bytes(machine.emit_object(module))
