"""The shape of the code (architecture, section 8): small functions, files and classes, few positional arguments."""

import ast

import pytest

from benchmarks.structure import FUNCTIONS, body_lines

FUNCTION_LINES, KERNEL_LINES, FILE_LINES, POSITIONAL_ARGUMENTS = 40, 80, 400, 5
# Those of Dynamics, the one face of all numbers of a model; every other class has 15 at most.
PUBLIC_METHODS = 20
TYPICAL_FUNCTION_LINES = 20  # nine functions of ten
FORBIDDEN_MODULES = {"utils", "util", "common", "helpers", "helper", "base", "misc", "tools"}
KERNEL_DECORATORS = {
    "njit",
    "jit",
    "cfunc",
    "intrinsic",
    "native_loop",
    "native_inline",
    "native_kernel",
    "native_program",
    "native_instruction",
    "instruction",
}

# Every exception by name, each with its reason. One that is no longer needed fails a test.
EXCEPTIONS: dict[str, str] = {
    "engine/memory/views.py": "generated from the declarations of memory",
    "compat/opty/constraint_collocator.py::ConstraintCollocator.__init__": "the arguments are opty's",
    "compat/opty/opty_problem.py::OptyProblem.__init__": "the arguments are opty's",
    "compat/opty/objective_function.py::create_objective_function": "the arguments are opty's",
}


def is_kernel(function):
    words = {node.id for d in function.decorator_list for node in ast.walk(d) if isinstance(node, ast.Name)}
    words |= {node.attr for d in function.decorator_list for node in ast.walk(d) if isinstance(node, ast.Attribute)}
    return bool(words & KERNEL_DECORATORS)


def is_property(function):
    words = {ast.unparse(d).split(".")[-1].split("(")[0] for d in function.decorator_list}
    return bool(words & {"property", "cached_property", "setter"})


def positional(function, in_class):
    arguments = [a.arg for a in [*function.args.posonlyargs, *function.args.args]]
    static = any(ast.unparse(d) == "staticmethod" for d in function.decorator_list)
    return len(arguments) - (in_class and not static)


def excesses(source):
    """Name and message of everything in a file that is over a ceiling."""
    lines = source.text.count("\n")
    if lines > FILE_LINES:
        yield source.path, f"{lines} lines, {FILE_LINES} allowed"
    stem = source.path.removesuffix(".py").split("/")
    for word in FORBIDDEN_MODULES.intersection(stem):
        yield source.path, f"a module called {word} says nothing about what is in it"
    for name, function, in_class in source.functions():
        allowed = KERNEL_LINES if is_kernel(function) else FUNCTION_LINES
        if body_lines(function) > allowed:
            yield f"{source.path}::{name}", f"{body_lines(function)} lines, {allowed} allowed"
        number = positional(function, in_class)
        # Numba knows no keyword-only arguments, and kernels pass flat arrays.
        if number > POSITIONAL_ARGUMENTS and not is_kernel(function):
            yield f"{source.path}::{name}", f"{number} positional arguments, {POSITIONAL_ARGUMENTS} allowed"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef):
            methods = [m for m in node.body if isinstance(m, FUNCTIONS) and m.name[0] != "_" and not is_property(m)]
            if len(methods) > PUBLIC_METHODS:
                yield f"{source.path}::{node.name}", f"{len(methods)} public methods, {PUBLIC_METHODS} allowed"


def test_nothing_is_over_a_ceiling_but_the_named_exceptions(sources):
    over = [f"{name}: {message}" for s in sources for name, message in excesses(s) if name not in EXCEPTIONS]
    assert over == []


def test_every_named_exception_is_still_needed(sources):
    needed = {name for s in sources for name, _ in excesses(s)}
    assert sorted(set(EXCEPTIONS) - needed) == []


def test_nine_functions_of_ten_are_short(sources):
    lengths = sorted(body_lines(f) for s in sources for _, f, _ in s.functions() if not is_kernel(f))
    assert lengths[int(0.9 * len(lengths))] <= TYPICAL_FUNCTION_LINES


LONG = "\n".join("    x = 1" for _ in range(FUNCTION_LINES))
VERY_LONG = "\n".join("    x = 1" for _ in range(KERNEL_LINES))
MANY = "\n".join(f"    def m{i}(self): ..." for i in range(PUBLIC_METHODS + 1))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", f"def f():\n{LONG}"),
        ("a.py", f"class A:\n  def f(self):\n    def g():\n{LONG.replace('    ', '      ')}\n    g"),
        ("a.py", f"@numba.njit(nogil=True)\ndef f():\n{VERY_LONG}"),
        ("a.py", "x = 1\n" * (FILE_LINES + 1)),
        ("a.py", "def f(a, b, c, d, e, g): ..."),
        ("a.py", "class A:\n    def f(self, a, b, c, d, e, g): ..."),
        ("a.py", "class A:\n    @staticmethod\n    def f(a, b, c, d, e, g): ..."),
        ("a.py", f"class A:\n{MANY}"),
        ("model/utils.py", ""),
        ("helpers/a.py", ""),
    ],
)
def test_what_is_over_a_ceiling_is_seen(source_of, path, text):
    assert list(excesses(source_of(path, text)))


@pytest.mark.parametrize(
    "text",
    [
        f'def f():\n    """{LONG}"""\n    return 1',
        f"@njit\ndef f(a, b, c, d, e, g):\n{LONG}",
        "class A:\n    def f(self, a, b, c, d, e, *, g=0): ...",
        f"class A:\n{MANY.replace('def m1(', '@property' + chr(10) + '    def m1(')}",
    ],
)
def test_what_is_at_a_ceiling_is_allowed(source_of, text):
    assert list(excesses(source_of("a.py", text))) == []
