"""Marks of the main functions of programs that a launcher starts."""
