"""Where former programs look for `distributed.fsdp`."""
