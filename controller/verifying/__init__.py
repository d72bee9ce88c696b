"""From a model version or a run back to who approved it, edge by edge.

`gathering` asks; everything else here is pure: what follows from the bytes and facts it found.
"""
