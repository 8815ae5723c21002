"""skorch: classifier, regressor, pipeline, grid search."""

import numpy as np
from filled import filled
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from torch import nn

X = np.random.RandomState(0).randn(80, 5).astype("float32")
y = (X.sum(1) > 0).astype("int64")


def network():
    return filled(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(dim=-1)))


def classifier(**options):
    return NeuralNetClassifier(
        network, max_epochs=8, verbose=0, iterator_train__shuffle=False, **options
    )


net = make_pipeline(StandardScaler(), classifier(lr=0.5)).fit(X, y)
print("accuracy", (net.predict(X) == y).mean())
history = net[-1].history
print("losses", *(round(float(row["train_loss"]), 5) for row in history))
search = GridSearchCV(classifier(), {"lr": [0.1, 0.5]}, cv=2, scoring="accuracy").fit(X, y)
print("best", search.best_params_["lr"])
line = NeuralNetRegressor(lambda: filled(nn.Linear(5, 1)), max_epochs=5, lr=0.1, verbose=0)
line.fit(X, X.sum(1, keepdims=True))
print("regression", line.predict(X).shape)
