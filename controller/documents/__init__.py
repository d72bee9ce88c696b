"""What a commit says: bytes in, typed documents and problems out. Pure."""
