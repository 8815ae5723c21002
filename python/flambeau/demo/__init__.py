"""The demonstration: a small convolutional network learns to read digits."""
