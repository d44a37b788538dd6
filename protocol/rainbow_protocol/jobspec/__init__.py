"""Every form in which people write jobs, read into the one request that Rainbow knows. docs/jobspecs.md lists them."""

from rainbow_protocol.jobspec.compat import read_compat
from rainbow_protocol.jobspec.errors import JobspecError
from rainbow_protocol.jobspec.reading import FORMATS, Reading, read, recognise
from rainbow_protocol.jobspec.shape import shape_of

__all__ = ["FORMATS", "JobspecError", "Reading", "read", "read_compat", "recognise", "shape_of"]
