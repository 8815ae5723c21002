"""The expression language of the declarations: parsed once, emitted as C++, NumPy and LaTeX."""
