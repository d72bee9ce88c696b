"""Doing what a plan says, one action at a time, one receipt each."""
