"""Native code of ``kane.engine.step.lane_arithmetic``: vector instructions, one component per lane."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from kane.engine.compile.instructions import instruction
from kane.engine.step import lane_arithmetic as vectors

_DOUBLE = ir.DoubleType()
_INDEX = ir.IntType(64)


class _Vectors:
    """Emitter of vector instructions on the arrays of an intrinsic."""

    def __init__(self, context: Any, builder: Any, lanes: int) -> None:
        self.context, self.builder, self.lanes = context, builder, lanes
        self.type = ir.VectorType(_DOUBLE, lanes)

    def data(self, kind: Any, array: Any) -> Any:
        """Return a pointer to the first element of an array."""
        return self.context.make_array(kind)(self.context, self.builder, array).data

    def place(self, data: Any, row: Any) -> Any:
        """Return a pointer to vector ``row`` of an array."""
        start = self.builder.gep(data, [self.builder.mul(row, _INDEX(self.lanes))])
        return self.builder.bitcast(start, self.type.as_pointer())

    def load(self, data: Any, row: Any) -> Any:
        """Load vector ``row`` of an array."""
        return self.builder.load(self.place(data, row), align=8)

    def store(self, value: Any, data: Any, row: Any) -> None:
        """Store a vector as vector ``row`` of an array."""
        self.builder.store(value, self.place(data, row), align=8)

    def every(self, value: float) -> Any:
        """Return a constant vector with equal lanes."""
        return ir.Constant(self.type, [value] * self.lanes)

    def splat(self, value: Any) -> Any:
        """Return a vector with a double in all lanes."""
        result = ir.Constant(self.type, ir.Undefined)
        for lane in range(self.lanes):
            result = self.builder.insert_element(result, value, ir.IntType(32)(lane))
        return result

    def size(self, value: Any) -> Any:
        """Return the absolute values of a vector."""
        bits = ir.VectorType(_INDEX, self.lanes)
        mask = ir.Constant(bits, [2**63 - 1] * self.lanes)
        return self.builder.bitcast(self.builder.and_(self.builder.bitcast(value, bits), mask), self.type)

    def larger(self, a: Any, b: Any) -> Any:
        """Return the larger one of a and b in each lane; a if b is NaN."""
        return self.builder.select(self.builder.fcmp_ordered(">", b, a), b, a)


@instruction(vectors.add_slopes)
def _add_slopes(
    typingctx: Any, lanes: Any, out: Any, slopes: Any, weights: Any, chosen: Any, count: Any, size: Any
) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        writer = _Vectors(context, builder, signature.args[0].count)
        arrays = zip(signature.args[1:5], arguments[1:5], strict=True)
        to, rows, factors, places = (writer.data(kind, value) for kind, value in arrays)
        terms, components = arguments[5:]
        total = cgutils.alloca_once(builder, writer.type)
        with cgutils.for_range(builder, components) as outer:
            builder.store(writer.load(to, outer.index), total)
            with cgutils.for_range(builder, terms) as inner:
                stage = builder.load(builder.gep(places, [inner.index]))
                row = builder.add(builder.mul(stage, components), outer.index)
                product = builder.fmul(writer.load(factors, inner.index), writer.load(rows, row))
                builder.store(builder.fadd(builder.load(total), product), total)
            writer.store(builder.load(total), to, outer.index)
        return context.get_dummy_value()

    return types.void(lanes, out, slopes, weights, chosen, types.int64, types.int64), emit


@instruction(vectors.raise_to_errors)
def _raise_to_errors(
    typingctx: Any, lanes: Any, sizes: Any, x: Any, y: Any, z: Any, rtol: Any, atol: Any, count: Any
) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        writer = _Vectors(context, builder, signature.args[0].count)
        arrays = zip(signature.args[1:5], arguments[1:5], strict=True)
        to, before, after, errors = (writer.data(kind, value) for kind, value in arrays)
        relative, absolute = (writer.splat(value) for value in arguments[5:7])
        largest, zeros = (cgutils.alloca_once(builder, writer.type) for _ in range(2))
        builder.store(writer.load(to, _INDEX(0)), largest)
        builder.store(writer.every(0.0), zeros)
        with cgutils.for_range(builder, arguments[7]) as loop:
            a, b, e = (writer.load(data, loop.index) for data in (before, after, errors))
            scale = writer.larger(writer.size(a), writer.size(b))
            scale = builder.fadd(absolute, builder.fmul(relative, scale))
            share = builder.fdiv(writer.size(e), scale)
            builder.store(writer.larger(builder.load(largest), share), largest)
            for value in (b, e):
                zero = builder.fmul(value, writer.every(0.0))
                builder.store(builder.fadd(builder.load(zeros), zero), zeros)
        finite = builder.fcmp_ordered("==", builder.load(zeros), writer.every(0.0))
        found = builder.select(finite, builder.load(largest), writer.every(math.inf))
        writer.store(found, to, _INDEX(0))
        return context.get_dummy_value()

    return types.void(lanes, sizes, x, y, z, types.float64, types.float64, types.int64), emit
