"""References that are Python functions: `references/FAMILY.py` beside the file of declarations.

What is promised about them: they are called in a process of their own, which a call that takes too
long, a crash or an exit ends, and which may use so much memory and no more, and write no file. They
import what computes (NumPy, SciPy, modules of numbers) and each other. That guards against slips:
whoever runs the checks of a package trusts its Python as its kernels.
"""
