"""Checks of the declarations that run before any compiler."""
