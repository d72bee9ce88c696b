"""How long the commands take. Figures, not tests: `make bench`."""
