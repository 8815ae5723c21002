"""Nested lists, tuples and dicts of values: taking them apart, and putting them together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from flambeau.utils._tree_keys import GetAttrKey, Key, MappingKey, Path, SequenceKey

Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]
PyTree = Any


class _Node(NamedTuple):
    """How values of a type come apart: into children and a context, and together again."""

    flatten_fn: Flatten
    unflatten_fn: Unflatten
    keys: Callable[[Any], Iterable[Key]] | None = None


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """The values and the keys of a dict."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], keys: list[Any]) -> dict[Any, Any]:
    """The dict of these values and keys."""
    return dict(zip(keys, values, strict=True))


def _dict_keys(d: dict[Any, Any]) -> list[Key]:
    return [MappingKey(key) for key in d]


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Key, Any]], list[Any]]:
    """The values of a dict, each with its place, and the keys."""
    return list(zip(_dict_keys(d), d.values(), strict=True)), list(d)


def _sequence_keys(values: Any) -> list[Key]:
    return [SequenceKey(number) for number in range(len(values))]


def _name_keys(values: Any) -> list[Key]:
    return [GetAttrKey(name) for name in values._fields]


def _dict_node(make: Callable[[Any], Any]) -> _Node:
    join: Unflatten = lambda values, keys: make(zip(keys, values, strict=True))  # noqa: E731
    return _Node(_dict_flatten, join, _dict_keys)


SUPPORTED_NODES: dict[type, _Node] = {
    list: _Node(lambda v: (v, None), lambda values, _: list(values), _sequence_keys),
    tuple: _Node(lambda v: (v, None), lambda values, _: tuple(values), _sequence_keys),
    dict: _Node(_dict_flatten, _dict_unflatten, _dict_keys),
    OrderedDict: _dict_node(OrderedDict),
    deque: _Node(lambda v: (v, v.maxlen), lambda values, size: deque(values, size), _sequence_keys),
    defaultdict: _Node(
        lambda d: (list(d.values()), (d.default_factory, list(d))),
        lambda values, made: defaultdict(made[0], zip(made[1], values, strict=True)),
        _dict_keys,
    ),
}
_NAMED_TUPLE = _Node(lambda v: (v, type(v)), lambda values, kind: kind(*values), _name_keys)
_RESULTS = _Node(lambda v: (v, type(v)), lambda values, kind: kind(values), _sequence_keys)


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a value without its leaves.

    Attributes:
        type: of the container; None: a leaf.
        context: what puts it together again, beside the children.
        children_specs: the structures of its children.
    """

    type: Any
    context: Any = None
    children_specs: list[TreeSpec] = field(default_factory=list)

    @cached_property
    def num_leaves(self) -> int:
        """How many leaves the value has."""
        return 1 if self.is_leaf() else sum(child.num_leaves for child in self.children_specs)

    @property
    def num_children(self) -> int:
        """How many children its outermost container has."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Whether the value is one leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """See tree_unflatten."""
        return tree_unflatten(leaves, self)


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None)


_LEAF = LeafSpec()


def register_pytree_node(
    cls: type,
    flatten_fn: Flatten,
    unflatten_fn: Unflatten,
    *,
    flatten_with_keys_fn: Callable[[Any], tuple[Iterable[tuple[Key, Any]], Any]] | None = None,
    **options: Any,
) -> None:
    """Makes a class a container.

    Args:
        cls: the class, of which subclasses are leaves.
        flatten_fn: gives the children and a context.
        unflatten_fn: makes a value of children and a context.
        flatten_with_keys_fn: gives pairs of keys and children, and a context; needed for paths.
        options: accepted as PyTorch has them.

    Raises:
        ValueError: it is one already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"register_pytree_node(): {cls.__name__} is registered already")
    keyed = flatten_with_keys_fn
    keys = None if keyed is None else lambda value: [key for key, _ in keyed(value)[0]]
    SUPPORTED_NODES[cls] = _Node(flatten_fn, unflatten_fn, keys)


_register_pytree_node = register_pytree_node


def _node(value: Any, is_leaf: Callable[[Any], bool] | None) -> _Node | None:
    if is_leaf is not None and is_leaf(value):
        return None
    kind = type(value)
    return SUPPORTED_NODES.get(kind) or (_of_names(kind) if issubclass(kind, tuple) else None)


