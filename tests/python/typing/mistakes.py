"""Mistakes that the type checker finds: each marked line is an error (test_typing.py)."""

from __future__ import annotations

import flambeau

x = flambeau.ones(2, 3)
flambeau.add(x, "1")  # error: no overload takes text
x.sum(keep_dim=True)  # error: the argument is called keepdim
y: int = x + 1  # error: a tensor is no int
x.no_such_method()  # error: no such method
flambeau.zeros(2, dtype="float32")  # error: a dtype is not a string
