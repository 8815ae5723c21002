"""Emitters: typed model in, files out."""
