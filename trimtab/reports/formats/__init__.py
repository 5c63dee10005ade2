"""Report formats: one module each, found by its file name."""
