"""The form with out=: results are written into tensors that are given, and these are returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from operator_calls import call, is_reachable, library_values, outputs, to_array
from operator_cases import Case, NoReferenceError, Values, cases, expected, is_random, result_names
from operator_choice import first_array, result_fits
from operator_compare import difference, floating, tolerance

import flambeau
from flambeau import Tensor
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.model.facts import is_factory
from flambeau.codegen.plan.python_signature import Form

CASES = [c for c in cases() if "out" in c.operator.variants and is_reachable(c.operator)]
COMPARED = [c for c in CASES if not is_random(c.operator) and not c.operator.test.arbitrary]


def _one_of_each(found: Sequence[Case]) -> list[Case]:
    return list({c.operator.full_name: c for c in reversed(found)}.values())[::-1]


def plain(case: Case, given: Mapping[str, Any]) -> list[Tensor]:
    """What the form without out= returns."""
    returned = call(case.operator, given, Form.FUNCTION)
    return list(outputs(case.operator, returned, given).values())


def write(operator: Operator, given: Mapping[str, Any], outs: Sequence[Tensor]) -> Any:
    """Calls the form with out=."""
    out = outs[0] if len(outs) == 1 else tuple(outs)
    return call(operator, given, Form.FUNCTION, out=out)


def check_written(case: Case, values: Values, outs: Sequence[Tensor], how: str) -> None:
    """The tensors hold NumPy's results, or have the declared properties of the form without."""
    operator = case.operator
    try:
        target = expected(operator, values)
    except NoReferenceError:
        target = [to_array(t) for t in plain(case, library_values(operator, values))]
    wrong = difference(operator, list(outs), target, tolerance(operator, *floating(list(outs))))
    assert wrong is None, f"{operator.full_name} with out= {how}: {wrong}"


@pytest.mark.parametrize("case", COMPARED, ids=str)
def test_empty_tensors_are_resized(case: Case) -> None:
    values = case.values()
    given = library_values(case.operator, values)
    outs = [flambeau.empty(0, dtype=t.dtype) for t in plain(case, given)]
    versions = [out._version for out in outs]
    returned = write(case.operator, given, outs)
    if len(outs) == 1:
        assert returned is outs[0]
    else:
        assert all(a is b for a, b in zip(returned, outs, strict=True))
        assert type(returned) is type(call(case.operator, given, Form.FUNCTION))
    assert all(out._version > v for out, v in zip(outs, versions, strict=True))
    check_written(case, values, outs, "of empty tensors")


@pytest.mark.parametrize("case", COMPARED, ids=str)
def test_strided_views(case: Case) -> None:
    """Every other element of larger tensors is written; the rest stays."""
    values = case.values()
    given = library_values(case.operator, values)
    bases, views = [], []
    for result in plain(case, given):
        shape = tuple(result.shape)
        base = flambeau.full([2 * s for s in shape], 7, dtype=flambeau.float64).to(result.dtype)
        bases.append(base)
        views.append(base[tuple(slice(None, None, 2) for _ in shape)] if shape else base)
    write(case.operator, given, views)
    check_written(case, values, views, "of strided views")
    for base, view in zip(bases, views, strict=True):
        if view.dim() and view.numel():
            rest = to_array(base)[tuple(slice(1, None, 2) for _ in view.shape)]
            assert np.array_equal(rest, np.full_like(rest, 7)), "wrote beside the view"


@pytest.mark.parametrize("case", [c for c in CASES if is_random(c.operator)], ids=str)
def test_random_numbers(case: Case) -> None:
    """The same numbers come out as without out=."""
    given = library_values(case.operator, case.values())
    flambeau.manual_seed(3)
    wanted = plain(case, given)
    outs = [flambeau.empty(0, dtype=t.dtype) for t in wanted]
    flambeau.manual_seed(3)
    write(case.operator, given, outs)
    for out, result in zip(outs, wanted, strict=True):
        assert np.array_equal(to_array(out), to_array(result))


def _refused(case: Case, given: Values, outs: Sequence[Tensor], reason: str) -> None:
    """Nothing is written: neither elements nor sizes."""
    before = [(tuple(out.shape), out._version) for out in outs]
    name = case.operator.called_as or case.operator.name
    with pytest.raises(RuntimeError, match=rf"\b{name}\b.*({reason})"):
        write(case.operator, given, outs)
    assert [(tuple(out.shape), out._version) for out in outs] == before


def _is_bool(operator: Operator) -> bool:
    return all(r.dtype == "bool" for r in operator.signature.visible_results)


@pytest.mark.parametrize(
    "case",
    _one_of_each([c for c in CASES if not is_factory(c.operator) and not _is_bool(c.operator)]),
    ids=str,
)
def test_a_dtype_that_cannot_hold_the_result_is_refused(case: Case) -> None:
    given = library_values(case.operator, case.values())
    outs = [flambeau.empty(0, dtype=t.dtype) for t in plain(case, given)]
    for i, out in enumerate(outs):
        assert out.dtype is not flambeau.bool
        spoiled = [flambeau.empty(0, dtype=flambeau.bool) if i == j else o
                   for j, o in enumerate(outs)]  # fmt: skip
        _refused(case, given, spoiled, "dtype")


