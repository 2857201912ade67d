"""Memory of the engine: offsets only in engine/memory, one value per constant, a writer for each array."""

import ast
from collections import defaultdict

import pytest

from kane.engine.memory.declare import PROGRAMS, MemoryArray, MemoryRegion, real
from kane.engine.memory.generate import all_regions

# Folders and files that compute offsets: declarations and their views, the instructions, and their native code.
MEMORY = ("engine/memory/", "engine/call.py", "engine/compile/")
# Files whose arrays are not declared yet, with the number of offsets that each computes. Numbers may only fall.
UNDECLARED: dict[str, int] = {
    "engine/hybrid/chart_programs.py": 7,
    "engine/hybrid/compiled_mode_programs.py": 5,
    "engine/hybrid/mode_programs.py": 3,
    "engine/laws/generated_laws.py": 35,
    "engine/laws/internal_forces.py": 28,
    "engine/laws/newton.py": 5,
    "engine/linear/fronts.py": 7,
    "engine/project/speed_selections.py": 15,
    "engine/realtime/recorded_device.py": 1,
    "engine/rows/front_embedding.py": 1,
    "engine/rows/islands.py": 1,
    "engine/rows/tree_response.py": 3,
    "engine/step/lane_projection.py": 18,
}


def codes(sources):
    """Names of the enumerations in engine/memory, which may be indices of arrays."""
    return {name for s in sources if s.path.endswith("_codes.py") for name, _ in constants(s)}


def outer_names(part):
    """Names in capitals in an index, but not in the indices of arrays within it."""
    if isinstance(part, ast.Name):
        return {part.id} if part.id.isupper() and len(part.id) > 1 else set()
    if isinstance(part, ast.Subscript | ast.Call | ast.Attribute):
        return set()
    return {name for child in ast.iter_child_nodes(part) for name in outer_names(child)}


def offsets(source, allowed):
    """Texts of a file of the engine that compute the offset of an array.

    An offset is the computed start of a view, or a constant of a module as index, unless it is a code of engine/memory.
    """
    if not source.path.startswith("engine/") or source.path.startswith(MEMORY):
        return []
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            start = node.args[1]
            computed = isinstance(start, ast.BinOp) or (isinstance(start, ast.Constant) and start.value != 0)
            if node.func.id.endswith("_at") and computed and not isinstance(node.args[0], ast.Constant):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name | ast.Attribute):
            for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
                if outer_names(part) and not (isinstance(part, ast.Name) and part.id in allowed):
                    found.append(ast.unparse(node))
    return found


def constants(source):
    """Names and values of the constants of a file; a value is the text of its expression."""
    for node in source.tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = [ast.unparse(node.value)] * len(names)
        if isinstance(node.value, ast.Tuple) and isinstance(target, ast.Tuple):
            values = [ast.unparse(value) for value in node.value.elts]
        elif isinstance(target, ast.Tuple) and ast.unparse(node.value).startswith("range("):
            values = [str(k) for k in eval(ast.unparse(node.value), {"range": range})]
        yield from ((x.id, v) for x, v in zip(names, values, strict=True) if isinstance(x, ast.Name) and x.id.isupper())


def several_values(sources):
    """Constants of the engine with more than one value, and the values."""
    found = defaultdict(set)
    for source in sources:
        if source.path.startswith("engine/"):
            for name, value in constants(source):
                found[name].add(value)
    return {name: values for name, values in found.items() if len(values) > 1}


def without_writer(regions, sources):
    """Arrays without a writer, or with a writer that is neither a file of the package nor a compiled program."""
    files = {source.path.rpartition("/")[2].removesuffix(".py") for source in sources}
    known = files | set(PROGRAMS)
    return [
        f"{region.name}.{array.name}: {writer!r}"
        for region in regions
        for array in region.arrays
        for writer in array.writer.split(", ")
        if writer not in known
    ]


def test_no_kernel_computes_an_offset(sources):
    """Else declare the array in engine/memory, and read it by its name."""
    allowed = codes(sources)
    counts = {source.path: len(offsets(source, allowed)) for source in sources}
    assert {path: n for path, n in counts.items() if n > UNDECLARED.get(path, 0)} == {}


def test_a_constant_of_the_engine_has_one_value(sources):
    assert several_values(sources) == {}


def test_every_array_has_a_writer(sources):
    assert without_writer(all_regions(), sources) == []


@pytest.mark.parametrize(
    "text",
    [
        "x = vector_at(memory, 3, n)",
        "x = contact_table_at(memory, start + 2, n)",
        "x = table[PLACE]",
        "x = table[k, PLACE + 1]",
        "x = system.mode[GAPS + 1]",
        "x = clock[PLACE:]",
    ],
)
def test_a_computed_offset_is_seen(source_of, text):
    assert len(offsets(source_of("engine/step/a.py", text), {"GAPS"})) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("engine/memory/a.py", "x = vector_at(memory, 3, n)"),
        ("engine/step/a.py", "x = contact_table_at(memory, block.end, n)"),
        ("engine/step/a.py", "x = table.addresses[GAPS]"),
        ("engine/step/a.py", "x = table.normal[k + 1]"),
        ("engine/step/a.py", "x = vector_at(constants, table.places[GAPS], 0)"),
        ("engine/step/a.py", "x = constants[table.places[GAPS] + k]"),
        ("simulation/a.py", "x = table[PLACE]"),
    ],
)
def test_names_and_codes_are_no_offsets(source_of, path, text):
    assert offsets(source_of(path, text), {"GAPS"}) == []


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (("STEPS = 10", "STEPS = 20"), {"STEPS"}),
        (("OPEN, CLOSED = range(2)", "CLOSED = 0"), {"CLOSED"}),
        (("A, B = 1, 2", "B: int = 3"), {"B"}),
        (("STEPS = 10", "STEPS = 10"), set()),
        (("STEPS = 10", "steps = 20"), set()),
    ],
)
def test_two_values_of_a_constant_are_seen(source_of, texts, names):
    files = [source_of(f"engine/laws/{k}.py", text) for k, text in enumerate(texts)]
    assert set(several_values(files)) == names


@pytest.mark.parametrize("writer", ["", "nobody", "a, nobody"])
def test_an_array_without_a_writer_is_seen(source_of, writer):
    region = MemoryRegion("Probe", "Region of a test.", (), (real("x", ("1",), "m", writer, "an array"),))
    assert len(without_writer([region], [source_of("engine/step/a.py", "")])) == 1
    assert all(isinstance(array, MemoryArray) for array in region.arrays)
