"""The demo: the whole life of one job, with the real commands, in a scratch repository."""
