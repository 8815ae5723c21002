"""Modules that keep less for their gradients."""
