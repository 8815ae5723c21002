"""What the operators are compared with, where that is more than one short expression.

A reference in `FAMILY.yaml` calls the functions of `FAMILY.py` by their names.
"""
