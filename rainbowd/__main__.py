"""`python -m rainbowd`."""

from rainbowd.cli import main

main()
