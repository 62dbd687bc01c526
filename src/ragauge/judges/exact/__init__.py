"""Names that must match exactly: what code documentation is about, and what models make up."""
