"""A compspec compatibility artifact: what an image needs of the machines that it runs on."""

from rainbow_protocol.jobspec.place import Place, Remarks
from rainbow_protocol.jobspec.requirements import value_condition
from rainbow_protocol.jobspec.text import document_of
from rainbow_protocol.resources import Requirement


def read_compat(text: str, name: str = "") -> tuple[list[Requirement], tuple[str, ...]]:
    """One requirement for each entry, on the subsystem of its name; and remarks. Raises JobspecError."""
    remarks = Remarks()
    fields = Place(document_of(text, name), "", remarks).fields()
    entries = fields.need("compatibilities").items()
    fields.done()
    return [_requirement(entry) for entry in entries], remarks.lines()


def _requirement(place: Place) -> Requirement:
    fields = place.fields()
    name, attributes = fields.need("name"), fields.need("attributes")
    fields.take("version")  # of the names in it, not of anything that a cluster has
    fields.unused("says nothing that could be required", "annotations")
    fields.done()
    conditions = [value_condition(key, value) for key, value in attributes.entries().items()]
    return place.built(Requirement, subsystem=name.text(), conditions=conditions)
