"""C99 source against the interpreter and against the LLVM code of the same program."""

import ctypes
import itertools
import math
import re
import shutil
import subprocess

import numpy as np
import pytest
from oracles.programs import TABLE, every_operation, moving, nested

from kane.codegen.emit.c import ROWS, emit_c, emit_c_header
from kane.codegen.jit.compiler import compile_program
from kane.codegen.programs.program import Program
from kane.errors import ExpressionError
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.functions import maximum, select, sin, spline
from kane.expression.interpret import interpret
from kane.expression.operations import ACCELERATION, COORDINATE, PARAMETER, SPEED
from kane.expression.traverse import CONSTRUCTORS

STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror")


class CLibrary:
    """The interpreter's functions taken from the C library, which the compiled code calls too."""

    number = np.float64
    minimum, maximum, where, fabs, sign, sqrt = np.minimum, np.maximum, np.where, np.fabs, np.sign, np.sqrt


def _quietly(function):
    def value(*args):
        try:
            return np.float64(function(*map(float, args)))
        except ValueError:  # Python's word for NaN, and for infinity in log(0)
            return np.float64(-math.inf if function is math.log and args[0] == 0 else math.nan)
        except OverflowError:
            return np.float64(math.inf)

    return staticmethod(value)


for word in ("sin", "cos", "tan", "asin", "acos", "atan2", "exp", "log", "tanh"):
    setattr(CLibrary, word, _quietly(getattr(math, word)))


