"""The language of formulas: trees, what is done to them, what they are printed as."""
