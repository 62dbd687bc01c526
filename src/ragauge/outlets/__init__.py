"""Where results go: a file that Prometheus reads, a message in a channel."""