def _get_node_type(tree: Any) -> Any:
    """What libraries look up in SUPPORTED_NODES."""
    return type(tree)


def _of_names(kind: type) -> _Node | None:
    """What has names for its items: a named tuple, or the results of an operator."""
    if hasattr(kind, "_fields"):
        return _NAMED_TUPLE
    # Of flambeau, or of torch where that is the name of it.
    return _RESULTS if kind.__module__.partition(".")[2] == "return_types" else None


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """The leaves of a value, in order, and its structure.

    Args:
        tree: lists, tuples, dicts, named tuples and registered classes, nested; what is none of
            these is a leaf.
        is_leaf: True for a container that is to be a leaf.

    Example:
        >>> leaves, spec = tree_flatten({"a": [1, 2], "b": (3,)})
        >>> leaves
        [1, 2, 3]
        >>> tree_unflatten([4, 5, 6], spec)
        {'a': [4, 5], 'b': (6,)}
    """
    leaves: list[Any] = []
    return leaves, _take_apart(tree, leaves, is_leaf)


def _take_apart(value: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    node = _node(value, is_leaf)
    if node is None:
        leaves.append(value)
        return _LEAF
    children, context = node.flatten_fn(value)
    return TreeSpec(
        type(value), context, [_take_apart(child, leaves, is_leaf) for child in children]
    )


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The value of that structure with these leaves.

    Raises:
        ValueError: there are more or fewer leaves than the structure has.
    """
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(): the structure has {treespec.num_leaves} leaves, got {len(given)}"
        )
    return _put_together(iter(given), treespec)


def _put_together(leaves: Any, spec: TreeSpec) -> Any:
    if spec.is_leaf():
        return next(leaves)
    node = SUPPORTED_NODES.get(spec.type) or _of_names(spec.type)
    assert node is not None
    return node.unflatten_fn([_put_together(leaves, c) for c in spec.children_specs], spec.context)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any],
    tree: Any,
    *rests: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """The value with func(leaf) in place of each leaf; with further values of its structure,
    func(leaf, *leaves).
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def tree_map_(
    func: Callable[..., Any],
    tree: Any,
    *rests: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Calls func(leaf) for each leaf; returns the value."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


Kinds = type | tuple[type, ...]


def tree_map_only(
    kind: Kinds,
    func: Callable[..., Any],
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """tree_map() over the leaves of some types; others stay."""
    return tree_map(
        lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree, is_leaf=is_leaf
    )


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether it holds of every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether it holds of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kind: Kinds, pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether it holds of every leaf of some types."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))


def tree_any_only(kind: Kinds, pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether it holds of a leaf of some types."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """The leaves, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether the value is a leaf itself."""
    return _node(tree, is_leaf) is None


def _leaf_paths(value: Any, path: Path, is_leaf: Any) -> Iterator[tuple[Path, Any]]:
    node = _node(value, is_leaf)
    if node is None:
        yield path, value
        return
    if node.keys is None:
        raise ValueError(
            f"tree_flatten_with_path(): {type(value).__name__} was registered without "
            "flatten_with_keys_fn, which says where its children are"
        )
    for key, child in zip(node.keys(value), node.flatten_fn(value)[0], strict=True):
        yield from _leaf_paths(child, (*path, key), is_leaf)


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[tuple[Path, Any]]:
    """The leaves, in order, each with the keys that lead to it.

    Raises:
        ValueError: a container was registered without flatten_with_keys_fn.

    Example:
        >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
        [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_leaf_paths(tree, (), is_leaf))


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[Path, Any]], TreeSpec]:
    """tree_leaves_with_path(), and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any],
    tree: Any,
    *rests: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """tree_map() of func(path, leaf, *leaves)."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    made = [func(*pair, *more) for pair, *more in zip(found, *others, strict=True)]
    return tree_unflatten(made, spec)


def keystr(kp: Path) -> str:
    """A path as Python writes it."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Path) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is a named tuple's."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple_instance(obj: object) -> bool:
    """Whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Whether it is a named tuple or the class of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))