@pytest.mark.parametrize(
    "case", _one_of_each([c for c in CASES if is_factory(c.operator)]), ids=str
)
def test_a_factory_makes_what_out_is(case: Case) -> None:
    """The dtype is that of `out`, unless the caller says another, which is refused."""
    given = library_values(case.operator, case.values())
    out = flambeau.empty(0, dtype=flambeau.float64)
    given.pop("dtype", None)
    assert write(case.operator, given, [out]) is out
    assert out.dtype is flambeau.float64
    _refused(case, {**given, "dtype": flambeau.float32}, [out], "dtype")
    _refused(case, {**given, "device": "meta"}, [out], "device")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_elements_that_share_memory_are_refused(case: Case) -> None:
    given = library_values(case.operator, case.values())
    results = plain(case, given)
    for i, result in enumerate(results):
        if result.numel() < 2:
            continue
        outs = [flambeau.empty(0, dtype=t.dtype) for t in results]
        outs[i] = flambeau.zeros(1, dtype=result.dtype).expand(result.shape)
        _refused(case, given, outs, "share memory")


@pytest.mark.parametrize(
    "case", _one_of_each([c for c in CASES if not is_factory(c.operator)]), ids=str
)
def test_another_device_is_refused(case: Case) -> None:
    given = library_values(case.operator, case.values())
    outs = [flambeau.empty(0, dtype=t.dtype, device="meta") for t in plain(case, given)]
    _refused(case, given, outs, "meta|device")


@pytest.mark.parametrize("case", _one_of_each(CASES), ids=str)
def test_an_out_that_requires_grad_is_refused(case: Case) -> None:
    given = library_values(case.operator, case.values())
    outs = [flambeau.empty(0, dtype=t.dtype) for t in plain(case, given)]
    for i, out in enumerate(outs):
        if out.dtype.is_floating_point:
            leaf = flambeau.empty(0, dtype=out.dtype, requires_grad=True)
            _refused(case, given, [leaf if i == j else o for j, o in enumerate(outs)], "out=")
            with flambeau.no_grad():
                write(case.operator, given, [leaf if i == j else o for j, o in enumerate(outs)])


SEVERAL = [c for c in CASES if len(result_names(c.operator)) > 1]


@pytest.mark.parametrize("case", SEVERAL, ids=str)
def test_outs_that_share_memory_are_refused(case: Case) -> None:
    """Tensors of several dtypes over one block of memory."""
    given = library_values(case.operator, case.values())
    results = plain(case, given)
    memory = flambeau.zeros(max(16 * t.numel() for t in results), dtype=flambeau.uint8)
    outs = [memory[: t.numel() * t.element_size()].view(t.dtype).view(t.shape) for t in results]
    if sum(t.numel() > 0 for t in results) < 2:
        assert write(case.operator, given, outs)  # nothing is shared by what is empty
        return
    with pytest.raises(RuntimeError, match=rf"{case.operator.name}.*share memory"):
        write(case.operator, given, outs)
    assert not memory.any()


@pytest.mark.parametrize("case", _one_of_each(SEVERAL), ids=str)
def test_tuples_of_tensors(case: Case) -> None:
    """A tuple or a list with one tensor for each result; anything else is a TypeError."""
    operator = case.operator
    given = library_values(operator, case.values())
    outs = [flambeau.empty(0, dtype=t.dtype) for t in plain(case, given)]
    returned = call(operator, given, Form.FUNCTION, out=list(outs))
    assert all(a is b for a, b in zip(returned, outs, strict=True))
    assert call(operator, given, Form.FUNCTION, out=None)[0] is not outs[0]
    for wrong in (outs[0], (), tuple(outs[:-1]), (*outs, outs[0]), (*outs[:-1], None), 3, "ab"):
        with pytest.raises(TypeError, match=rf"{operator.name}\b"):
            call(operator, given, Form.FUNCTION, out=wrong)


OVERLAPPING = [
    c
    for c in COMPARED
    if len(result_names(c.operator)) == 1
    and result_fits(c)
    and (first := first_array(c.operator, c.values())) is not None
    and first.ndim
    and first.shape[0]
]


@pytest.mark.parametrize("case", OVERLAPPING, ids=str)
def test_overlap_with_an_argument(case: Case) -> None:
    """What is read is not what has been written: the very argument, or its neighbour."""
    operator = case.operator
    values = case.values()
    name = next(a.name for a in operator.signature.arguments if a.type.is_tensor)
    results = plain(case, library_values(operator, values))
    for shift in (0, 1):
        given = library_values(operator, values)
        base = flambeau.cat([given[name], given[name][:1]])
        size = given[name].shape[0]
        given[name], out = base[:size], base[shift : size + shift]
        if out.dtype is not results[0].dtype:
            continue
        write(operator, given, [out])
        check_written(case, values, [out], f"{shift} beside the argument")
