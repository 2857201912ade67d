"""Native code of the instructions of ``kane.engine.call``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.core.typing.templates import infer_global
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from kane.engine import call

POINTER = types.CPointer(types.float64)
DOUBLE_POINTER = ir.DoubleType().as_pointer()


def instruction(name: Any) -> Callable[[Callable[..., Any]], None]:
    """Make numba replace calls of the Python function ``name`` by the decorated intrinsic."""

    def attach(definition: Callable[..., Any]) -> None:
        context, known = cpu_target.typing_context, intrinsic(definition)
        context.refresh()
        infer_global(name, context.resolve_value_type(known))

    return attach


@instruction(call.call_program)
def _call_program(typingctx: Any, address: Any, state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> Any:
    vectors = (state, inputs, constants, out, work)
    for vector in vectors:
        if not (isinstance(vector, types.Array) and vector.dtype == types.float64 and vector.ndim == 1):
            raise TypingError(f"call_program takes float64 vectors, not {vector}")
        if vector.layout != "C":
            raise TypingError("call_program takes contiguous vectors, because it ignores strides")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[1:], arguments[1:], strict=True)
        ]
        prototype = ir.FunctionType(ir.VoidType(), [pointer.type for pointer in pointers])
        builder.call(builder.inttoptr(arguments[0], prototype.as_pointer()), pointers)
        return context.get_dummy_value()

    return types.void(types.int64, *vectors), emit


@instruction(call.call_loop)
def _call_loop(typingctx: Any, address: Any, words: Any) -> Any:
    if not (isinstance(words, types.Array) and words.dtype == types.int64 and words.ndim == 1 and words.layout == "C"):
        raise TypingError(f"call_loop takes a contiguous int64 vector, not {words}")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(words)(context, builder, arguments[1]).data
        prototype = ir.FunctionType(ir.IntType(64), [data.type])
        return builder.call(builder.inttoptr(arguments[0], prototype.as_pointer()), [data])

    return types.int64(types.int64, words), emit


@instruction(call.memory_at)
def _memory_at(typingctx: Any, address: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], DOUBLE_POINTER)

    return POINTER(types.int64), emit


def array_over(context: Any, builder: Any, kind: Any, data: Any, lengths: Any) -> Any:
    """Emit a contiguous numba array over given memory, with 8 bytes per element."""
    array = make_array(kind)(context, builder)
    strides = [ir.Constant(ir.IntType(64), 8)]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.bitcast(data, array.data.type)
    populate_array(array, data=data, shape=lengths, strides=strides, itemsize=strides[-1], meminfo=None)
    return array._getvalue()


def _view(element: Any, dimensions: int, memory: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the signature and the code generator of an intrinsic ``(memory, offset, *lengths)`` that makes an array.

    It is an intrinsic because functions cannot return new arrays without numba's memory runtime.

    Args:
        element: type of the numbers.
        dimensions: of the array.
        memory: POINTER, or the type of a contiguous vector.
    """
    kind, is_array = types.Array(element, dimensions, "C"), isinstance(memory, types.Array)
    if is_array and not (memory.ndim == 1 and memory.layout == "C"):
        raise TypingError(f"memory is a pointer or a contiguous vector, not {memory}")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start, offset, *lengths = arguments
        if is_array:
            start = builder.bitcast(context.make_array(memory)(context, builder, start).data, DOUBLE_POINTER)
        return array_over(context, builder, kind, builder.gep(start, [offset]), lengths)

    return kind(memory if is_array else POINTER, *[types.int64] * (1 + dimensions)), emit


@instruction(call.vector_at)
def _vector_at(typingctx: Any, memory: Any, offset: Any, n: Any) -> Any:
    return _view(types.float64, 1, memory)


@instruction(call.matrix_at)
def _matrix_at(typingctx: Any, memory: Any, offset: Any, rows: Any, columns: Any) -> Any:
    return _view(types.float64, 2, memory)


@instruction(call.integers_at)
def _integers_at(typingctx: Any, memory: Any, offset: Any, n: Any) -> Any:
    return _view(types.int64, 1, memory)


@instruction(call.integer_at)
def _integer_at(typingctx: Any, memory: Any, offset: Any) -> Any:
    kind, emit_view = _view(types.int64, 1, memory)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = emit_view(context, builder, signature, [*arguments, ir.Constant(ir.IntType(64), 1)])
        return builder.load(context.make_array(kind.return_type)(context, builder, view).data)

    return types.int64(kind.args[0], types.int64), emit
