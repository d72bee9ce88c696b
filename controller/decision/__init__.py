"""Deciding: values in, values out. Nothing here can read, ask or do anything."""
