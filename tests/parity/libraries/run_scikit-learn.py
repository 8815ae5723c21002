"""scikit-learn: a program's own estimator: pipeline, cross-validation, grid search."""

import numpy as np
import torch
from filled import filled
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(ClassifierMixin, BaseEstimator):
    def __init__(self, hidden=16, lr=0.01, epochs=3):
        self.hidden = hidden
        self.lr = lr
        self.epochs = epochs

    def fit(self, X, y):
        self.classes_, targets = np.unique(y, return_inverse=True)
        layers = nn.Linear(X.shape[1], self.hidden), nn.Tanh()
        self.net_ = filled(nn.Sequential(*layers, nn.Linear(self.hidden, len(self.classes_))))
        data = TensorDataset(torch.tensor(X, dtype=torch.float32), torch.from_numpy(targets))
        optimizer = torch.optim.Adam(self.net_.parameters(), lr=self.lr)
        for _ in range(self.epochs):
            for inputs, wanted in DataLoader(data, batch_size=64):
                optimizer.zero_grad()
                nn.functional.cross_entropy(self.net_(inputs), wanted).backward()
                optimizer.step()
        return self

    def predict_proba(self, X):
        with torch.inference_mode():
            return self.net_(torch.as_tensor(X, dtype=torch.float32)).softmax(1).numpy()

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]


X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
model = make_pipeline(StandardScaler(), Network())
print(*(f"{score:.3f}" for score in cross_val_score(model, X, y, cv=3)))
search = GridSearchCV(model, {"network__hidden": [8, 32], "network__lr": [0.01, 0.03]}, cv=2)
search.fit(X, y)
print(search.best_params_, f"{search.best_score_:.3f}", f"{clone(model).fit(X, y).score(X, y):.3f}")
probabilities = search.predict_proba(X[:50])
print(f"{probabilities.max():.4f} {probabilities.std():.4f}")
