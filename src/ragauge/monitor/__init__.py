"""Production: log, sample, judge in the background, follow day by day, and raise an alert when it matters."""
