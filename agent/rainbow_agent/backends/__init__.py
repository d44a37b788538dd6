"""Where jobs really run. `base` is the port; one backend a file."""
