"""Sweeps on a cluster of Dask distributed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from kane.errors import ModelError, pip_install, shown
from kane.machine.sources import kane_version, sources_digest

CONNECT_SECONDS = 10.0  # time after which a scheduler that does not answer counts as missing


@contextmanager
def cluster(scheduler: str) -> Iterator[tuple[Executor, int]]:
    """Connect to a scheduler; yield an executor and the number of its workers.

    Raises:
        ModelError: Dask is not installed, there is no scheduler at the address or it has no workers, or a worker has
            another version of kane.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ModelError(f"scheduler= needs Dask distributed; install it: {pip_install('sweep')}") from None
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"there is no Dask scheduler at {shown(scheduler)} ({type(error).__name__}: {error}); start one with "
            "`dask scheduler`, and give its address, such as tcp://127.0.0.1:8786"
        ) from None
    with client:
        yield client.get_executor(pure=False), _workers(client)


def _workers(client: Any) -> int:
    """Return the number of workers.

    Raises:
        ModelError: the scheduler has no workers, or a worker has another version of kane.
    """
    try:
        found = client.run(version_of_worker, on_error="return")
    except ValueError:
        found = {}
    if not found:
        raise ModelError("the Dask scheduler has no workers; start some with `dask worker`")
    for address, version in found.items():
        if version != version_of_worker():
            theirs = f"has kane {version[0]} with other sources" if isinstance(version, tuple) else f"fails: {version}"
            raise ModelError(f"the worker {address} {theirs}, and the client kane {kane_version()}; install the same")
    return len(found)


def version_of_worker() -> tuple[str, str | None]:
    """Return version and digest of the sources of kane in this process."""
    return kane_version(), sources_digest()
