"""The former place of `hub.load_state_dict_from_url`."""

# mypy: implicit-reexport
from __future__ import annotations

from flambeau.hub import load_state_dict_from_url

__all__ = ["load_state_dict_from_url", "load_url"]

load_url = load_state_dict_from_url
