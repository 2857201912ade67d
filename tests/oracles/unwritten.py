"""Allocator that fills uninitialized arrays with NaN, so that a read before the first write is always detected.

NumPy accepts custom allocators (NEP 49). Its own allocator reuses memory, which may contain correct numbers of an
earlier call, or zeros.
"""

import ctypes

import llvmlite.binding as llvm
import numpy as np

# Every byte 255: doubles are NaN, integers -1.
ALLOCATOR = """
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define ptr @begun(ptr %context, i64 %size) {
  %memory = call ptr @malloc(i64 %size)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %end, label %fill
fill:
  call void @llvm.memset.p0.i64(ptr %memory, i8 255, i64 %size, i1 false)
  br label %end
end:
  ret ptr %memory
}

define ptr @cleared(ptr %context, i64 %count, i64 %size) {
  %memory = call ptr @calloc(i64 %count, i64 %size)
  ret ptr %memory
}

define ptr @resized(ptr %context, ptr %before, i64 %size) {
  %memory = call ptr @realloc(ptr %before, i64 %size)
  ret ptr %memory
}

define void @ended(ptr %context, ptr %memory, i64 %size) {
  call void @free(ptr %memory)
  ret void
}
"""
NAME = b"mem_handler"
SET_HANDLER = 304  # index of PyDataMem_SetHandler in NumPy's function table


class Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *((what, ctypes.c_void_p) for what in ("context", "malloc", "calloc", "realloc", "free")),
    ]


def _of_capsule(capsule, name):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


def _capsule(address, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, name, None)


def begin_arrays_without_numbers():
    """Install the allocator for all arrays that this thread makes afterwards."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(ALLOCATOR), machine)
    engine.finalize_object()
    places = [engine.get_function_address(name) for name in ("begun", "cleared", "resized", "ended")]
    handler = Handler(b"without numbers", 1, None, *places)
    functions = ctypes.cast(_of_capsule(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[SET_HANDLER])
    set_handler(_capsule(ctypes.addressof(handler), NAME))
    # Arrays are freed until the process ends, so that the handler and its code must never be freed.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(handler))
    engine.detach()
