"""The folder of compiled code: what is taken from it, and what is not trusted."""

import builtins
import errno
import io
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from kane.errors import CompileError
from kane.machine import object_cache
from kane.machine.object_cache import ENTRY, UNFINISHED, ObjectCache, environment_cache

ORIGIN = {"text": "one", "cpu": "abacus"}
CODE = bytes(range(256)) * 4 + b"\n{}\n"


def never():
    raise AssertionError("compiled again")


def entries(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.fixture
def cache(tmp_path):
    return ObjectCache(tmp_path / "deep" / "cache")


@pytest.fixture
def entry(cache):
    """The path of the only entry, just written."""
    assert cache.get(ORIGIN, lambda: CODE) == CODE
    (path,) = cache.folder.iterdir()
    return path


def test_code_is_made_once(cache, entry):
    assert cache.get(ORIGIN, never) == CODE
    assert cache.get(dict(reversed(ORIGIN.items())), never) == CODE


@pytest.mark.parametrize("key", ORIGIN)
def test_code_made_from_anything_else_is_not_taken(cache, entry, key):
    assert cache.get({**ORIGIN, key: "other"}, lambda: b"other code") == b"other code"
    assert cache.get(ORIGIN, never) == CODE


def test_folder_and_entries_are_for_their_owner_only(cache):
    before = os.umask(0)
    try:
        cache.get(ORIGIN, lambda: CODE)
    finally:
        os.umask(before)
    (path,) = cache.folder.iterdir()
    assert (cache.folder.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


# What does not hold what it should hold, and is therefore made again and replaced.


def flipped(data, at):
    changed = bytearray(data)
    changed[at] ^= 0x10
    return bytes(changed)


DAMAGE = {
    "first byte": lambda d: flipped(d, 0),
    "hash": lambda d: d.replace(b'"sha256": "', b'"sha256": "0', 1),
    "first byte of the code": lambda d: flipped(d, len(d) - len(CODE)),
    "last byte": lambda d: flipped(d, -1),
    "one byte short": lambda d: d[:-1],
    "one byte long": lambda d: d + b"\0",
    "half": lambda d: d[: len(d) // 2],
    "head only": lambda d: d[: -len(CODE)],
    "code only": lambda d: d[-len(CODE) :],
    "nothing": lambda d: b"",
    "zeros": lambda d: bytes(len(d)),
    "one line": lambda d: d.replace(b"\n", b" "),
    "deep JSON": lambda d: b"[" * 100_000,
    "head in another spelling": lambda d: d.replace(b'": ', b'":', 1),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_made_again_and_replaced(cache, entry, damage):
    good = entry.read_bytes()
    bad = DAMAGE[damage](good)
    assert bad != good
    entry.write_bytes(bad)
    assert cache.get(ORIGIN, lambda: CODE) == CODE
    assert entry.read_bytes() == good
    assert cache.get(ORIGIN, never) == CODE


def test_no_random_damage_gets_through(cache, entry):
    good = entry.read_bytes()
    chance = random.Random(4)
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(chance.choice((1, 1, 3, 50))):
            bad[chance.randrange(len(bad))] ^= chance.randrange(1, 256)
        if bytes(bad) != good:
            entry.write_bytes(bad)
            assert cache.get(ORIGIN, lambda: b"made again") == b"made again"


def test_an_entry_put_in_the_place_of_another_is_not_taken(cache, entry):
    cache.get({**ORIGIN, "cpu": "slide rule"}, lambda: b"for a slide rule")
    (other,) = set(cache.folder.iterdir()) - {entry}
    os.replace(other, entry)
    assert cache.get(ORIGIN, lambda: CODE) == CODE


def link(path):
    os.rename(path, path.parent / "elsewhere")
    path.symlink_to("elsewhere")


def pipe(path):
    path.unlink()
    os.mkfifo(path)
    return os.open(path, os.O_RDWR)  # a writer who says nothing


@pytest.mark.parametrize("spoil", [link, pipe, lambda path: path.chmod(0o622)], ids=["link", "pipe", "open to others"])
def test_an_entry_that_is_no_file_of_its_owner_is_replaced(cache, entry, spoil):
    good = entry.read_bytes()
    writer = spoil(entry)
    assert cache.get(ORIGIN, lambda: b"made again") == b"made again"
    if writer is not None:
        os.close(writer)
    assert not entry.is_symlink()
    assert entry.is_file()
    assert entry.stat().st_mode & 0o777 == 0o600
    assert entry.read_bytes() != good


# Folders that are of no use: the code is made, nothing is kept, and a warning says why.


def refused(cache, reason):
    with pytest.warns(RuntimeWarning, match=reason) as caught:
        assert cache.get(ORIGIN, lambda: b"made in memory") == b"made in memory"
    (warning,) = caught
    for word in (str(cache.folder), "KANE_CACHE_DIR", "KANE_CACHE=off"):
        assert word in str(warning.message)


def test_a_folder_of_another_user_is_not_used(cache, entry, monkeypatch):
    good = entry.read_bytes()
    monkeypatch.setattr(os, "geteuid", lambda: entry.stat().st_uid + 1)
    refused(cache, "belongs to another user")
    assert (entries(cache.folder), entry.read_bytes()) == ([entry.name], good)


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702, 0o1777], ids="{:o}".format)
def test_a_folder_that_others_may_write_to_is_not_used(cache, entry, mode):
    cache.folder.chmod(mode)
    refused(cache, f"other users may write to it .mode {mode:o}; chmod 700")
    assert entries(cache.folder) == [entry.name]


def test_a_folder_that_is_a_link_is_not_used(cache, entry, tmp_path):
    (tmp_path / "link").symlink_to(cache.folder)
    refused(ObjectCache(tmp_path / "link"), "symbolic link")
    assert entries(cache.folder) == [entry.name]


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path):
    (tmp_path / "file").write_text("mine")
    refused(ObjectCache(tmp_path / "file"), "not a folder")
    refused(ObjectCache(tmp_path / "file" / "below"), "Not a directory")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_relative_folder_is_not_used(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    refused(ObjectCache("here"), "not absolute")
    assert entries(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_folder_that_cannot_be_written_to_is_only_read(cache, entry, monkeypatch, number):
    opened = os.open

    def read_only(path, flags, *args, **kwargs):
        if flags & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return opened(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", read_only)
    assert cache.get(ORIGIN, never) == CODE
    with pytest.warns(RuntimeWarning, match=os.strerror(number)):
        assert cache.get({"text": "two"}, lambda: b"two") == b"two"
    assert entries(cache.folder) == [entry.name]


def test_a_full_disk_leaves_nothing_half_written(cache, entry, monkeypatch):
    class Full(io.FileIO):
        def write(self, data):
            super().write(data[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full(file, mode, **kwargs):
        return Full(file, mode) if "w" in mode else builtins.open(file, mode, **kwargs)

    monkeypatch.setattr(object_cache, "open", full, raising=False)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert cache.get({"text": "two"}, lambda: b"two") == b"two"
    assert entries(cache.folder) == [entry.name]
    assert cache.get(ORIGIN, never) == CODE


def test_what_compiling_raises_is_raised(cache):
    with pytest.raises(OSError, match="of the compiler"):
        cache.get(ORIGIN, lambda: (_ for _ in ()).throw(OSError("of the compiler")))


def test_the_warning_is_shown_once_in_a_process(tmp_path):
    script = """
from kane.machine.object_cache import ObjectCache
for k in range(3):
    assert ObjectCache("/proc/no such place").get({"text": str(k)}, lambda: b"") == b""
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr.count("RuntimeWarning: compiled code is not kept in /proc/no such place") == 1


# Size, and several processes.


def test_the_oldest_entries_go_when_there_are_too_many(tmp_path):
    (tmp_path / "notes.txt").write_bytes(bytes(10_000))
    cache = ObjectCache(tmp_path, capacity=4000)
    for k in range(8):
        cache.get({"number": k}, lambda: bytes(1000))
        newest = max(tmp_path.glob(f"*{ENTRY}"), key=lambda p: p.stat().st_mtime_ns)
        os.utime(newest, ns=(k + 1, k + 1))  # clocks may be too coarse to order them
    kept = [(tmp_path / name).stat().st_mtime_ns for name in entries(tmp_path) if name != "notes.txt"]
    # Heads of some 130 bytes: three entries fit into 4000 bytes.
    assert sorted(kept) == [6, 7, 8]
    assert (tmp_path / "notes.txt").stat().st_size == 10_000


def test_a_folder_of_many_small_entries_is_seldom_looked_through_and_hardly_overflows(tmp_path, monkeypatch):
    """It was, at each entry: ten seconds of CPU for a hundred programs where 20,000 lay."""
    looks, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: looks.append(folder) or scandir(folder))
    cache = ObjectCache(tmp_path, capacity=400_000)
    for k in range(1000):
        cache.get({"number": k}, lambda: bytes(1000))
    monkeypatch.undo()
    assert 20 < len(looks) < 90  # 1.1 MB: 45 on average
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) < 480_000


def test_what_a_crash_left_goes_and_what_is_being_written_stays(tmp_path):
    for name in ("crashed", "busy"):
        (tmp_path / f"{name}{UNFINISHED}").write_bytes(b"half")
    os.utime(tmp_path / f"crashed{UNFINISHED}", (0, 0))
    ObjectCache(tmp_path, capacity=0).get(ORIGIN, lambda: CODE)
    assert entries(tmp_path) == [f"busy{UNFINISHED}"]


RACE = """
import sys
from kane.machine.object_cache import ObjectCache
cache = ObjectCache(sys.argv[1], capacity=30_000)  # so that all of them write and evict all the time
for k in range(400):
    number = k % 7
    assert cache.get({"number": number}, lambda: b"%d" % number * 8000) == b"%d" % number * 8000
"""


def test_processes_that_write_at_once_get_whole_entries(tmp_path):
    command = [sys.executable, "-W", "error", "-c", RACE, str(tmp_path / "shared")]
    racers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for racer in racers:
        _, complaints = racer.communicate(timeout=120)
        assert (racer.returncode, complaints) == (0, "")
    left = list((tmp_path / "shared").iterdir())
    assert left
    assert all(p.name.endswith(ENTRY) for p in left)
    assert sum(p.stat().st_size for p in left) <= 30_000


# The environment.


def test_the_environment_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("KANE_CACHE", "on")
    monkeypatch.setenv("KANE_CACHE_DIR", str(tmp_path))
    assert environment_cache().folder == tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_folder_is_in_the_cache_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("KANE_CACHE")
    monkeypatch.delenv("KANE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert environment_cache().folder == Path(tmp_path, "kane", "objects")


@pytest.mark.parametrize("word", ["off", "OFF", "0"])
def test_the_environment_switches_it_off(monkeypatch, word):
    monkeypatch.setenv("KANE_CACHE", word)
    assert environment_cache() is None


def test_a_switch_that_is_neither_on_nor_off_is_an_error(monkeypatch):
    monkeypatch.setenv("KANE_CACHE", "disabled")
    with pytest.raises(CompileError, match="KANE_CACHE is 'disabled'; set it to on or off"):
        environment_cache()
