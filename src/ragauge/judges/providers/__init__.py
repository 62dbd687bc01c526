"""Model APIs behind `core.provider.Provider`: one request, once. Client libraries are extras, imported on first use."""
