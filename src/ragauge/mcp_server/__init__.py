"""ragauge for coding agents: an MCP server that reads runs and judges answers, and writes nothing."""
