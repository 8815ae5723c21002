"""The reference site: `flambeau docs build` and the extensions of Sphinx that it uses."""
