"""Builds, checks and tests of the native parts."""