def run(command):
    assert shutil.which("gcc"), "these tests need gcc; install it (apt-get install gcc)"
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Library:
    """Compiled C source: functions by name, called on arrays with no scratch array."""

    def __init__(self, folder, source, *flags):
        (folder / "source.c").write_text(source)
        target = str(folder / "library.so")
        run(["gcc", *STRICT, *flags, "-shared", "-fPIC", str(folder / "source.c"), "-o", target, "-lm"])
        self.library = ctypes.CDLL(target)

    def __call__(self, function, *arrays):
        pointers = [None if a is None else a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
        self.library[function](*pointers)


class Case:
    """A program with the numbers that go in."""

    def __init__(self, program):
        self.program = program

    def by_c(self, library, state, rest=(), parameters=()):
        stage, out = np.full(len(self.program.stage_outputs), np.nan), np.full(len(self.program.outputs), np.nan)
        library("t_f_stage", np.array(parameters, float), stage, None)
        library("t_f", np.array(state, float), np.array(rest, float), stage, out, None)
        return out

    def interpreted(self, state, rest=(), parameters=(), functions=CLibrary):
        program = self.program
        leaves = [*program.state, *program.rest, *program.parameters]
        values = dict(zip(leaves, map(float, [*state, *rest, *parameters]), strict=True))
        return np.array(interpret(program.outputs, values, functions), float)


def test_every_operation_has_a_row():
    assert set(ROWS) == set(CONSTRUCTORS)


def test_without_fused_operations_c_is_the_interpreter_bit_for_bit(tmp_path):
    case = Case(every_operation())
    library = Library(tmp_path, emit_c([case.program], name="t"), "-ffp-contract=off")
    values = (0.37, -1.9, 2.25, 0.0, math.nan)
    for state in itertools.product(values, repeat=3):
        # The same IEEE operations in the same order and the same libm: not one bit of tolerance.
        np.testing.assert_array_equal(case.by_c(library, state), case.interpreted(state))


def test_operations_inside_others_keep_their_order(tmp_path):
    case = Case(nested())
    library = Library(tmp_path, emit_c([case.program], name="t"), "-ffp-contract=off")
    state = [1.37, 0.71, 2.9]
    expected = case.interpreted(state)
    # Powers alone are another library's: of the size of some ulp.
    np.testing.assert_allclose(case.by_c(library, state), expected, rtol=1e-15, atol=0)


def test_the_piece_of_a_spline_that_holds_is_the_interpreters(tmp_path):
    x = Arena().leaf(COORDINATE, "x")
    case = Case(Program("f", [construct.build_spline(x, TABLE)], state=[x], rest=[], parameters=[]))
    library = Library(tmp_path, emit_c([case.program], name="t"), "-ffp-contract=off")
    for at in (*np.linspace(-2, 3.5, 56), *TABLE.knots, *np.nextafter(TABLE.knots, -math.inf), math.nan):
        np.testing.assert_array_equal(case.by_c(library, [at]), [TABLE.value(at)])


def test_stages_and_arrays_reach_their_places(tmp_path):
    case = Case(moving())
    library = Library(tmp_path, emit_c([case.program], name="t"), "-ffp-contract=off")
    numbers = ([0.2, 0.4, -0.7, 1.1, 2.0, -3.0, 0.5], [1.75], [3.0, 0.4])
    np.testing.assert_array_equal(case.by_c(library, *numbers), case.interpreted(*numbers))


def test_fused_operations_and_own_sines_change_the_last_bits_only(tmp_path):
    case = Case(moving())
    # The machine's own instructions, so that products and sums are in fact fused where it can.
    library = Library(tmp_path, emit_c([case.program], name="t"), "-ffp-contract=fast", "-march=native")
    numbers = ([0.2, 0.4, -0.7, 1.1, 2.0, -3.0, 0.5], [1.75], [3.0, 0.4])
    expected = case.interpreted(*numbers)
    # No value on the way exceeds 40, and an output is made by fewer than 30 operations, each of them rounded (or not,
    # when fused) by half a unit in the last place; sines of LLVM code are good to 2 units.
    bound = 40 * 30 * 2.0**-52
    np.testing.assert_allclose(case.by_c(library, *numbers), expected, rtol=0, atol=bound)
    compiled = compile_program(case.program)
    native = compiled(np.array(numbers[0]), np.array(numbers[1]), compiled.stage(np.array(numbers[2])))
    np.testing.assert_allclose(case.by_c(library, *numbers), native, rtol=0, atol=bound)


def test_every_operation_agrees_with_llvm(tmp_path):
    case = Case(every_operation())
    library = Library(tmp_path, emit_c([case.program], name="t"))
    compiled = compile_program(case.program)
    stage = compiled.stage(np.empty(0))
    for state in ((0.37, 1.9, 2.25), (1.37, 0.6, 0.25), (math.nan, 1.0, 2.0)):
        native = compiled(np.array(state), np.empty(0), stage)
        # A few operations each, on values of order 1 to 10, and quotients of them: relative errors of some 1e-15 from
        # fused operations and from sines good to 2 ulp, grown tenfold where z f - (y - x) cancels.
        np.testing.assert_allclose(case.by_c(library, state), native, rtol=1e-13, atol=1e-13)


def test_constants_keep_all_their_bits(tmp_path):
    arena = Arena()
    x = arena.leaf(COORDINATE, "x")
    constants = [
        0.1,
        1 / 3,
        math.pi,
        3.0,
        1e300,
        5e-324,
        1.7976931348623157e308,
        123456789012345680.0,
        2.0**-1074,
        -7.0,
    ]
    case = Case(Program("f", [*map(arena.constant, constants), x], state=[x], rest=[], parameters=[]))
    library = Library(tmp_path, emit_c([case.program], name="t"))
    np.testing.assert_array_equal(case.by_c(library, [2.0]), [*constants, 2.0])
    assert "out[3] = 3.0;" in emit_c([case.program], name="t")


HOSTILE = ["double", "Z1", "Z_2", "M_PI", "NAN", "state", "out", "sin", "kane_max", "1st", "", "a b", "a_b", "a*/b",
           "??/", "a\nb", "\\", "\u03b8", "__x", "I", "y1", "P1", "P2", "unix", "FP_ZERO", "kane_spline1", "cos", "tan",
           "asin", "acos", "atan2", "exp", "log", "tanh", "pow", "sqrt", "fabs", "isnan", "rest", "stage",
           "work"]  # fmt: skip


def test_hostile_names_become_identifiers_of_their_own(tmp_path):
    arena = Arena()
    leaves = [arena.leaf(COORDINATE, name) for name in HOSTILE]
    parameter = arena.leaf(PARAMETER, "/* comment")
    weighted = [(i + 2) * sin(leaf) * (parameter + i) for i, leaf in enumerate(leaves)]
    outputs = [*weighted, maximum(leaves[0], leaves[1]), spline(leaves[0], [0, 1, 2], [0, 1, 4])]
    program = Program("*/ int main(void) {", outputs, state=leaves, rest=[], parameters=[parameter])
    source = emit_c([program], name="0 bad")
    (tmp_path / "header.h").write_text(emit_c_header([program], name="0 bad"))
    library = Library(tmp_path, f'#include "{tmp_path}/header.h"\n' + source, "-ffp-contract=off", "-Wno-unused")
    name = re.search(r"void (\w+)_stage", source)[1]
    state = np.linspace(0.1, 1.9, len(leaves))
    stage, out = np.empty(len(program.stage_outputs)), np.empty(len(outputs))
    library(f"{name}_stage", np.array([0.75]), stage, None)
    library(name, state, np.empty(0), stage, out, None)
    values = dict(zip([*leaves, parameter], [*state, 0.75], strict=True))
    np.testing.assert_array_equal(out, interpret(outputs, values, CLibrary))


def test_the_header_declares_the_functions_and_the_lengths(tmp_path):
    case = Case(moving())
    (tmp_path / "t.h").write_text(emit_c_header([case.program], name="t"))
    caller = '#include "t.h"\n#include "t.h"\nint main(void)\n{\n    double o[t_f_N_OUT], s[t_f_N_STAGE];\n'
    caller += "    double x[t_f_N_STATE] = {0}, r[t_f_N_REST] = {0}, p[t_f_N_PARAMETERS] = {3.0, 2.0};\n"
    caller += "    t_f_stage(p, s, 0);\n    t_f(x, r, s, o, 0);\n    return o[3] == 12.0 ? 0 : 1;\n}\n"
    (tmp_path / "main.c").write_text(caller)
    (tmp_path / "t.c").write_text(emit_c([case.program], name="t"))
    run(["gcc", *STRICT, str(tmp_path / "main.c"), str(tmp_path / "t.c"), "-o", str(tmp_path / "main"), "-lm"])
    run([str(tmp_path / "main")])


def test_a_module_of_many_programs_shares_its_tables_and_an_empty_one_compiles(tmp_path):
    arena = Arena()
    x = arena.leaf(COORDINATE, "x")
    y = spline(x, [0, 1, 2], [0, 1, 4])
    programs = [Program(f"p{i}", [y * (i + 1)], state=[x], rest=[], parameters=[]) for i in range(3)]
    programs.append(Program("empty", [], state=[], rest=[], parameters=[]))
    source = emit_c(programs, name="t")
    assert source.count("static const double") == 1
    library = Library(tmp_path, source)
    for i in range(3):
        out = np.empty(1)
        library(f"t_p{i}", np.array([1.5]), None, None, out, None)
        assert out[0] == pytest.approx(2.25 * (i + 1), rel=1e-14)  # the parabola x**2, a few roundings


def test_an_acceleration_and_the_speed_whose_name_it_bears_are_told_apart():
    arena = Arena()
    u, udot = arena.leaf(SPEED, "u1"), arena.leaf(ACCELERATION, "u1")
    source = emit_c([Program("p", [u * udot], state=[u], rest=[udot], parameters=[])], name="t")
    assert "const double u1_dot = rest[0];" in source
    assert "out[0] = u1 * u1_dot;" in source


def test_functions_that_are_not_used_are_not_defined():
    assert "kane_" not in emit_c([moving()], name="t")


def test_two_programs_that_would_share_a_name_are_refused():
    def program(name):
        return Program(name, [], state=[], rest=[], parameters=[])

    with pytest.raises(ExpressionError, match=r"'a b' and 'a-b' would both become the C function t_a_b; rename one"):
        emit_c([program("a b"), program("a-b")], name="t")
    with pytest.raises(ExpressionError, match="t_a_stage; rename one"):
        emit_c_header([program("a"), program("a_stage")], name="t")


def test_a_choice_tests_its_comparison_directly():
    arena = Arena()
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    program = Program("p", [select(x < y, x, 2.0), select(x, y, 1.0)], state=[x, y], rest=[], parameters=[])
    source = emit_c([program], name="t")
    assert "out[0] = (x < y ? x : 2.0);" in source
    assert "out[1] = (x != 0.0 ? y : 1.0);" in source


def test_a_chain_of_30000_operations_is_written_in_short_lines():
    arena = Arena()
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    node = x
    for i in range(30_000):
        node = sin(node) if i % 3 == 0 else node * y if i % 3 == 1 else node - x
    source = emit_c([Program("p", [node], state=[x, y], rest=[], parameters=[])], name="t")
    assert source.count("sin(") == 10_000
    assert max(map(len, source.splitlines())) <= 120
