"""One report, several renderers, one exit code."""
