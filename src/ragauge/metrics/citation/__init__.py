"""citation."""
