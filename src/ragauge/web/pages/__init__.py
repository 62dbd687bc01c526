"""One module per screen; each has `routes`. Handlers are plain functions: they run in threads and may read files."""
