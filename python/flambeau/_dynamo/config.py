"""Settings: whatever a program sets is kept."""
