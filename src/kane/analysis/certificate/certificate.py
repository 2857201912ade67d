"""The certificate of a model: independent routes agree, laws of nature hold, to how many digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any, NamedTuple

import numpy as np

from kane.analysis.certificate.claims import CLAIMS, OF_REGULAR_MASS, Found
from kane.analysis.certificate.contacts import OF_CONTACTS, ContactRuns
from kane.analysis.certificate.embedding import OF_A_STATE, OF_CONSTRAINTS, OF_SPEEDS, Declared
from kane.analysis.certificate.reactions import OF_JOINTS, OF_REACTIONS
from kane.analysis.certificate.sensitivities import OF_SENSITIVITIES, Directions
from kane.analysis.random_states import RandomStates
from kane.errors import ModelError, shown
from kane.expression.arguments import require, whole, words
from kane.expression.collector import collector_paused
from kane.formulation.formulate import formulate
from kane.formulation.read_model import snapshot
from kane.model.model import Model

# Routes take different paths through the same numbers; in trees of tens of bodies with general inertias they differ
# by 1e-10 and less, whatever the seed. A wrong sign or a dropped term costs every digit but one or two.
DIGITS = 8.0
# So many random states take minutes; a claim that holds at them holds.
MOST_STATES = 1_000_000


class Finding(NamedTuple):
    """One line of a certificate.

    Attributes:
        claim: what was compared.
        digits: how many digits agree, 0 to 16, in the worst of the states; None where the claim does not apply.
        remark: why it does not apply, or what was found.
    """

    claim: str
    digits: float | None
    remark: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim holds, or does not apply."""
        return self.digits is None or self.digits >= DIGITS

    @property
    def verdict(self) -> str:
        """holds, FAILS or n/a."""
        return "n/a" if self.digits is None else "holds" if self.holds else "FAILS"


class Certificate(tuple[Finding, ...]):
    """What ``certify`` returns; prints as a table."""

    __slots__ = ()

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(finding.holds for finding in self)

    def __repr__(self) -> str:
        rows = []
        for finding in self:
            shown = "" if finding.digits is None else f"{finding.digits:.1f}"
            rows.append(f"{finding.claim:52}{shown:>6}  {finding.verdict:7}{finding.remark}".rstrip())
        return "\n".join([f"{'claim':52}digits", *rows])

    def _repr_html_(self) -> str:
        """For notebooks: the table."""
        head = "<tr><th>claim</th><th>digits</th><th>verdict</th><th></th></tr>"
        rows = [
            (finding.claim, "" if finding.digits is None else f"{finding.digits:.1f}", finding.verdict, finding.remark)
            for finding in self
        ]
        cells = ["".join(f"<td>{escape(word)}</td>" for word in row) for row in rows]
        return f"<table>{head}{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def certify(
    model: Model, *, near: Any = None, states: int = 4, seed: int = 0, sensitivities: Sequence[str] = ()
) -> Certificate:
    """Check the equations of a model against independent derivations and against nature.

    Claims, at random states, speeds, inputs and parameters: the recursive route agrees with Kane's explicit equations,
    with path tables (Stoneking) and with Lagrange's equations, which use only each joint's R_FM and p_FM; composite
    inertias agree with articulated ones; inverse after forward is identity; M is positive definite; the energy changes
    at the power of the loads and inputs; the momenta of a floating system change by the outer forces; the coordinates
    of every joint advance at their rates; the exact derivatives of the forces by q and u are slopes of the explicit
    route. These are claims of the joints' own speeds, constraints apart; speeds of
    choice agree with them, and where there are constraints, their embedding with multipliers, they are kept, and their
    forces do no work. The wrenches in joints (six of them at most) are what the bodies beyond need, cut free; under
    constraints they pass on the efforts of motors and springs along the freedoms, the reactions of constraint rows are
    multipliers, and three routes to all of them agree. A route that raises an error is a claim that fails.

    Where constraints come and go, runs of one second begin at random states, moved until nothing is inside: impulses
    are changes of momentum, the energy lost is the kinetic energy before less that behind, the energy changes by the
    work of loads, inputs and contact forces less what impacts lose, contacts only push, friction keeps its bounds.

    Args:
        model: a model that formulates.
        near: as for ``formulate``: the embedding on the graph near this state is checked, at states around it, against
            the embedding in numbers too. The ``model`` of equations that were formulated near a state has it already.
        states: how many random states.
        seed: of the states; the same seed gives the same certificate.
        sensitivities: names of parameters, coordinates, speeds and inputs, as of ``kane.sensitivities``: derivatives by
            them of runs of one second from random states are the same forwards and backwards.

    Raises:
        ModelError: the model has no degree of freedom, or does not formulate; an unknown name.
    """
    require(model, Model, "certify takes a kane.Model, of Dynamics dyn.equations.model")
    for name, value, least in (("states", states, 1), ("seed", seed, 0)):
        whole(value, f"{name} of a certificate", least)
    if states > MOST_STATES:
        raise ModelError(f"states of a certificate is {shown(states)}; give {MOST_STATES} at most: more say no more")
    asked = words(sensitivities, "sensitivities", "names")
    equations = formulate(model, near=near)
    model = equations.model
    if not equations.u:
        raise ModelError(f"the model {model.name!r} has no degree of freedom: there is nothing to certify")
    bare = snapshot(model)
    bare.speeds()
    own = formulate(bare).unconstrained
    at = RandomStates(own, states, seed)
    declared = Declared(equations, own, states, seed)
    directions = Directions.of(declared, asked) if asked else None
    with collector_paused(), np.errstate(all="ignore"):
        claims: dict[str, Callable[[], Found]] = {text: partial(claim, bare, own, at) for text, claim in CLAIMS.items()}
        if model.constraints:
            claims |= dict.fromkeys(OF_REGULAR_MASS, _constrained)
        if model.speed_choice.definitions:
            claims |= {text: partial(claim, declared) for text, claim in OF_SPEEDS.items()}
        if model.constraints:
            claims |= {text: partial(claim, declared) for text, claim in OF_CONSTRAINTS.items()}
        if model.speed_choice.near is not None:
            claims |= {text: partial(claim, declared) for text, claim in OF_A_STATE.items()}
        claims |= {text: partial(claim, declared) for text, claim in OF_JOINTS.items()}
        if model.constraints:
            claims |= {text: partial(claim, declared) for text, claim in OF_REACTIONS.items()}
        if model.candidates:
            runs = ContactRuns(declared)
            claims |= {text: partial(claim, runs) for text, claim in OF_CONTACTS.items()}
        if directions is not None:
            claims[OF_SENSITIVITIES] = directions.agree
        return Certificate(Finding(text, *_found(claim)) for text, claim in claims.items())


def _constrained() -> Found:
    return None, "the constraints decide: see their claims"


def _found(claim: Callable[[], Found]) -> Found:
    try:
        return claim()
    except Exception as error:  # whatever it is, it is what this certificate is asked to report
        return 0.0, f"{type(error).__name__}: {error}"
