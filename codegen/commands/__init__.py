"""The commands of the generator, one per file: `configure` says what it takes, `run` does it."""
