"""Flambeau's generator: declarations in, C++, CUDA, bindings, stubs, docs and tests out."""
