"""Operators that call functions, which libraries import from here."""
