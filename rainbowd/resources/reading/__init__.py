"""Reading the documents by which clusters and subsystems describe themselves: bounded, exact, whatever their order."""
