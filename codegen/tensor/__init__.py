"""Formulas over whole tensors."""
