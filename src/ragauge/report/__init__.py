"""View models, then terminal, Markdown, JSON and the rest. No arithmetic beyond formatting."""
