"""What every test shares: pictures without a screen, new arrays without numbers, a cache of compiled code for all
processes of a run of tests, and hypothesis set for a shared machine.
"""

import gc
import os
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from oracles.unwritten import begin_arrays_without_numbers

os.environ.setdefault("MPLBACKEND", "Agg")
begin_arrays_without_numbers()
# Hundreds of thousands of objects live as long as the run: visiting them as often as usual takes a tenth of its time.
gc.set_threshold(50_000, 20, 10)

# No deadlines: native code is compiled on first use, on machines shared with others. A failure prints its seed.
# Continuous integration judges a change, and tries the same examples whenever it runs; new ones are hunted elsewhere.
settings.register_profile(
    "kane",
    deadline=None,
    print_blob=True,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("kane")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the compiled programs of tests for all processes and later runs, apart from the user's cache.

    They are in pytest's cache folder: ``--cache-clear`` removes them, and ``-p no:cacheprovider`` keeps none. Tests of
    the object cache itself use folders of their own.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # environment variables of the controller are inherited
    if hasattr(config, "cache"):
        # The object cache makes "objects" itself, for its owner only: it refuses a folder that a group may write to.
        folder = config.cache.mkdir("kane") / "objects"
    else:
        temporary = tempfile.TemporaryDirectory(prefix="kane-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(temporary.cleanup)
        folder = Path(temporary.name)
    os.environ["KANE_CACHE"], os.environ["KANE_CACHE_DIR"] = "on", str(folder)


def pytest_collection_finish() -> None:
    keep_from_the_collector()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Keep the objects that outlive a file of tests from the collector."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        keep_from_the_collector()
    return result


def keep_from_the_collector() -> None:
    """Free garbage, and let no later collection visit the objects that remain.

    Late in a run these are millions, and a full collection takes two seconds.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture
def ctrl_c_raises() -> Iterator[None]:
    """Ctrl-C as in a terminal: a shell lets what it runs in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
