"""The places that other people's loaders import from."""
