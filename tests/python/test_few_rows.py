"""Reductions over few elements between many kept ones, and sums of many rows that indices name."""

import numpy as np
import pytest

import flambeau


@pytest.mark.parametrize(
    ("shape", "dims"),
    [
        ((700, 2, 260), (1,)),  # outputs of a row fill no block of accumulators
        ((3, 64, 5000), (1,)),  # more than one block, as many rows as one level takes
        ((3, 65, 500), (1,)),  # one more
        ((900, 4, 13), (1,)),  # several outputs' rows in one block
        ((40, 3, 5, 7, 6), (1, 3)),  # rows of two dims
        ((6, 2, 3, 1, 9, 4), (0, 2, 4)),
    ],
)
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "prod"])
def test_reductions_of_few_rows(shape: tuple[int, ...], dims: tuple[int, ...], name: str) -> None:
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x = flambeau.from_numpy(values)
    if name == "prod":
        for dim in reversed(dims):
            x = flambeau.prod(x, dim)
        found = x
    else:
        found = getattr(flambeau, name)(x, dims)
    expected = getattr(np, name)(values.astype(np.float64), axis=dims)
    np.testing.assert_allclose(found.numpy(), expected, rtol=3e-5, atol=3e-5)


def test_reductions_of_few_rows_of_any_strides() -> None:
    values = np.random.default_rng(0).standard_normal((5, 70, 3, 40))
    x = flambeau.from_numpy(values)
    for order in ((0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0), (1, 0, 3, 2)):
        view, known = x.permute(order)[:, ::2], values.transpose(order)[:, ::2]
        for dims in ((0,), (1,), (2,), (0, 2), (1, 3)):
            np.testing.assert_allclose(view.sum(dims).numpy(), known.sum(dims), rtol=1e-12)
            np.testing.assert_array_equal(view.amax(dims).numpy(), known.max(dims))


@pytest.mark.parametrize("rows", [1, 2, 5, 8, 9])
@pytest.mark.parametrize("columns", [2, 31, 64, 300, 1111])
def test_few_rows_of_any_dtype_into_results_of_any_strides(rows: int, columns: int) -> None:
    random = np.random.default_rng(rows)
    values = random.integers(-100, 100, (7, rows, columns))
    for dtype in ("float16", "bfloat16", "float64", "int8", "int32", "int64", "uint8"):
        x = flambeau.from_numpy(values).to(getattr(flambeau, dtype))
        known = x.to(flambeau.float64).numpy()
        low, high = flambeau.aminmax(x, dim=1)
        np.testing.assert_array_equal(low.to(flambeau.float64).numpy(), known.min(1))
        np.testing.assert_array_equal(high.to(flambeau.float64).numpy(), known.max(1))
        result = flambeau.empty(7, 2 * columns, dtype=x.dtype)[:, ::2]
        flambeau.amax(x, 1, out=result)
        np.testing.assert_array_equal(result.to(flambeau.float64).numpy(), known.max(1))
    complexes = values + 1j * random.standard_normal(values.shape)
    z = flambeau.from_numpy(complexes)
    np.testing.assert_allclose(z.conj().sum(1).numpy(), complexes.conj().sum(1), rtol=1e-12)
    mean = flambeau.mean(flambeau.from_numpy(values).to(flambeau.bfloat16), 1)
    np.testing.assert_allclose(mean.to(flambeau.float64).numpy(), values.mean(1), rtol=5e-3)


def test_not_a_number_in_few_rows() -> None:
    values = np.random.default_rng(0).standard_normal((4, 3, 150)).astype(np.float32)
    values[1, 2, ::7] = values[2, 0, ::5] = values[3, 1, 140:] = np.nan
    x = flambeau.from_numpy(values)
    np.testing.assert_array_equal(x.amax(1).numpy(), values.max(1))
    np.testing.assert_array_equal(x.amin(1).numpy(), values.min(1))


@pytest.mark.parametrize("features", [3, 8, 45, 96, 100, 133, 230])
def test_bags_of_any_number_of_features(features: int) -> None:
    random = np.random.default_rng(features)
    weight = random.standard_normal((50, features)).astype(np.float32)
    index = random.integers(0, 50, (37, 11))
    found = flambeau.nn.functional.embedding_bag(
        flambeau.from_numpy(index), flambeau.from_numpy(weight), mode="sum"
    )
    expected = weight.astype(np.float64)[index].sum(1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("dtype", "units"), [("float32", 5), ("float64", 4)])
def test_logit_of_any_probability(dtype: str, units: int) -> None:
    random = np.random.default_rng(0)
    p = np.concatenate(
        [
            random.uniform(0, 1, 20_000),
            0.5 + random.uniform(-1e-3, 1e-3, 20_000),
            [0.25, 0.5, 0.75, 1e-30],
        ]
    ).astype(dtype)
    exact = p.astype(np.longdouble)
    near = np.clip(exact, 0.2, None)
    odds = np.log1p((2 * near - 1) / (1 - near))  # exact near a half
    expected = np.where(exact > 0.2, odds, np.log(exact) - np.log1p(-exact))
    found = flambeau.logit(flambeau.from_numpy(p)).numpy()
    spacing = np.spacing(np.abs(expected).astype(dtype)).astype(np.longdouble)
    assert np.max(np.abs(found - expected) / spacing) <= units
    ends = flambeau.logit(flambeau.tensor([0.0, 1.0, -0.1, 1.1, float("nan")])).tolist()
    assert ends[:2] == [-np.inf, np.inf]
    assert np.isnan(ends[2:]).all()
