"""Puts the heap in order before the snapshot of a built component is taken.

Each page that an instance writes to has to be copied for it first, and CPython writes to whatever it uses: it counts
references. So the snapshot should have side by side what is used in one call, and what a call makes should come to lie
side by side as well.

`build` lays a copy beside the entry, which begins with it: before the SDK itself is imported.
"""

from __future__ import annotations

import gc
import marshal
import os
import sys

from importlib.machinery import ModuleSpec

CODE = type((lambda: None).__code__)
# Where types keep their `__dict__`, also those with another attribute of that name.
NAMES = type.__dict__["__dict__"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# Bytes at the end of the heap that are kept free, more than the objects of a usual call take.
ROOM = 1 << 20
# What the SDK uses of Python's library, and what that uses.
LIBRARY = (
    "__future__ _opcode_metadata _weakrefset annotationlib ast collections contextlib copy copyreg dataclasses dis enum "
    "functools importlib inspect json keyword linecache opcode operator re reprlib token tokenize types typing weakref"
).split()
# What fills the gaps.
filling: list[bytes] = []
# For `build`: see `_immortal`, which has the mark as well.
immortal: list[Any] = []
# Objects that lie higher stay mortal, bytes.
MEMORY = 64 << 20
MARK = b"gpud: addresses of objects that are to be immortal:"


def close_gaps() -> None:
    """Fills the gaps between objects for good. What is made from here on comes to lie side by side, at the end."""
    gc.collect()
    end = bytes(ROOM)
    at_end = id(end)  # CPython: its address
    for size in sizes():
        while id(piece := bytes(size)) < at_end:
            filling.append(piece)


def sizes() -> list[int]:
    """From large to small: what is left of a gap is smaller than the piece that went into it."""
    found = []
    size = ROOM
    while size > 256:
        found.append(size)
        size = size * 3 // 4
    return found + list(range(256, 0, -8))


class Compiled:
    """Imports modules that were compiled before, since compiling one leaves gaps behind and among its objects."""

    def __init__(self, *names: str) -> None:
        #: Where a module lies, if it is a package its folder, and its code, by name.
        self.modules: dict[str, tuple[str, str | None, bytes]] = {}
        for name in names:
            places = (f"{root}/{name}" for root in sys.path)
            # A folder of data may be called like a module that lies elsewhere.
            whole = (place for place in places if os.path.isfile(f"{place}/__init__.py") or os.path.isfile(f"{place}.py"))
            for place in whole:
                self.add(name, place)
                break

    def add(self, name: str, place: str) -> None:
        """Compiles a module, or all of a package. What cannot be compiled is left to Python's own import."""
        init = f"{place}/__init__.py"
        is_package = os.path.isfile(init) or not os.path.isfile(f"{place}.py")
        try:
            if not is_package:
                self.modules[name] = f"{place}.py", None, compiled(f"{place}.py")
            elif os.path.isdir(place) and not os.path.islink(place):
                self.modules[name] = init, place, compiled(init) if os.path.isfile(init) else NOTHING
                for inner in {entry.removesuffix(".py") for entry in os.listdir(place)} - {"__init__"}:
                    if inner.isidentifier():
                        self.add(f"{name}.{inner}", f"{place}/{inner}")
        except (OSError, SyntaxError, ValueError):
            self.modules.pop(name, None)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Of `sys.meta_path`."""
        if name not in self.modules:
            return None
        file, folder, _ = self.modules[name]
        spec = ModuleSpec(name, self, origin=file, is_package=folder is not None)  # type: ignore[arg-type]
        spec.has_location = True
        if folder is not None:
            spec.submodule_search_locations = [folder]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual kind."""

    def exec_module(self, module: Any) -> None:
        """Runs it. Its code is kept: a new gap would be filled with what is made next."""
        exec(marshal.loads(self.modules[module.__name__][2]), module.__dict__)


def compiled(file: str) -> bytes:
    """The code of a source file."""
    with open(file, "rb") as source:
        return marshal.dumps(compile(source.read(), file, "exec", dont_inherit=True))


# The code of a folder without a module of its own.
NOTHING = marshal.dumps(compile("", "", "exec"))


def thaw() -> None:
    """Makes frozen dataclasses as quick to make as others. That nothing writes to them, tests outside have shown."""
    import dataclasses

    real = dataclasses.dataclass

    def dataclass(cls: Any = None, /, *, frozen: bool = False, **settings: Any) -> Any:
        return real(cls, **({"unsafe_hash": True} if frozen else {}), **settings)

    dataclasses.dataclass = dataclass  # type: ignore[assignment]


def prepare(*names: str) -> None:
    """Makes ready for the import of these modules and packages."""
    compiled = Compiled(*LIBRARY, *names)
    close_gaps()
    sys.meta_path.insert(0, compiled)  # type: ignore[arg-type]
    thaw()


def everything(is_new: Callable[[int], bool]) -> list[Any]:
    """All objects that there are, each whose address is new."""
    found: list[Any] = []
    to_see = gc.get_objects()
    while to_see:
        one = to_see.pop()
        if is_new(id(one)):
            found.append(one)
            to_see += gc.get_referents(one)
            # The collector does not look into code, and not into types that are written in C.
            if type(one) is CODE:
                to_see += one.co_consts, one.co_names, one.co_name, one.co_qualname, one.co_filename
            elif isinstance(one, type):
                to_see += one.__mro__, one.__bases__, *NAMES.__get__(one).values()
    return found


class Seen:
    """One bit for each 32-bit word of memory: a set of numbers would leave megabytes behind."""

    def __init__(self) -> None:
        self.bits = bytearray(MEMORY >> 5)

    def is_new(self, address: int) -> bool:
        """Not asked before, and within what is looked at."""
        byte, bit = address >> 5, 1 << (address >> 2 & 7)
        if address >= MEMORY or self.bits[byte] & bit:
            return False
        self.bits[byte] |= bit
        return True

    def clear(self) -> None:
        """Zeros take no place in the component."""
        self.bits[:] = bytes(len(self.bits))


def addresses(objects: list[Any]) -> bytearray:
    """As `_immortal` reads them."""
    text = bytearray(MARK)
    for number in (sum(map(id, objects)) & 0xFFFF_FFFF, len(objects)):
        text += number.to_bytes(4, "little")
    for one in objects:
        text += id(one).to_bytes(4, "little")
    # A snapshot leaves out zeros at the end of a piece of memory, and the last address ends with one.
    text += b"."
    return text


def finish() -> None:
    """Leaves the heap as the snapshot is to have it. Nothing may be made after this that is to last."""
    gc.collect()
    seen = Seen()
    objects = everything(seen.is_new)
    seen.clear()
    # The objects as well: none of them may go, or something else comes to lie in its place. And the bits, whose place
    # `close_gaps` would take for the end of the heap.
    immortal.append((addresses(objects), objects, seen))
    close_gaps()
    # What is there already is not looked through for garbage (and copied, page by page) by any call, and what a usual
    # call makes neither: its instance goes before there could be much of it.
    gc.freeze()
    gc.set_threshold(100_000)
