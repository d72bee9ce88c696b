"""Why something was decided, now or then: told from the ledger and git alone."""
