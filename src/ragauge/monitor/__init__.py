"""Production: log, sample, judge in the background, follow day by day, and raise an alert when it matters."""

from ragauge.monitor.logger import Logger

__all__ = ["Logger"]
