"""Numerical derivatives, returned as one block for each variable of differentiation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.compiler import lane_width
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.derivatives.constrained_derivatives import ConstrainedColumns
from kane.dynamics.derivatives.constrained_second import ConstrainedHessian
from kane.dynamics.state_function import StateFunction, checked_array
from kane.dynamics.unit_quaternions import OF_A_STAGE, UNIT
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import words
from kane.formulation.constraints.embedding import NumericalEmbedding
from kane.formulation.derivatives.constrained import ALL_SPEED_PROGRAMS, FORCE_PROGRAMS, constrained_terms
from kane.formulation.derivatives.forward_in_parts import derivative_parts
from kane.formulation.derivatives.inverse_in_parts import DerivativeParts
from kane.formulation.derivatives.program_derivative import Derivable, Derivative, derivative, derivative_program
from kane.formulation.derivatives.second import hessian, hessian_program
from kane.formulation.derivatives.solved_in_parts import is_long, solved_parts
from kane.formulation.derivatives.variables import Variable, variables
from kane.formulation.quantities.programs import quantity
from kane.formulation.reactions.reactions import Reactions

if TYPE_CHECKING:
    from kane.dynamics.dynamics import Dynamics

# Derivatives of a state from which on blocks of states are unpacked together, because more states leave the cache.
LONG_ROW, BLOCK_STATES = 1000, 32
# Function of q, u, rest (inputs or udot), t and parameters that returns values and derivative columns.
DerivativeColumns = Callable[[Any, Any, Any, Any, Any], tuple[Array, Array]]


@final
class Blocks(Mapping[str, Array]):
    """Derivatives at states by variable: J["q"] is (..., outputs, columns); for a single parameter (..., outputs).

    If the output is a single expression, the axis of outputs is omitted.

    Attributes:
        value: the outputs, (..., outputs).
        whole: the columns of all variables, concatenated, (..., outputs, columns).
    """

    def __init__(self, value: Array, columns: Array, variables: Sequence[Variable], *, single: bool) -> None:
        """Split columns (..., outputs, columns of all variables) into blocks."""
        self.value, self.whole = (value[..., 0], columns[..., 0, :]) if single else (value, columns)
        self._blocks: dict[str, Array] = {}
        start = 0
        for variable in variables:
            end = start + len(variable.labels)
            block = columns[..., 0, start:end] if single else columns[..., start:end]
            self._blocks[variable.word] = block[..., 0] if variable.single else block
            start = end

    def __getitem__(self, word: str) -> Array:
        if word not in self._blocks:
            raise _unasked(word, self)
        return self._blocks[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def __repr__(self) -> str:
        return "\n".join(f"{word}:\n{block}" for word, block in self._blocks.items())


class SecondBlocks(dict[tuple[str, str], Array]):
    """Second derivatives by pairs of variables."""

    def __missing__(self, pair: Any) -> NoReturn:
        there = list(dict.fromkeys(word for word, _ in self))
        if isinstance(pair, tuple) and len(pair) == 2:
            raise _unasked(next(word for word in pair if word not in there), there)
        raise KeyError(f'second derivatives need a pair of names, such as ["q", "u"], not {shown(pair)}')


def _unasked(word: object, there: Iterable[str]) -> KeyError:
    return KeyError(f"no derivative with respect to {word!r} was requested; there are {', '.join(there)}")


@final
class ResultPlaces:
    """Values and derivative columns in the results of native code."""

    def __init__(self, values: Sequence[int], entries: Sequence[Sequence[int]], width: int) -> None:
        """Take the positions in the results.

        Args:
            values: positions of the values.
            entries: rows, columns and positions of the entries that may be nonzero.
            width: number of columns.
        """
        self._values, self._shape = np.array(values, np.intp), (len(values), width)
        rows, columns, places = np.array(entries, np.intp).reshape(3, -1)
        at = rows * width + columns
        self._places = np.zeros(len(values) * width, np.intp)
        self._places[at] = places
        self._zeros = np.setdiff1d(np.arange(len(self._places)), at)
        runs = np.split(self._zeros, np.flatnonzero(np.diff(self._zeros) > 1) + 1)
        self._runs = [slice(run[0], run[-1] + 1) for run in runs if len(run)]

    def read(self, found: Array) -> tuple[Array, Array]:
        """Unpack native output to values (..., outputs) and derivative columns (..., outputs, columns)."""
        count = math.prod(found.shape[:-1])
        if len(self._places) >= LONG_ROW and count >= BLOCK_STATES and self._runs:
            columns = self._by_blocks(found.reshape(count, -1))
        else:
            columns = np.take(found, self._places, axis=-1)
            if count < len(self._runs):
                columns[..., self._zeros] = 0.0
            else:  # write zeros in contiguous memory, which is twice as fast for many states
                for run in self._runs:
                    columns[..., run] = 0.0
        return found[..., self._values], columns.reshape(*found.shape[:-1], *self._shape)

    def _by_blocks(self, states: Array) -> Array:
        """Return long columns of many states: blocks of results end with a zero, which is read like an entry."""
        count, n_out = states.shape
        columns, block = np.empty((count, len(self._places))), np.zeros((BLOCK_STATES, n_out + 1))
        places = self._places.copy()
        places[self._zeros] = n_out
        for k in range(0, count, BLOCK_STATES):
            part = block[: count - k]
            part[:, :-1] = states[k : k + BLOCK_STATES]
            np.take(part, places, axis=1, out=columns[k : k + BLOCK_STATES], mode="clip")
        return columns


def derivatives_of(dyn: Dynamics, of: Derivable, wrt: Sequence[str]) -> Derivatives:
    """Return ``Derivatives``, made on first request and cached in the dynamics."""
    given = tuple(of) if isinstance(of, list | tuple) else of
    words_of = tuple(words(wrt, "wrt", "words"))
    listed = isinstance(given, tuple) and given and all(isinstance(x, Expr) for x in given)
    if not (listed or isinstance(given, str | Expr | Reactions)):
        raise ModelError(
            f"there are no derivatives of {shown(of)}; give the name of a program, an expression, a list of them, or "
            "reactions"
        )
    if isinstance(given, Reactions) and given.equations is not dyn.equations:
        raise ModelError("the reactions belong to other equations; reveal them from dyn.equations")
    return dyn.derived(("derivatives", given, words_of), lambda: Derivatives(dyn, given, words_of))


@final
class Derivatives:
    """Exact derivatives of outputs f; a call at states returns ``Blocks``.

        d = dyn.derivatives("forward", wrt=("q", "u", "inputs", "L1"))
        J = d(q, u, inputs);  J["q"], J["L1"]

    Coordinates vary in their tangent space, along s = w dt, where w are the joints' own speeds. A coordinate whose rate
    is a speed varies directly; a quaternion varies by small rotations about the axes of the moving frame.

    Under constraints f is the function that ``Dynamics`` evaluates. Dependent speeds follow from the independent ones,
    so that only columns of independent speeds are nonzero. q varies freely, on or off the constraints. For piecewise
    functions (``select``, ``maximum``, ``minimum``) derivatives belong to the active branch, one-sided at the switch.
    At zero ``absolute`` has the derivative zero, the mean of both sides.

    Args:
        dyn: dynamics that evaluate f.
        of: name of a program ("forward", "inverse", "rhs", "energy", "poses", ...), an expression of the model, a list
            of expressions, or reactions (``kane.reveal_reactions``), of which the determinate ones are differentiated.
        wrt: any of "q", "u", "udot" (for "inverse"), "inputs" (for functions of inputs), "t", and names of parameters;
            "coordinates" differentiates by each coordinate, also of quaternions, as integration methods need.

    Attributes:
        outputs: names of f.
        columns: names of the columns by variable; for "q" the joints' own speeds, along which coordinates vary.
        function: native code, for use in loops; None under numerically embedded constraints.
        program: values and entries as one straight-line program, for code emitters; None under numerically embedded
            constraints. It is derived on demand if ``function`` solves for many accelerations numerically.
        sparsity: by variable, which entries of a block can be nonzero, (outputs, columns); None as for ``program``.

    Raises:
        ModelError: unknown names, or a quantity without expressions because its constraints are embedded numerically.

    Source: Carpentier & Mansard 2018 for implicit differentiation of udot.
    """

    def __init__(self, dyn: Dynamics, of: Derivable, wrt: Sequence[str]) -> None:
        equations, self._dyn = dyn.equations, dyn
        self._of, self._wrt = of, wrt
        self.function: ArrayFunction | None = None
        moves = not isinstance(of, str) or of in (*FORCE_PROGRAMS, *ALL_SPEED_PROGRAMS)
        self._numerical = isinstance(equations.embedding, NumericalEmbedding) and moves
        if self._numerical:
            terms = constrained_terms(equations, of, wrt)
            self._at: DerivativeColumns = ConstrainedColumns(dyn, terms).at
            self._variables, self.outputs, self._single = terms.varied, terms.names, terms.single
            self._name = terms.derivative.name
            self._rest = equations.udot if self._name == "inverse" else equations.inputs
        elif isinstance(of, str) and (parts := self._in_parts(of)):
            asked = quantity(equations, of)
            self._variables, self.outputs = variables(equations, wrt, asked.rest), tuple(asked.names)
            self._name, self._rest, self._single = of, tuple(asked.rest), False
            self._at = self._called(parts.program, parts.values, parts.places(self._variables))
        else:
            found = self._found
            self._variables, self.outputs, self._single = found.variables, tuple(found.names), found.single
            self._name, self._rest = found.name, found.rest
            count = len(found.values)
            entries = [*zip(*((i, j, count + k) for k, (i, j) in enumerate(found.entries)), strict=True)]
            self._at = self._called(derivative_program(equations, found), range(count), entries)
        self.columns: Mapping[str, tuple[str, ...]] = {x.word: x.labels for x in self._variables}

    def _in_parts(self, of: str) -> DerivativeParts | None:
        """Return the derivatives as a program in parts, if it is shorter than the symbolic program."""
        equations, wrt, width = self._dyn.equations, self._wrt, lane_width()
        found = derivative_parts(
            equations, of, wrt, width, lambda: len(derivative_program(equations, self._found).instructions)
        )
        if found is None and is_long(equations, of, wrt):
            return solved_parts(equations, of, wrt, width)
        return found

    def _called(self, program: Program, values: Sequence[int], entries: Sequence[Sequence[int]]) -> DerivativeColumns:
        """Compile a program, and return a function that calls it for values and columns at states."""
        dyn, width = self._dyn, sum(len(x.labels) for x in self._variables)
        function = self.function = dyn.compile(program)
        read = ResultPlaces(values, entries, width).read
        within = OF_A_STAGE if self._name == "rhs" else UNIT
        word = "udot" if self._name == "inverse" else "inputs"
        call = StateFunction(dyn.equations, function, word, dyn.parameters, within)

        def at(q: Any, u: Any, rest: Any, t: Any, parameters: Any) -> tuple[Array, Array]:
            stage = call.stage if parameters is None else function.stage(dyn.parameter_values(parameters))
            return read(call((q, u), rest, t, stage))

        return at

    @cached_property
    def _found(self) -> Derivative:
        """Symbolic values and entries."""
        return derivative(self._dyn.equations, self._of, self._wrt)

    @cached_property
    def program(self) -> Program | None:
        """See the class."""
        return None if self._numerical else derivative_program(self._dyn.equations, self._found)

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """(output, column) of each entry of ``program``, in its order, in the concatenated columns of all variables."""
        return () if self._numerical else tuple(self._found.entries)

    @cached_property
    def sparsity(self) -> Mapping[str, NDArray[np.bool_]] | None:
        """See the class."""
        if self._numerical:
            return None
        found = self._found
        pattern = np.zeros((len(found.values), len(found.labels)))
        for place in found.entries:
            pattern[place] = 1.0
        blocks = Blocks(np.zeros(len(found.values)), pattern, found.variables, single=False)
        return {word: block.astype(bool) for word, block in blocks.items()}

    def __repr__(self) -> str:
        return f"<Derivatives of {self._name} of {self._dyn.equations.name!r} by {', '.join(self.columns)}>"

    def hessian(
        self, q: Any, u: Any, rest: Any = None, t: Any = None, *, weights: Any, parameters: Any = None
    ) -> SecondBlocks:
        """Return second derivatives of the weighted sum of the outputs.

        The result is {("q", "u"): (..., columns of q, columns of u), ...}. It is exact, and cheaper than the Hessians
        of the single outputs. Along q, derivatives are second derivatives along motions in which the joints' own speeds
        are constant; this makes the result symmetric.

        Args:
            q, u, rest, t, parameters: as for a call.
            weights: one number per output, (..., outputs).

        Raises:
            ModelError: as for a call.
        """
        if self._numerical:
            values = checked_array(weights, "weights", len(self.outputs))
            whole = self._second_numerically.at((q, u), self._read(rest), t, parameters, values)
            return self._blocks_of(whole)
        function, places = self._second
        values = checked_array(weights, "weights", len(self.outputs))
        if rest is None:
            self(q, u, None, t, parameters=parameters)  # raises if an argument is missing
        rest = np.zeros(len(self._rest)) if rest is None else checked_array(rest, "inputs or udot", len(self._rest))
        batch = np.broadcast_shapes(values.shape[:-1], rest.shape[:-1])
        read = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (rest, values)]
        found = self._dyn.evaluate(function, q, u, np.concatenate(read, axis=-1), t, parameters=parameters)
        width = sum(map(len, self.columns.values()))
        whole = np.zeros((*found.shape[:-1], width, width))
        whole[..., places[0], places[1]] = found
        return self._blocks_of(0.5 * (whole + np.swapaxes(whole, -1, -2)))

    def _blocks_of(self, whole: Array) -> SecondBlocks:
        ends = np.cumsum([0, *map(len, self.columns.values())])
        spans = {word: slice(*ends[k : k + 2]) for k, word in enumerate(self.columns)}
        return SecondBlocks({(a, b): whole[..., spans[a], spans[b]] for a in spans for b in spans})

    @cached_property
    def _second_numerically(self) -> ConstrainedHessian:
        """Second derivatives under numerically embedded constraints."""
        terms = constrained_terms(self._dyn.equations, self._of, self._wrt)
        return ConstrainedHessian(self._dyn, terms, ConstrainedColumns(self._dyn, terms))

    @cached_property
    def _second(self) -> tuple[CompiledFunction, NDArray[np.intp]]:
        """Program of second derivatives, and the rows and columns of its outputs."""
        equations = self._dyn.equations
        second = hessian(equations, self._found)
        places = np.array(list(second.entries), dtype=np.intp).reshape(-1, 2).T
        return self._dyn.compile(hessian_program(equations, self._found, second)), places

    def __call__(self, q: Any, u: Any, rest: Any = None, t: Any = None, *, parameters: Any = None) -> Blocks:
        """Return the derivatives at states; every argument may be a batch.

        Args:
            q, u: coordinates (..., nq) and speeds (..., n).
            rest: further arguments of the outputs: udot of inverse dynamics, inputs of most others; may be omitted if
                the outputs do not depend on them.
            t, parameters: as for the methods of ``Dynamics``.

        Raises:
            ModelError: as for the methods of ``Dynamics``.
        """
        value, columns = self._at(q, u, self._read(rest), t, parameters)
        return Blocks(value, columns, self._variables, single=self._single)

    def _read(self, rest: Any) -> Any:
        """Return the further arguments as given, or () if the outputs have none."""
        if self._rest and rest is None and self._rest == self._dyn.equations.udot:
            raise ModelError(f"the derivatives of {self._name!r} need accelerations; give udot as the third argument")
        return rest if self._rest else ()
