"""What goes around a provider, each a small frozen wrapper with the same protocol: cache, retries, limits, budget …"""
