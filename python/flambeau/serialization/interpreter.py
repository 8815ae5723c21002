"""Building objects from a pickle without running anything that the pickle names.

A name in a pickle becomes an entry of the list of allowed names, never an object of the library or
of Python; what may be done with an entry is written there. All else that a pickle can ask for makes
lists, dicts, tuples, sets, numbers and text, in memory that grows with the length of the pickle.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from flambeau._values import brief
from flambeau.serialization import arguments, names
from flambeau.serialization.limits import Limits
from flambeau.serialization.problems import told_of
from flambeau.serialization.stream import Stream
from flambeau.serialization.tensors import Tensors, refused

_MOST_MARKS = 1000  # containers that are open inside one another
_MOST_IN_KEY = 1000  # parts of a key: hashing and comparing visits each, however often it is shared
_LONGEST_NAME = 1000
_PART = 1024  # characters or bits of a key that count as a part
_DICTS = (dict, OrderedDict, Counter, defaultdict)

Persistent = Callable[[Any], Any]


def no_references(pid: Any) -> Any:
    raise refused(f"a reference to {brief(pid)}, where none may be")


class Interpreter:
    """One pickle after another from a stream.

    Args:
        place: where the stream is, for messages.
        stream: where the pickles are.
        persistent: what a reference to something outside the pickle stands for.
        tensors: makes the tensors.
        find: what a module and a name in it stand for: all that the pickle may name.
        encoding: of strings that Python 2 wrote; "bytes" leaves them as they are.
    """

    def __init__(
        self,
        place: str,
        stream: Stream,
        persistent: Persistent = no_references,
        tensors: Tensors | None = None,
        find: names.Finder = names.find,
        encoding: str = "utf-8",
    ) -> None:
        self._place = place
        self._stream = stream
        self._persistent = persistent
        self.tensors = tensors or Tensors()
        self._find = find
        self._encoding = encoding
        self._reset()

    def _reset(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._parts: dict[int, int] = {}  # of keys that are tuples or frozensets, by id
        self._with_names: dict[int, Any] = {}  # tuples that hold names, by id: what they stand for
        self._alive: list[Any] = []  # what ids above and below are of
        self._limits = Limits(self._stream)
        self._most_remembered = self._stream.position + self._stream.left
        self._setters: dict[int, names.Setter] = {}  # of objects that may be given a state, by id

    def load(self, with_names: bool = False) -> Any:
        """The next object.

        Args:
            with_names: leave names of storages and of types as they are, for who reads them.

        Raises:
            pickle.UnpicklingError: the pickle is damaged, or names something that is not allowed.
        """
        self._reset()
        with told_of(self._place):
            try:
                return self._run(with_names)
            except pickle.UnpicklingError as error:
                raise refused(f"at byte {self._stream.position} of the pickle: {error}") from error

    def _run(self, with_names: bool) -> Any:
        stream, next_code, actions = self._stream, self._stream.byte, _ACTIONS
        while True:
            code = next_code()
            found = actions[code]
            if found is None:
                raise refused(f"{code:#04x} is no opcode that files of tensors have")
            read, action = found
            if action is _stop:
                return self._result(with_names)
            action(self, None if read is None else read(stream))

    def _result(self, with_names: bool) -> Any:
        if len(self._stack) != 1 or self._marks:
            raise refused("it ends while objects are open")
        result = self._stack.pop()
        if not with_names:
            result = self.value(result)
        self._reset()
        return result

    # The stack ------------------------------------------------------------------------------------

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def pop(self) -> Any:
        if not self._stack:
            raise refused("it takes more objects than it makes")
        return self._stack.pop()

    def top(self) -> Any:
        if not self._stack:
            raise refused("it takes more objects than it makes")
        return self._stack[-1]

    def mark(self) -> None:
        if len(self._marks) >= _MOST_MARKS:
            raise refused(f"objects inside one another more than {_MOST_MARKS} deep")
        self._marks.append(self._stack)
        self._stack = []

    def pop_to_mark(self) -> list[Any]:
        if not self._marks:
            raise refused("it ends an object that it did not begin")
        items, self._stack = self._stack, self._marks.pop()
        return items

    def pairs(self) -> list[tuple[Any, Any]]:
        items = self.pop_to_mark()
        if len(items) % 2:
            raise refused("a key without a value")
        return list(zip(items[::2], items[1::2], strict=True))

    # What is remembered ---------------------------------------------------------------------------

    def remember(self, index: int) -> None:
        # Picklers count, and every number takes a byte at least.
        if not 0 <= index <= self._most_remembered:
            raise refused(f"memo index {index}, in fewer bytes")
        if not self._stack:
            raise refused("it takes more objects than it makes")
        self._memo[index] = self._stack[-1]

    def recall(self, index: int) -> None:
        if index not in self._memo:
            raise refused(f"memo index {index} was never set")
        self._stack.append(self._memo[index])

    def memoize(self) -> None:
        self._memo[len(self._memo)] = self.top()

    # Containers -----------------------------------------------------------------------------------

    def spend(self, work: int) -> None:
        self._limits.spend(work)

    def key(self, value: Any) -> Any:
        """A value that is to be hashed."""
        if type(value) is str and len(value) < _PART:
            return value
        parts = self._parts_of(value)
        if parts > _MOST_IN_KEY:
            raise refused(f"a key of more than {_MOST_IN_KEY} parts")
        self.spend(parts // 4)  # hashing a part is quicker than copying one
        return self.value(value)

    def value(self, value: Any) -> Any:
        """What becomes part of a result: of names, those that stand for a class."""
        if isinstance(value, names.Named):
            return value.as_value()
        if type(value) is tuple and id(value) in self._with_names:
            found = self._with_names[id(value)]
            if found is None:
                found = self._with_names[id(value)] = tuple(map(self.value, value))
            return found
        return value

    def _parts_of(self, value: Any) -> int:
        """What hashing visits: shared ones each time, up to the most and a few."""
        if isinstance(value, str | bytes):
            return 1 + len(value) // _PART
        if isinstance(value, int):
            return 1 + value.bit_length() // _PART
        if not isinstance(value, tuple | frozenset):
            return 1
        parts = self._parts.get(id(value))
        if parts is None:
            parts = 1
            for item in value:
                parts += self._parts_of(item)
                if parts > _MOST_IN_KEY:
                    break
            self._parts[id(value)] = parts
            self._alive.append(value)
        return parts

    def push_tuple(self, value: tuple[Any, ...]) -> None:
        for item in value:
            if isinstance(item, names.Named) or id(item) in self._with_names:
                self._with_names[id(value)] = None
                self._alive.append(value)
                break
        self._stack.append(value)

    def push_last(self, count: int) -> None:
        if len(self._stack) < count:
            raise refused("it takes more objects than it makes")
        items = tuple(self._stack[-count:])
        del self._stack[-count:]
        self.push_tuple(items)

    def append(self, items: list[Any]) -> None:
        target = self.top()
        if type(target) is not list:
            raise refused(f"an element for a {type(target).__name__}, no list")
        target.extend(map(self.value, items))

    def add(self, items: list[Any]) -> None:
        target = self.top()
        if type(target) is not set:
            raise refused(f"an element for a {type(target).__name__}, no set")
        self.extend(target, items)

    def extend(self, target: set[Any], items: Sequence[Any]) -> None:
        keys = [*map(self.key, items)]
        for part in self._limits.timed(keys, len(target)):
            target.update(part)

    def set_items(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        target = self.top()
        if type(target) not in _DICTS:
            raise refused(f"a key for a {type(target).__name__}, no dict")
        self.fill(target, pairs)

    def fill(self, target: dict[Any, Any], pairs: Sequence[tuple[Any, Any]]) -> None:
        pairs = [(self.key(key), self.value(value)) for key, value in pairs]
        for part in self._limits.timed(pairs, len(target)):
            for key, value in part:
                target[key] = value

    def push_string(self, content: bytes) -> None:
        if self._encoding == "bytes":
            self._stack.append(content)
        else:
            self._stack.append(str(content, self._encoding))

    # Names ----------------------------------------------------------------------------------------

    def push_name(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise refused("a name that is no text")
        if len(module) + len(name) > _LONGEST_NAME:
            raise refused(f"a name of {len(module) + len(name)} characters")
        self._stack.append(self.find(module, name))

    def find(self, module: str, name: str) -> Any:
        return self._find(module, name)

    def construct(
        self, constructor: Any, given: Any, keywords: Any = None, new: bool = False
    ) -> None:
        if not isinstance(constructor, names.Constructor):
            raise refused(f"a call of {brief(constructor)}, which is no constructor")
        if type(given) is not tuple or not (keywords is None or type(keywords) is dict):
            raise refused(f"{constructor.name}: arguments that are no tuple")
        made = constructor.build(self, given, keywords, new)
        if constructor.set_state is not None:
            self._setters[id(made)] = constructor.set_state
            self._alive.append(made)
        self._stack.append(made)

    def set_state(self, state: Any) -> None:
        target = self.top()
        setter = self._setters.get(id(target))
        if setter is None:
            raise refused(f"a state for a {type(target).__name__}, which takes none")
        setter(self, target, state)

    def refer(self, pid: Any) -> None:
        self._stack.append(self._persistent(pid))


def _stop(machine: Interpreter, value: None) -> None:
    """The end; `load` knows it."""


def _pop(machine: Interpreter, value: None) -> None:
    if machine._stack or not machine._marks:
        machine.pop()
    else:
        machine.pop_to_mark()


def _drop(machine: Interpreter, value: None) -> None:
    machine.pop_to_mark()


def _instance(machine: Interpreter, value: tuple[str, str]) -> None:
    given = tuple(machine.pop_to_mark())
    machine.push_name(*value)
    machine.construct(machine.pop(), given)


def _object(machine: Interpreter, value: None) -> None:
    items = machine.pop_to_mark()
    if not items:
        raise refused("an object without a class")
    machine.construct(items[0], tuple(items[1:]))


def _reduce(machine: Interpreter, value: None) -> None:
    given = machine.pop()
    machine.construct(machine.pop(), given)


def _new(machine: Interpreter, value: None) -> None:
    given = machine.pop()
    machine.construct(machine.pop(), given, None, True)


def _new_with_keywords(machine: Interpreter, value: None) -> None:
    keywords, given = machine.pop(), machine.pop()
    machine.construct(machine.pop(), given, keywords, True)


def _set_item(machine: Interpreter, value: None) -> None:
    item, key = machine.pop(), machine.pop()
    machine.set_items([(key, item)])


def _stack_name(machine: Interpreter, value: None) -> None:
    name = machine.pop()
    machine.push_name(machine.pop(), name)


def _dict(machine: Interpreter, value: None) -> None:
    pairs = machine.pairs()
    machine.push({})
    machine.set_items(pairs)


def _frozenset(machine: Interpreter, value: None) -> None:
    items = machine.pop_to_mark()
    machine.push(set())
    machine.add(items)
    machine.push(frozenset(machine.pop()))


def _protocol(machine: Interpreter, value: int) -> None:
    if value > 5:
        raise refused(f"protocol {value}; this reads 0 to 5")


def _frame(machine: Interpreter, value: int) -> None:
    if value > machine._stream.left:
        raise refused(f"a frame of {value} bytes, where {machine._stream.left} are left")


Action = Callable[[Interpreter, Any], None]
_none, _line = None, arguments.line


def _pushes(value: Any) -> Action:
    return lambda machine, _: machine.push(value)


_push: Action = Interpreter.push
_OPCODES: dict[bytes, tuple[arguments.Reader | None, Action]] = {
    b".": (_none, _stop),
    b"(": (_none, lambda machine, _: machine.mark()),
    b"0": (_none, _pop),
    b"1": (_none, _drop),
    b"2": (_none, lambda machine, _: machine.push(machine.top())),
    # Numbers and text.
    b"N": (_none, _pushes(None)),
    b"\x88": (_none, _pushes(True)),
    b"\x89": (_none, _pushes(False)),
    b"I": (arguments.decimal, _push),
    b"L": (arguments.decimal, _push),
    b"J": (arguments.number("<i"), _push),
    b"K": (arguments.byte, _push),
    b"M": (arguments.number("<H"), _push),
    b"\x8a": (arguments.integer("<B"), _push),
    b"\x8b": (arguments.integer("<i"), _push),
    b"F": (arguments.floating, _push),
    b"G": (arguments.number(">d"), _push),
    b"S": (arguments.quoted, Interpreter.push_string),
    b"T": (arguments.counted("<i"), Interpreter.push_string),
    b"U": (arguments.counted("<B"), Interpreter.push_string),
    b"V": (arguments.escaped, _push),
    b"X": (arguments.text("<I"), _push),
    b"\x8c": (arguments.text("<B"), _push),
    b"\x8d": (arguments.text("<Q"), _push),
    b"B": (arguments.counted("<I"), _push),
    b"C": (arguments.counted("<B"), _push),
    b"\x8e": (arguments.counted("<Q"), _push),
    b"\x96": (arguments.counted("<Q"), lambda machine, value: machine.push(bytearray(value))),
    # Containers.
    b")": (_none, lambda machine, _: machine.push(())),
    b"]": (_none, lambda machine, _: machine.push([])),
    b"}": (_none, lambda machine, _: machine.push({})),
    b"\x8f": (_none, lambda machine, _: machine.push(set())),
    b"t": (_none, lambda machine, _: machine.push_tuple(tuple(machine.pop_to_mark()))),
    b"\x85": (_none, lambda machine, _: machine.push_last(1)),
    b"\x86": (_none, lambda machine, _: machine.push_last(2)),
    b"\x87": (_none, lambda machine, _: machine.push_last(3)),
    b"l": (_none, lambda machine, _: machine.push([*map(machine.value, machine.pop_to_mark())])),
    b"d": (_none, _dict),
    b"\x91": (_none, _frozenset),
    b"a": (_none, lambda machine, _: machine.append([machine.pop()])),
    b"e": (_none, lambda machine, _: machine.append(machine.pop_to_mark())),
    b"\x90": (_none, lambda machine, _: machine.add(machine.pop_to_mark())),
    b"s": (_none, _set_item),
    b"u": (_none, lambda machine, _: machine.set_items(machine.pairs())),
    # What is used again.
    b"p": (arguments.decimal, Interpreter.remember),
    b"q": (arguments.byte, Interpreter.remember),
    b"r": (arguments.number("<I"), Interpreter.remember),
    b"\x94": (_none, lambda machine, _: machine.memoize()),
    b"g": (arguments.decimal, Interpreter.recall),
    b"h": (arguments.byte, Interpreter.recall),
    b"j": (arguments.number("<I"), Interpreter.recall),
    # Names, what they make, and what lies outside the pickle.
    b"c": (arguments.two_lines, lambda machine, value: machine.push_name(*value)),
    b"\x93": (_none, _stack_name),
    b"R": (_none, _reduce),
    b"i": (arguments.two_lines, _instance),
    b"o": (_none, _object),
    b"\x81": (_none, _new),
    b"\x92": (_none, _new_with_keywords),
    b"b": (_none, lambda machine, _: machine.set_state(machine.pop())),
    b"P": (_line, Interpreter.refer),
    b"Q": (_none, lambda machine, _: machine.refer(machine.pop())),
    # How it is written.
    b"\x80": (arguments.byte, _protocol),
    b"\x95": (arguments.number("<Q"), _frame),
}
_ACTIONS = [_OPCODES.get(bytes([code])) for code in range(256)]
