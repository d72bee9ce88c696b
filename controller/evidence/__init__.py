"""What the outside says, as facts: Known with the time it was asked, or Unavailable."""
