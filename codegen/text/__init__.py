"""Text with places: YAML, excerpts, mistakes."""
