"""kane check: the certificate of a model."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import kane
from kane.cli.model_argument import Base, BaseOption, ModelArgument, read_model


def check_command(
    model: ModelArgument,
    *,
    states: Annotated[int, typer.Option(min=1, help="How many random states.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random states.")] = 0,
    base: BaseOption = Base.fixed,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Check that independent derivations of MODEL agree and conservation laws hold; the exit status is 1 if not."""
    described = read_model(model, base)
    certificate = kane.certify(described, states=states, seed=seed)
    if as_json:
        typer.echo(json.dumps(certificate_record(described.name, certificate, states=states, seed=seed), indent=2))
    else:
        Console(soft_wrap=True).print(certificate_table(f"{described.name}: {states} states, seed {seed}", certificate))
    raise typer.Exit(exit_status(certificate))


def exit_status(certificate: kane.Certificate) -> int:
    """Return 0 if the certificate holds, else 1."""
    return 0 if certificate.holds else 1


def certificate_table(title: str, certificate: kane.Certificate) -> Table:
    """Return a certificate as a table with one row per claim."""
    table = Table(title=Text(title), title_justify="left")
    for column in ("claim", "digits", "", "remark"):
        table.add_column(column, justify="right" if column == "digits" else "left")
    for finding in certificate:
        digits = "" if finding.digits is None else f"{finding.digits:.1f}"
        table.add_row(*map(Text, (finding.claim, digits, finding.verdict, finding.remark)))
    return table


def certificate_record(name: str, certificate: kane.Certificate, *, states: int, seed: int) -> dict[str, Any]:
    """Return a certificate as JSON data; digits are null for claims that do not apply."""
    findings = [{"claim": f.claim, "digits": f.digits, "verdict": f.verdict, "remark": f.remark} for f in certificate]
    return {"model": name, "states": states, "seed": seed, "holds": certificate.holds, "claims": findings}
