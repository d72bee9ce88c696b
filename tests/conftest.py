"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples every time, and no verdict about how busy the machine is.
settings.register_profile(
    "deterministic",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deterministic")
