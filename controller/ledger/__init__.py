"""What was set aside, started, used and decided: the records, and the account over them."""
