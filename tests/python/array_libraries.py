"""Calls functions of SciPy and scikit-learn with tensors, and again with NumPy's arrays: both
dispatch by the array API standard. Prints a line for each that differs, or gives no tensor.

A program of its own: SciPy reads SCIPY_ARRAY_API when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.cluster
import scipy.constants
import scipy.fft
import scipy.integrate
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
from scipy.spatial.transform import Rotation
from sklearn import (
    datasets,
    decomposition,
    discriminant_analysis,
    linear_model,
    metrics,
    mixture,
    preprocessing,
)

import flambeau

Call = Callable[[Any, Any], Any]

X, LABELS = datasets.make_classification(120, 6, n_informative=4, n_classes=3, random_state=0)

CALLS: dict[str, Call] = {
    "logsumexp": lambda x, y: scipy.special.logsumexp(x, axis=1),
    "xlogy": lambda x, y: scipy.special.xlogy(abs(x), abs(x)),
    "fft": lambda x, y: scipy.fft.rfft(x, axis=0),
    "dct": lambda x, y: scipy.fft.dct(x),
    "zscore": lambda x, y: scipy.stats.zscore(x),
    "skew": lambda x, y: scipy.stats.skew(x, axis=0),
    "kurtosis": lambda x, y: scipy.stats.kurtosis(x),
    "pearsonr": lambda x, y: scipy.stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    "ttest": lambda x, y: scipy.stats.ttest_1samp(x, 0.3).pvalue,
    "quantile": lambda x, y: scipy.stats.quantile(x[:, 0], 0.3),
    "trapezoid": lambda x, y: scipy.integrate.trapezoid(x, axis=0),
    "fftconvolve": lambda x, y: scipy.signal.fftconvolve(x[:, 0], x[:, 1]),
    "detrend": lambda x, y: scipy.signal.detrend(x, axis=0),
    "whiten": lambda x, y: scipy.cluster.vq.whiten(x),
    "Rotation": lambda x, y: Rotation.from_rotvec(x[:, :3]).as_matrix(),
    "convert_temperature": lambda x, y: scipy.constants.convert_temperature(x, "C", "K"),
    "StandardScaler": lambda x, y: preprocessing.StandardScaler().fit_transform(x),
    "MinMaxScaler": lambda x, y: preprocessing.MinMaxScaler().fit_transform(x),
    "Normalizer": lambda x, y: preprocessing.Normalizer().fit_transform(x),
    "PolynomialFeatures": lambda x, y: preprocessing.PolynomialFeatures().fit_transform(x),
    "LabelEncoder": lambda x, y: preprocessing.LabelEncoder().fit_transform(y),
    "PCA": lambda x, y: abs(decomposition.PCA(3, svd_solver="full").fit_transform(x)),
    "LDA": lambda x, y: (
        discriminant_analysis.LinearDiscriminantAnalysis().fit(x, y).predict_proba(x)
    ),
    "Ridge": lambda x, y: linear_model.Ridge(solver="svd").fit(x, x[:, 0] + y).predict(x),
    "GaussianMixture": lambda x, y: (
        mixture.GaussianMixture(2, init_params="random_from_data", random_state=0).fit(x).means_
    ),
    "confusion_matrix": lambda x, y: metrics.confusion_matrix(y, y),
    "euclidean_distances": lambda x, y: metrics.pairwise.euclidean_distances(x),
}


def main() -> None:
    for name, call in CALLS.items():
        wanted = call(X.copy(), LABELS.copy())
        with sklearn.config_context(array_api_dispatch=True):
            seen = call(flambeau.asarray(X.copy()), flambeau.asarray(LABELS.copy()))
        if not isinstance(seen, flambeau.Tensor):
            print(f"{name}: gave {type(seen).__name__}")
        elif not np.allclose(seen.numpy(), wanted, rtol=1e-6, atol=1e-8):
            print(f"{name}: differs")
    print(f"{len(CALLS)} called")


if __name__ == "__main__":
    main()
