"""`python -m rainbow_agent`."""

from rainbow_agent.cli import main

main()
