"""Where storages of files go, as programs say it; and files without contents."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

import flambeau
from flambeau import serialization
from flambeau.serialization import locations


@pytest.fixture(autouse=True)
def _nothing_registered() -> Iterator[None]:
    before = list(locations._packages)
    yield
    locations._packages[:] = before


def written(obj: Any) -> io.BytesIO:
    file = io.BytesIO()
    flambeau.save(obj, file)
    file.seek(0)
    return file


def of_a_gpu(obj: Any) -> io.BytesIO:
    """A file as another machine writes it, with tensors on a device that is not here."""
    serialization.register_package(0, lambda storage: "cuda:0", lambda storage, place: None)
    file = written(obj)
    locations._packages.clear()
    return file


def test_a_place_that_is_not_here() -> None:
    file = of_a_gpu(flambeau.arange(3.0))
    if not flambeau.cuda.is_available():
        with pytest.raises(Exception, match="map_location"):
            flambeau.load(file)
    file.seek(0)
    places = []

    def restore(storage: Any, place: str) -> Any:
        places.append(place)
        return storage

    serialization.register_package(0, lambda storage: None, restore)
    assert flambeau.load(file).tolist() == [0, 1, 2] and places == ["cuda:0"]
    file.seek(0)
    assert flambeau.load(file, map_location="cpu").tolist() == [0, 1, 2]
    assert places == ["cuda:0", "cpu"]


def test_the_lower_priority_is_asked_first() -> None:
    asked = []

    def restorer(name: str, answers: bool) -> Any:
        def restore(storage: Any, place: str) -> Any:
            asked.append(name)
            return storage if answers else None

        return restore

    serialization.register_package(15, lambda storage: None, restorer("third", True))
    serialization.register_package(5, lambda storage: "second", restorer("second", False))
    serialization.register_package(-1, lambda storage: None, restorer("first", False))
    storage = flambeau.ones(1).untyped_storage()
    assert serialization.location_tag(storage) == "second"
    # The library's own answer comes before those of 15.
    assert serialization.default_restore_location(storage, "cpu") is storage
    assert asked == ["first", "second"]
    assert serialization.default_restore_location(storage, "elsewhere") is storage
    assert asked[2:] == ["first", "second", "third"]


def test_mistakes_of_what_is_registered() -> None:
    with pytest.raises(TypeError, match="priority must be a number, got 'x'"):
        serialization.register_package("x", str, str)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="deserializer must be a function, got None"):
        serialization.register_package(1, str, None)  # type: ignore[arg-type]
    three: Any = 3
    serialization.register_package(0, lambda storage: None, lambda storage, place: three)
    with pytest.raises(Exception, match="must return a storage or None, and returned 3"):
        flambeau.load(written(flambeau.ones(1)))


def test_contents_that_are_not_written() -> None:
    tensors = {"a": flambeau.ones(100), "b": flambeau.arange(3), "c": flambeau.ones(0)}
    with serialization.skip_data():
        file = written(tensors)
    assert len(file.getvalue()) == len(written(tensors).getvalue())
    found = flambeau.load(file)
    assert {name: x.abs().sum().item() for name, x in found.items()} == {"a": 0, "b": 0, "c": 0}
    assert [x.shape for x in found.values()] == [x.shape for x in tensors.values()]


def test_contents_that_are_not_read() -> None:
    file = written({"a": flambeau.ones(2, 3)})
    with serialization.skip_data(), serialization.skip_data():
        found = flambeau.load(file)["a"]
    assert found.tolist() == [[0, 0, 0]] * 2
    file.seek(0)
    assert flambeau.load(file)["a"].sum().item() == 6
    with pytest.raises(NotImplementedError, match="materialize_fake_tensors must be False"):
        serialization.skip_data(materialize_fake_tensors=True)
