"""The agent's pure heart: no I/O, no clock, no randomness. Commands in, effects out; time is an argument."""
