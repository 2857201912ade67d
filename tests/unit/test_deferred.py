"""``kane.deferred`` against the standard library: the same declarations give classes that behave alike."""

import copy
import dataclasses
import inspect
import pickle
import re
import threading
import typing
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, field

import pytest

from kane import deferred

PLAIN = "x: int\ny: float = 2.0\n"
DECLARATIONS = {
    "plain": ({}, PLAIN),
    "frozen": ({"frozen": True}, PLAIN),
    "by identity": ({"frozen": True, "eq": False}, PLAIN),
    "own repr": ({"repr": False}, PLAIN),
    "by keyword": ({"frozen": True, "kw_only": True}, PLAIN),
    "one field": ({"frozen": True}, "x: int\n"),
    "no field": ({"frozen": True}, "pass\n"),
    "factory": ({"frozen": True}, "x: int\ny: list = field(default_factory=list, compare=False)\n"),
    "fields": ({}, "x: int\ny: int = field(default=3, repr=False)\nz: int = field(init=False, default=4)\n"),
    "hidden hash": ({"frozen": True}, "x: int\ny: int = field(default=3, hash=False)\n"),
    "marker": ({"frozen": True}, "x: int\n_: 'KW_ONLY'\ny: int = 2\n"),
    "constant of the class": ({"frozen": True}, "x: int\nmany: 'typing.ClassVar[int]' = 7\n"),
    "after": ({"frozen": True}, PLAIN + "def __post_init__(self):\n  object.__setattr__(self, 'y', self.y + 1)\n"),
    "own equality": ({"frozen": True}, PLAIN + "def __eq__(self, other):\n  return True\n"),
    "own hash": ({}, PLAIN + "def __hash__(self):\n  return 5\n"),
    "own start": ({}, PLAIN + "def __init__(self):\n  self.x = self.y = 1\n"),
}


def made(decorator, options, body, base=object):
    space = {"__name__": __name__, "field": field, "KW_ONLY": KW_ONLY, "typing": typing, "base": base}
    lines = "".join(f"  {line}\n" for line in body.splitlines())
    exec(f"class Kind(base):\n  'A class.'\n{lines}", space)
    return decorator(**options)(space["Kind"])


def result(call):
    """Result of a call in words, or its error."""
    try:
        return repr(call())
    except (TypeError, AttributeError) as error:  # a FrozenInstanceError is an AttributeError
        return f"{type(error).__name__}: {error}"


def behaviour(kind):
    """Whatever users of a data class can see of it."""
    found = [
        [(f.name, f.default is dataclasses.MISSING, f.init, f.kw_only) for f in dataclasses.fields(kind)],
        getattr(kind, "__match_args__", None),
        {name: getattr(kind, name, None) for name in "xyz"},
        (kind.__hash__ is None, kind.__dataclass_params__.frozen),
    ]
    for arguments, named in STARTS:
        found.append(result(lambda: kind(*arguments, **named)))  # noqa: B023
        if "TypeError" not in found[-1]:
            found += used(kind(*arguments, **named), kind(*arguments, **named))
    return [*found, str(inspect.signature(deferred.compiled(kind.__init__)))]


STARTS = [((1,), {}), ((1, 5), {}), ((), {"x": 1}), ((), {"x": 1, "y": 5}), ((1, 2, 3, 4), {}), ((), {})]


def used(thing, other):
    """Results of operations on two equal objects."""
    return [
        result(lambda: (thing == other, thing == 3)),
        result(lambda: hash(thing) == hash(other)),
        result(lambda: setattr(thing, "x", 9)),
        result(lambda: setattr(thing, "new", 9)),
        result(lambda: delattr(thing, "x")),
        *(vars(x) for x in (thing, copy.copy(thing), copy.deepcopy(thing))),
        result(lambda: vars(dataclasses.replace(other))),
    ]


@pytest.mark.parametrize("name", DECLARATIONS)
def test_a_data_class_behaves_as_that_of_the_standard_library(name):
    ours, theirs = (behaviour(made(d, *DECLARATIONS[name])) for d in (deferred.dataclass, dataclasses.dataclass))
    assert [re.sub("0x[0-9a-f]+", "", str(x)) for x in ours] == [re.sub("0x[0-9a-f]+", "", str(x)) for x in theirs]


@pytest.mark.parametrize("above", [deferred.dataclass, dataclasses.dataclass])
@pytest.mark.parametrize("below", [deferred.dataclass, dataclasses.dataclass])
def test_a_data_class_inherits_the_fields_of_its_base(above, below):
    frozen = {"frozen": True}
    found = made(below, frozen, "z: int = 3\ny: float = 4.0\n", made(above, frozen, PLAIN))
    expected = made(
        dataclasses.dataclass, frozen, "z: int = 3\ny: float = 4.0\n", made(dataclasses.dataclass, frozen, PLAIN)
    )
    assert list(behaviour(found)) == list(behaviour(expected))


def test_a_base_that_is_not_frozen_is_refused_below_a_frozen_one_by_the_standard_library():
    with pytest.raises(TypeError, match="non-frozen dataclass from a frozen one"):
        made(dataclasses.dataclass, {}, "z: int = 3\n", made(deferred.dataclass, {"frozen": True}, PLAIN))


def test_an_abstract_data_class_makes_no_objects():
    class Abstract(ABC):
        @abstractmethod
        def f(self): ...

    with pytest.raises(TypeError, match="abstract"):
        made(deferred.dataclass, {}, PLAIN, Abstract)(1)


@deferred.dataclass(frozen=True)
class Sent:
    """A class that pickle finds."""

    x: int
    y: tuple = ()


def test_pickles_and_patterns():
    back = pickle.loads(pickle.dumps(Sent(1, (2,))))
    assert back == Sent(1, (2,))
    match back:
        case Sent(x, y):
            assert (x, y) == (1, (2,))


def test_the_first_objects_may_be_made_by_several_threads_at_once():
    for _ in range(20):
        kind, found = made(deferred.dataclass, {"frozen": True}, PLAIN), []
        start = threading.Barrier(4)
        work = [threading.Thread(target=lambda: (start.wait(), found.append(kind(1)))) for _ in range(4)]  # noqa: B023
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        assert found == [kind(1)] * 4


def test_init_is_compiled_at_the_first_object():
    kind = made(deferred.dataclass, {"frozen": True}, PLAIN)
    before = kind.__init__
    assert kind(1).y == 2.0
    assert kind.__init__ is not before
    assert kind.__init__.__code__.co_filename == "<string>"


class Ours(deferred.NamedTuple):
    """Named tuple."""

    x: int
    y: "float" = 2.0

    def both(self):
        """Return the sum."""
        return self.x + self.y


class Theirs(typing.NamedTuple):
    """Named tuple."""

    x: int
    y: "float" = 2.0

    def both(self):
        """Return the sum."""
        return self.x + self.y


def test_a_named_tuple_behaves_as_that_of_the_standard_library():
    for kind in (Ours, Theirs):
        assert (kind(1), kind(1)._replace(y=3.0), kind(x=1, y=5.0).both()) == ((1, 2.0), (1, 3.0), 6.0)
        assert (kind._fields, kind._field_defaults, kind.__doc__) == (("x", "y"), {"y": 2.0}, "Named tuple.")
        assert typing.get_type_hints(kind) == {"x": int, "y": float}
        assert pickle.loads(pickle.dumps(kind(1))) == kind(1)
        assert repr(kind(1)) == f"{kind.__name__}(x=1, y=2.0)"
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            kind()
