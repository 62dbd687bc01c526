"""`python -m ragauge` is `ragauge`."""

from ragauge.cli.main import main

main()
