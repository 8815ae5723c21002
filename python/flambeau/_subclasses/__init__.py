"""Tensors of PyTorch's tracer, which libraries ask about: there are none."""
