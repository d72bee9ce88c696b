"""The kinds of job: one file a kind, one frozen type and one parser each."""
