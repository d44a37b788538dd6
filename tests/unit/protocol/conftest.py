"""Hypothesis without its deadline: a busy machine makes one example slow, not wrong."""

from hypothesis import settings

settings.register_profile("rainbow", deadline=None)
settings.load_profile("rainbow")
