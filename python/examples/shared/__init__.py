"""What the examples share: options, progress bars, data, scores, pictures."""
