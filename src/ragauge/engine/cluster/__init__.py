"""A run on Ray: the same scheduler in several processes, one driver that writes the rows."""
