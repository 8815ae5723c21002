"""Averaging models over processes now and then, in place of gradients in each step."""
