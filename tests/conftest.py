"""Hypothesis on a busy machine: slow is not wrong."""

from hypothesis import HealthCheck, settings

settings.register_profile("rainbow", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rainbow")
