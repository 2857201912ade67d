"""kane count: number of operations in the equations of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import kane
from kane.cli.model_argument import Base, BaseOption, ModelArgument, read_model
from kane.formulation.quantities import counts


def count_command(
    model: ModelArgument,
    base: BaseOption = Base.fixed,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Count the run-time operations of the equations of MODEL."""
    equations = kane.formulate(read_model(model, base))
    title, found = describe_operation_counts(equations)
    if as_json:
        rows = {name: dict(row) for name, row in found.items()}
        typer.echo(json.dumps({"model": equations.name, "speeds": len(equations.u), "operations": rows}, indent=2))
        return
    Console().print(operation_table(title, found))


def describe_operation_counts(equations: kane.Equations) -> tuple[str, Mapping[str, Mapping[str, int]]]:
    """Return a title and operation counts; for numerically embedded constraints, counts before the embedding."""
    embedding = equations.embedding
    words = (f"{equations.name}: {len(equations.u)} speeds", embedding.remark)
    return ", ".join(filter(None, words)), counts.count_programs(equations, embedding.counted)


def operation_table(title: str, counts: Mapping[str, Mapping[str, int]]) -> Table:
    """Return operation counts as a table: one row per program, one column per kind of operation."""
    table = Table(title=Text(title), title_justify="left")
    table.add_column("operations")
    columns = list(next(iter(counts.values())))
    for column in columns:
        table.add_column(column, justify="right")
    for name, row in counts.items():
        table.add_row(name.replace("_", " "), *(f"{row[column]:,}" for column in columns))
    return table
