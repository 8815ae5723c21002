"""What entries say, typed."""
