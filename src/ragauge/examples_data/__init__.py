"""The shipped example: a technical-documentation corpus, its golden set and settings. Data only, no code."""
