"""Records in native code: a NamedTuple is a pointer to its fields.

A kernel takes a pointer for each record. By itself numba passes seven words for each array of each record, some hundred
words for most kernels, and LLVM spends most of its time on them. The fields of a record never change. A field that is a
record is stored inside its owner. An array is stored and passed as its address and its shape.

A record is stored in the stack of the function that makes it, at one place for each expression that makes records. It
is valid until that expression makes another one. So no variable may keep a record from one pass of a loop to the next,
which ``refuse_merged_records`` checks.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import ArrayModel, DataModel, UniTupleModel
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.ir import Assign, Expr
from numba.core.registry import cpu_target
from numba.core.typed_passes import PreLowerStripPhis

from kane.errors import CompileError

RECORDS = (types.NamedTuple, types.NamedUniTuple)
_WORD = ir.IntType(64)


def is_record(kind: Any) -> bool:
    """Check whether a type of numba is a record."""
    return isinstance(kind, RECORDS)


class RecordModel(DataModel):
    """Pointer to the fields of a record; as data, the fields themselves."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind)
        self.fields = [manager.lookup(field) for field in kind.types]
        self.layout = ir.LiteralStructType([field.get_data_type() for field in self.fields])

    def get_value_type(self) -> Any:
        return self.layout.as_pointer()

    get_argument_type = get_value_type

    def get_data_type(self) -> Any:
        return self.layout

    get_return_type = get_data_type

    def as_argument(self, builder: Any, value: Any) -> Any:
        return value

    from_argument = as_return = from_return = as_argument

    def as_data(self, builder: Any, value: Any) -> Any:
        return builder.load(value)

    def from_data(self, builder: Any, value: Any) -> Any:
        place = stack_place(builder, self.layout)
        builder.store(value, place)
        return place

    def made(self, builder: Any, values: Any) -> Any:
        """Emit a new record with these values."""
        place = stack_place(builder, self.layout)
        for k, (field, value) in enumerate(zip(self.fields, values, strict=True)):
            to = cgutils.gep_inbounds(builder, place, 0, k)
            if isinstance(field, RecordModel):
                copy_record(builder, value, to)
            else:
                builder.store(field.as_data(builder, value), to)
        return place

    def field(self, builder: Any, record: Any, k: int) -> Any:
        """Emit the value of field k."""
        field, place = self.fields[k], cgutils.gep_inbounds(builder, record, 0, k)
        return place if isinstance(field, RecordModel) else field.from_data(builder, builder.load(place))


def stack_place(builder: Any, kind: Any) -> Any:
    """Emit a place in the stack, whose content is undefined: zeros would be written at each call."""
    with builder.goto_entry_block():
        return builder.alloca(kind)


def copy_record(builder: Any, record: Any, to: Any) -> None:
    """Emit a copy of the fields of a record to another place."""
    size = _WORD(cpu_target.target_context.get_abi_sizeof(record.type.pointee))
    cgutils.raw_memcpy(builder, to, record, size, _WORD(1))


class PackedArray(ArrayModel):
    """Contiguous array, which is its address and its shape in memory, as an argument and as a result."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind)
        self._data = self.get_model(self.get_field_position("data")).get_value_type()
        self._parts = (self._data, *[_WORD] * kind.ndim)

    def get_argument_type(self) -> Any:
        return self._parts

    def get_data_type(self) -> Any:
        return ir.LiteralStructType(self._parts)

    get_return_type = get_data_type

    def as_argument(self, builder: Any, value: Any) -> Any:
        shape = self.get(builder, value, "shape")
        return (self.get(builder, value, "data"), *cgutils.unpack_tuple(builder, shape, self._fe_type.ndim))

    def from_argument(self, builder: Any, value: Any) -> Any:
        data, *shape = value
        size = cpu_target.target_context.get_abi_sizeof(self._data.pointee)
        strides = [_WORD(size)]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        count = _WORD(1)
        for length in shape:
            count = builder.mul(count, length)
        array = ir.Constant(self.get_value_type(), None)
        given = {"nitems": count, "itemsize": _WORD(size), "data": data}
        given |= {"shape": cgutils.pack_array(builder, shape), "strides": cgutils.pack_array(builder, strides)}
        for name, part in given.items():
            array = self.set(builder, array, part, name)
        return array

    def as_data(self, builder: Any, value: Any) -> Any:
        return cgutils.pack_struct(builder, self.as_argument(builder, value))

    def from_data(self, builder: Any, value: Any) -> Any:
        return self.from_argument(builder, cgutils.unpack_tuple(builder, value, len(self._parts)))

    as_return, from_return = as_data, from_data


def _array_model(manager: Any, kind: Any) -> ArrayModel:
    return PackedArray(manager, kind) if kind.layout == "C" else ArrayModel(manager, kind)


class UniformTuple(UniTupleModel):
    """Tuple of values of one type. It is returned as data, because a result must contain its records."""

    def get_return_type(self) -> Any:
        return self.get_data_type()

    as_return, from_return = UniTupleModel.as_data, UniTupleModel.from_data


def _model(context: Any, kind: Any) -> RecordModel:
    model: RecordModel = context.data_model_manager[kind]
    return model


def _emit_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    return _model(context, kind).field(builder, value, kind.fields.index(name))


def _emit_item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    (kind, _), (record, k) = signature.args, arguments
    return _model(context, kind).field(builder, record, k % len(kind.types))


def _holds_record(kind: Any) -> bool:
    return is_record(kind) or any(_holds_record(part) for part in getattr(kind, "types", ()))


def refuse_merged_records(state: Any) -> None:
    """Refuse a variable that is a record of one statement or of another, as where a loop keeps a record.

    Raises:
        CompileError: names the variable and its function.
    """
    for block in state.func_ir.blocks.values():
        for found in block.find_insts(Assign):
            merged = isinstance(found.value, Expr) and found.value.op == "phi"
            if merged and _holds_record(state.typemap[found.target.name]):
                raise CompileError(
                    f"{state.func_ir.func_id.func_qualname} assigns records to {found.target.unversioned_name} in "
                    "several places, where a later one may overwrite the memory of an earlier one: use several names"
                )


def use_records() -> None:
    """Make numba use these models from now on."""
    context, models = cpu_target.target_context, cpu_target.target_context.data_model_manager
    for kind in RECORDS:
        models.register(kind, RecordModel)
        lower_getattr_generic(kind)(_emit_field)
        lower_builtin("static_getitem", kind, types.IntegerLiteral)(_emit_item)
    models.register(types.Array, _array_model)
    models.register(types.UniTuple, UniformTuple)
    models._cache.clear()
    context.refresh()
    plain = type(context).make_tuple

    def make_tuple(self: Any, builder: Any, kind: Any, values: Any) -> Any:
        if is_record(kind):
            return _model(self, kind).made(builder, values)
        return plain(self, builder, kind, values)

    type(context).make_tuple = make_tuple
    lowering: Any = PreLowerStripPhis
    strip = lowering.run_pass

    def run_pass(self: Any, state: Any) -> Any:
        refuse_merged_records(state)
        return strip(self, state)

    lowering.run_pass = run_pass
