"""What people do with the ledger itself: begin it, look at it, check it."""
