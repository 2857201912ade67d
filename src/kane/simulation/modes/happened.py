"""What has become of which candidate in the changes of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.native.contacts.header import BOUNCED, DELETED, HELD, IMPOSED, NOTHING, OPEN, SLIDING, SLIPPED, STUCK


def happened(
    noted: NDArray[np.int64], statuses: NDArray[Any], struck: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """What has become of whom: of each event the change, the candidate and the kind; of a change its cause first.

    Args:
        noted: cause and kind of each change, (changes, 2).
        statuses: before the first change and behind each, (1 + changes, candidates).
        struck: whether a candidate was pushed by an impact, (changes, candidates).
    """
    before, after = statuses[:-1], statuses[1:]
    kinds = np.full(after.shape, NOTHING)
    kinds[(before == OPEN) & (after != OPEN)] = IMPOSED
    kinds[(before != OPEN) & (after == OPEN)] = DELETED
    kinds[(before == HELD) & (after == SLIDING)] = SLIPPED
    kinds[(before == SLIDING) & (after == HELD)] = STUCK
    kinds[(after == OPEN) & struck] = BOUNCED
    caused = np.flatnonzero(noted[:, 0] >= 0)
    kinds[caused, noted[caused, 0]] = noted[caused, 1]
    change, constraint = np.nonzero(kinds)
    order = np.lexsort((constraint, constraint != noted[change, 0], change))
    return change[order], constraint[order], kinds[change, constraint][order]
