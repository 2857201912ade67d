"""certify: check a model's equations by independent derivations and physical laws, in decimal digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any, NamedTuple

import numpy as np

from kane.analysis.certificate.claims import CLAIMS, OF_REGULAR_MASS, Found
from kane.analysis.certificate.contact_claims import OF_CONTACTS, ContactRuns
from kane.analysis.certificate.embedding_claims import OF_A_STATE, OF_CONSTRAINTS, SPEED_CLAIMS, Declared
from kane.analysis.certificate.reaction_claims import OF_JOINTS, OF_REACTIONS
from kane.analysis.certificate.sensitivity_claim import OF_SENSITIVITIES, Directions
from kane.errors import ModelError, shown
from kane.expression.collector import collector_paused
from kane.expression.number_arguments import require, whole, words
from kane.formulation.formulate import formulate
from kane.formulation.random_states import RandomStates
from kane.formulation.read_model import snapshot
from kane.model.model import Model

# A claim holds if at least this many digits agree. Derivations of trees with tens of bodies and general inertias differ
# by at most 1e-10. With a wrong sign or a missing term, only one or two digits agree.
DIGITS = 8.0
# Largest number of random states; it takes minutes, and more states would prove no more.
MAX_CERTIFICATE_STATES = 1_000_000


class Finding(NamedTuple):
    """One line of a certificate.

    Attributes:
        claim: the comparison.
        digits: number of digits that agree, 0 to 16, at the worst state; None if the claim does not apply.
        remark: reason why the claim does not apply, or details.
    """

    claim: str
    digits: float | None
    remark: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim holds or does not apply."""
        return self.digits is None or self.digits >= DIGITS

    @property
    def verdict(self) -> str:
        """ "holds", "FAILS" or "n/a"."""
        return "n/a" if self.digits is None else "holds" if self.holds else "FAILS"


class Certificate(tuple[Finding, ...]):
    """Findings of ``certify``; prints as a table."""

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
        """Return the table for notebooks."""
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
    """Check the equations of a model by independent derivations and physical laws.

    All claims are checked at random states, speeds, inputs and parameters. A derivation that raises an error counts as
    a claim that fails. Claims about the unconstrained equations in the joints' own speeds:

    * The recursive equations agree with Kane's explicit equations, with Stoneking's path tables, and with Lagrange's
      equations, which use only each joint's R_FM and p_FM.
    * Composite and articulated inertias give the same udot; inverse after forward dynamics is the identity; M is
      symmetric and positive definite.
    * The energy changes at the power of loads and inputs; momenta of floating systems change by external forces.
    * The coordinates of each joint advance at dq/dt.
    * Exact derivatives of the forces by q and u are the slopes of the explicit equations.

    Claims about the declared equations:

    * Equations in the speeds of ``Model.speeds`` agree with those in the joints' own speeds.
    * Embedded constraints give the udot of Lagrange multipliers, udot keeps the constraints, and constraint forces do
      no work.
    * In up to six joints, the wrench balances the free body beyond the joint. In constrained models joints transmit
      motor and spring efforts along their freedoms, the reactions of constraint rows are the multipliers, and three
      methods give the same reactions.

    With intermittent constraints, runs of one second start at random states without penetration. Impulses equal changes
    of momentum, and the energy lost is the kinetic energy before minus after. The energy changes by the work of loads,
    inputs and contact forces minus impact losses. Contacts only push, and friction stays within its bounds, also in
    Moreau-Jean time steps.

    Args:
        model: a model that can be formulated.
        near: as for ``formulate``. The symbolic embedding near this state is also compared with the numerical
            embedding, at states around it. The ``model`` of equations that were formulated near a state includes that
            state.
        states: number of random states.
        seed: seed of the states; the same seed gives the same certificate.
        sensitivities: names as for ``kane.sensitivities``: parameters, coordinates, speeds and inputs. Forward and
            adjoint derivatives of runs of one second are compared.

    Raises:
        ModelError: the model has no degree of freedom or cannot be formulated; a name is unknown.
    """
    require(model, Model, "certify takes a kane.Model; for Dynamics give dyn.equations.model")
    for name, value, least in (("states", states, 1), ("seed", seed, 0)):
        whole(value, f"{name} of a certificate", least)
    if states > MAX_CERTIFICATE_STATES:
        raise ModelError(f"states of a certificate is {shown(states)}; give {MAX_CERTIFICATE_STATES} at most")
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
            claims |= {text: partial(claim, declared) for text, claim in SPEED_CLAIMS.items()}
        if model.constraints:
            claims |= {text: partial(claim, declared) for text, claim in OF_CONSTRAINTS.items()}
        if model.speed_choice.near is not None:
            claims |= {text: partial(claim, declared) for text, claim in OF_A_STATE.items()}
        claims |= {text: partial(claim, declared) for text, claim in OF_JOINTS.items()}
        if model.constraints:
            claims |= {text: partial(claim, declared) for text, claim in OF_REACTIONS.items()}
        if model.intermittents:
            runs = ContactRuns(declared)
            claims |= {text: partial(claim, runs) for text, claim in OF_CONTACTS.items()}
        if directions is not None:
            claims[OF_SENSITIVITIES] = directions.agree
        return Certificate(Finding(text, *_found(claim)) for text, claim in claims.items())


def _constrained() -> Found:
    return None, "the model is constrained: see the claims about constraints"


def _found(claim: Callable[[], Found]) -> Found:
    try:
        return claim()
    except Exception as error:  # any error of a derivation is a finding
        return 0.0, f"{type(error).__name__}: {error}"
