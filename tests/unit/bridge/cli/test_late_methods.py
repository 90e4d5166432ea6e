"""Late methods: a dataclass in a bridge's process is what it is in any other."""

import re
import subprocess
import sys
from functools import cache

import pytest

TELL = """
import inspect, pkgutil
from dataclasses import fields, is_dataclass
from importlib import import_module
import bridge, translators

FIRST = ("__init__", "__repr__", "__eq__", "__hash__")
METHODS = (*FIRST, "__setattr__", "__delattr__", "__getstate__", "__setstate__")
classes = {}
for package in (bridge, translators):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.startswith(("bridge.analytics", "bridge.demo", "bridge.__main__")):
            ours = [one for one in vars(import_module(found.name)).values() if isinstance(one, type)]
            classes |= {f"{one.__module__}.{one.__qualname__}": one for one in ours}
for name, one in sorted(classes.items()):
    if name.startswith(("bridge.", "translators.")) and is_dataclass(one):
        late[isinstance(vars(one).get("__init__"), Late)] += 1
        print(name, one.__dataclass_params__, one.__match_args__, vars(one).get("__slots__"), fields(one), one.__doc__)
        print(inspect.signature(one), one.__init__.__annotations__, [key for key in METHODS if key in vars(one)])
        print([getattr(getattr(one, key), "__qualname__", None) for key in FIRST])
"""
"""Every value of a bridge, as it can be told apart from outside."""
PLAY = '''
import copy, dataclasses, inspect, pickle
from dataclasses import InitVar, dataclass, field
from types import ModuleType
from typing import ClassVar

module = sys.modules["bridge.sample"] = ModuleType("bridge.sample")
exec("""
import copy, dataclasses, inspect, pickle
from dataclasses import InitVar, dataclass, field
from typing import ClassVar

@dataclass(frozen=True, slots=True)
class Frozen:
    "A value."
    kind: ClassVar[str] = "frozen"
    a: int
    b: "list[Frozen]" = field(default_factory=list, compare=False)
    c: str = "c"
    d: int = field(default=4, init=False, repr=False)
    e: list[int] = field(default_factory=list, init=False, hash=False)
    f: int = field(default=6, kw_only=True)

    def __post_init__(self):
        if self.a < 0:
            raise ValueError(f"{self.a} is below 0")

@dataclass(slots=True)
class Changing:
    "A value that changes."
    a: int
    self_reference: object = None

@dataclass(slots=True, eq=False)
class Itself:
    "Equal to nothing else."
    a: int = 1

@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    "Has methods of its own."
    a: int
    def __eq__(self, other):
        return isinstance(other, Own)
    def __hash__(self):
        return 7
    def __repr__(self):
        return "own"

@dataclass(slots=True, unsafe_hash=True)
class Unguarded:
    "Hashed, and yet it can be changed."
    a: int

@dataclass(frozen=True, slots=True)
class Empty:
    "Nothing."

class Child(Frozen):
    "No dataclass itself."
    note = ""

@dataclass(frozen=True, slots=True)
class Heir(Frozen):
    "A dataclass that has one as its base."
    g: int = 7

@dataclass(frozen=True, slots=True)
class Asked:
    "What its making asks for and does not keep."
    a: InitVar[int]
    b: int = field(default=0, init=False)
    def __post_init__(self, a):
        object.__setattr__(self, "b", a + 1)

@dataclass(frozen=True, slots=True, order=True)
class Ordered:
    "In an order."
    a: int

@dataclass
class Slotless:
    "With a dict."
    a: int
""", vars(module))
globals().update(vars(module))
late[True] = sum(isinstance(vars(one).get("__init__"), Late) for one in vars(module).values() if isinstance(one, type))

def told(text):
    try:
        return eval(text)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"

itself = Changing(1)
itself.self_reference = itself
child = Child(1)
for text in """
Frozen(1) == Frozen(1, [2]); Frozen(1) == Frozen(2); Frozen(1) == Heir(1); Frozen(1) != 1
hash(Frozen(1)) == hash(Frozen(1)); Frozen(1); Frozen(1, [Frozen(2)], "x", f=3); Frozen(-1); Frozen()
Frozen(1, 2, 3, 4); Frozen(a=1, f=2, g=3); Frozen(1).d; Frozen(1).b is Frozen(1).b
Frozen(1).e is Frozen(1).e; Frozen.kind; inspect.signature(Frozen); Frozen.__init__.__qualname__
setattr(Frozen(1), "a", 2); delattr(Frozen(1), "a"); setattr(child, "a", 2); child == Child(1)
child == Frozen(1); child; delattr(child, "a"); dataclasses.replace(Frozen(1), a=2, f=3)
dataclasses.asdict(Frozen(1)); dataclasses.astuple(Frozen(1)); copy.copy(Frozen(1)) == Frozen(1)
copy.deepcopy(Frozen(1, [Frozen(2)])); pickle.loads(pickle.dumps(Frozen(1, c="y", f=9)))
Changing(1) == Changing(1); hash(Changing(1)); itself; pickle.loads(pickle.dumps(Changing(1)))
setattr(Changing(1), "z", 1); Itself() == Itself(); {Itself(), Itself()} != set(); Itself()
Own(a=1) == Own(a=2); hash(Own(a=1)); Own(a=1); Own(1); hash(Unguarded(1)) == hash(Unguarded(1))
setattr(Unguarded(1), "a", 2); Unguarded(1); Empty(); Empty() == Empty(); hash(Empty()); Heir(1, g=2)
Heir(1) == Heir(1); setattr(Heir(1), "g", 1); Asked(1).b; Ordered(1) < Ordered(2); Slotless(1).__dict__
Frozen.__eq__(Frozen(1), Frozen(1)); Frozen.__repr__(Frozen(3))
super(Child, child).__hash__() == hash(child); Frozen.__match_args__; Frozen.__dataclass_params__
Frozen.__hash__.__qualname__; dataclasses.is_dataclass(Child)
""".strip().replace(chr(10), "; ").split("; "):
    print(text, "->", told(text))
'''
"""What can be done with values of each kind, those included that are left as they are.

What Python 3.11 gets wrong is left out: its guard fails where a subclass of a value with slots has attributes.
"""
BEGIN = """
import dataclasses, sys
from bridge.cli.late_methods import Late, make_methods_late
late = {False: 0, True: 0}
if sys.argv[1] == "late":
    make_methods_late()
"""
END = "print(late[True], file=sys.stderr)"


