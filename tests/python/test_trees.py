"""Nested values by their paths: what leads to a leaf is what Python would write to reach it."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from flambeau.utils import _pytree as trees

Pair = namedtuple("Pair", ["left", "right"])
TREE = {
    "a": [1, (2, None)],
    "b": Pair(3, [4]),
    "c": OrderedDict(z=5),
    "d": defaultdict(list, {6: deque([7])}),
}


def test_paths_lead_to_their_leaves() -> None:
    found, spec = trees.tree_flatten_with_path(TREE)
    assert found == trees.tree_leaves_with_path(TREE)
    assert [leaf for _, leaf in found] == list(trees.tree_iter(TREE))
    for path, leaf in found:
        assert trees.key_get(TREE, path) == leaf
        assert eval("TREE" + trees.keystr(path)) == leaf
    assert spec == trees.tree_structure(TREE)


def test_functions_of_paths() -> None:
    named = trees.tree_map_with_path(
        lambda path, x, y: (trees.keystr(path), x, y), [1, [2]], [3, [4]]
    )
    assert named == [("[0]", 1, 3), [("[1][0]", 2, 4)]]
    whole = trees.tree_leaves_with_path(TREE, is_leaf=lambda x: isinstance(x, list))
    assert trees.keystr(whole[0][0]) == "['a']"


def test_classes_of_programs() -> None:
    class Box:
        def __init__(self, inside: object) -> None:
            self.inside = inside

    class Bag(Box):
        pass

    trees.register_pytree_node(
        Box,
        lambda box: ([box.inside], None),
        lambda values, _: Box(*values),
        flatten_with_keys_fn=lambda box: ([(trees.GetAttrKey("inside"), box.inside)], None),
    )
    trees.register_pytree_node(
        Bag, lambda bag: ([bag.inside], None), lambda values, _: Bag(*values)
    )
    try:
        ((path, leaf),) = trees.tree_leaves_with_path([Box(8)])
        assert trees.keystr(path) == "[0].inside" and leaf == 8
        assert not trees.tree_is_leaf(Box(8)) and trees.tree_is_leaf(8)
        with pytest.raises(ValueError, match="Bag was registered without flatten_with_keys_fn"):
            trees.tree_leaves_with_path([Bag(8)])
    finally:
        del trees.SUPPORTED_NODES[Box], trees.SUPPORTED_NODES[Bag]


def test_named_tuples() -> None:
    assert trees.is_namedtuple(Pair) and trees.is_namedtuple(Pair(1, 2))
    assert trees.is_namedtuple_class(Pair) and trees.is_namedtuple_instance(Pair(1, 2))
    assert not trees.is_namedtuple((1, 2)) and not trees.is_namedtuple_instance(Pair)
