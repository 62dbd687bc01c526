"""Reading a run: functions from manifest and records to numbers. Nothing here asks, judges or writes."""
