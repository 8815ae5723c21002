"""From YAML to the model."""
