"""Golden scenarios of the core, written so that a reviewer can read them as stories."""
