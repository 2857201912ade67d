"""Write views.py and docs/memory.md from regions.py: ``python -m kane.native.memory.generate``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from kane.native.memory import regions
from kane.native.memory.declare import CONSTANT, DOUBLES, Array, Region

VIEWS = Path(__file__).with_name("views.py")
PAGE = Path(__file__).parents[4] / "docs/memory.md"
WIDTH = 120
HEADER = '''"""Views of the regions of memory. Generated from regions.py by generate.py: do not edit.

``memory`` is a pointer in native code. In Python it is an array of doubles whose last axis is the region.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.native.call import integer_at, integers_at, matrix_at, native_inline, vector_at

# fmt: off
'''
INTRODUCTION = """# Memory of native code

Compiled programs and kernels share arrays of doubles. This page lists their regions. It is generated from
[regions.py](../src/kane/native/memory/regions.py), which declares each array once. Kernels read the arrays by name, as
fields of generated views. A size is the number of: {sizes}.
"""


def all_regions() -> list[Region]:
    """The declared regions, in the order of the file."""
    return [value for value in vars(regions).values() if isinstance(value, Region)]


def source() -> str:
    """The text of views.py."""
    return HEADER + "".join("\n\n" + "\n".join(_region_lines(region)) + "\n" for region in all_regions())


def page() -> str:
    """The text of docs/memory.md."""
    sizes = ", ".join(f"`{name}` {meaning}" for name, meaning in regions.SIZES.items())
    title, _, text = INTRODUCTION.partition("\n\n")
    lines = [title, "", *textwrap.wrap(text.format(sizes=sizes), WIDTH)]
    for region in all_regions():
        given = ", ".join(region.sizes) or "none"
        lines += ["", f"## {region.name}", "", *textwrap.wrap(f"{region.meaning} Sizes: {given}.", WIDTH), ""]
        lines += ["| array | shape | unit | written by | meaning |", "|---|---|---|---|---|"]
        for field in region.fields:
            if isinstance(field, Array):
                shape = ", ".join(field.shape) or ("1" if field.kind == CONSTANT else "")
                kind = "" if field.kind == DOUBLES else " integers"
                lines.append(f"| `{field.name}` | {shape}{kind} | {field.unit} | {field.writer} | {field.meaning} |")
            else:
                lines.append(f"| `{field.name}` | {', '.join(field.sizes)} | | | room for {field.region.name} |")
    return "\n".join(lines) + "\n"


def _region_lines(region: Region) -> Iterator[str]:
    yield f"class {region.name}(NamedTuple):"
    yield f'    """{region.meaning}"""'
    yield ""
    integers = [f.name for f in region.fields if not isinstance(f, Array) or f.kind == CONSTANT]
    for name in [*(f.name for f in region.fields), *(["whole"] if region.whole else []), "end"]:
        yield f"    {name}: {'int' if name in integers or name == 'end' else 'Any'}"
    arguments = ["memory: Any,", "start: Any,", *(f"{size}: Any," for size in region.sizes)]
    yield from ("", "", "@native_inline")
    yield from _filled(f"def {region.function}_at(", arguments, ") -> Any:")
    yield f'    """Return the {region.name} that begins ``start`` doubles after the start of ``memory``."""'
    place, values = "start", []
    for k, field in enumerate(region.fields):
        values.append(_value(field, place))
        yield f"    p{k + 1} = {place} + {field.length}"
        place = f"p{k + 1}"
    if region.whole:
        values.append(f"vector_at(memory, start, {place} - start)")
    yield from _filled(f"    return {region.name}(", [f"{value}," for value in [*values, place]], ")")
    given = ", ".join(f"{size}: Any" for size in region.sizes)
    yield from ("", "", "@native_inline", f"def {region.function}_size({given}) -> Any:")
    yield f'    """Return the number of doubles of {region.name}."""'
    yield from _filled("    return (", " + ".join(field.length for field in region.fields).split(" "), ")")


def _filled(begin: str, words: list[str], end: str) -> Iterator[str]:
    """A bracket in one line, or in lines that are filled."""
    line = f"{begin}{' '.join(words).rstrip(',')}{end}"
    if len(line) <= WIDTH:
        yield line
        return
    yield begin
    line = "       "
    for word in words:
        if len(line) + len(word) + 1 > WIDTH:
            yield line
            line = "       "
        line += f" {word}"
    yield line
    yield f"    {end}" if begin.startswith(" ") else end


def _value(field: object, place: str) -> str:
    if not isinstance(field, Array):
        return place
    if field.kind == CONSTANT:
        return f"integer_at(memory, {place})"
    if len(field.shape) == 2:
        return f"matrix_at(memory, {place}, {', '.join(field.shape)})"
    name = "vector_at" if field.kind == DOUBLES else "integers_at"
    return f"{name}(memory, {place}, {field.shape[0]})"


def main() -> None:
    """Write both files."""
    VIEWS.write_text(source())
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
