"""What users call: commands."""