@cache
def told_by(program: str, how: str) -> tuple[list[str], int]:
    """What a program says in a process of its own, and how many classes had late methods before they were looked at."""
    words = [sys.executable, "-c", f"{BEGIN}{program}{END}", how]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    return re.sub(r" at 0x\w+", "", ran.stdout).splitlines(), int(ran.stderr.splitlines()[-1])


@pytest.mark.parametrize("program", [TELL, PLAY], ids=["every value of ours", "values of each kind"])
def test_values_are_what_the_standard_library_makes(program: str) -> None:
    """Signatures, fields, equality, hashes, words, guards, copies and pickles: what differs is when they are made."""
    assert told_by(program, "late")[0] == told_by(program, "standard")[0]


@pytest.mark.parametrize(
    ("program", "late"), [(TELL, 500), (PLAY, 6)], ids=["every value of ours", "values of each kind"]
)
def test_methods_are_late_where_a_bridge_has_its_values(program: str, late: int) -> None:
    """Otherwise the comparison compares nothing."""
    assert told_by(program, "standard")[1] == 0
    assert told_by(program, "late")[1] >= late


def test_process_of_a_bridge_makes_methods_late() -> None:
    """And a library of others keeps what it asked for."""
    program = (
        "import dataclasses, sys\n"
        "from bridge.cli.main import main\n"
        "sys.argv = ['epochbridge', 'version']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    print(dataclasses.dataclass.__module__)\n"
        "@dataclasses.dataclass(frozen=True, slots=True)\n"
        "class Foreign:\n"
        "    'No class of ours.'\n"
        "    a: int\n"
        "print(type(vars(Foreign)['__init__']).__name__)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.splitlines()[1:] == ["bridge.cli.late_methods", "function"]
