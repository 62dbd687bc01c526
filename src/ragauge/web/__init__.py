"""The page: runs, rows, comparisons, retrieval, review and monitoring, read from disk and shown as HTML.

`app.create_app(settings, services)` makes the application; `ragauge serve` runs it. No page computes a number: pages
call `analysis`, `diagnose`, `report`, `review` and `monitor`, as the command line does. What needs the making half of
ragauge (a live retrieval) is a callable in `Services`, given by whoever starts the application.
"""
