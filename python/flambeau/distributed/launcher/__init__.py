"""Starting programs and functions in several processes that train together, from Python."""

from __future__ import annotations

from flambeau.distributed.launcher.api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
