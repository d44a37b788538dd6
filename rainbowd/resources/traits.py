"""What a subsystem says about a place of the cluster: one trait for each of its vertices that is attached there."""

from collections.abc import Sequence

from rainbowd.resources.graph import Scalar, SubsystemGraph

# subsystem, type, ((field, value), …) sorted; a field may stand there more than once.
Trait = tuple[str, str, tuple[tuple[str, Scalar], ...]]


def traits_of(subsystem: SubsystemGraph, attached: Sequence[int]) -> frozenset[Trait]:
    """Of the attached vertices and all that they hold.

    Older datasets write one vertex for each fact, with the fact as its type: `os.name=ubuntu`. Those are no things
    but labels: they belong to what holds them, or, attached directly, together to this place.
    """
    seen = set(attached)
    stack = list(attached)
    while stack:
        for child in subsystem.children.get(stack.pop(), ()):
            if child not in seen:
                seen.add(child)
                stack.append(child)
    traits: set[Trait] = set()
    here: list[tuple[str, Scalar]] = []
    for position in sorted(seen):
        vertex = subsystem.vertices[position]
        if _is_label(vertex.type):
            if position in attached:
                here.append(_label(vertex.type))
            continue
        labels = [
            _label(subsystem.vertices[child].type)
            for child in subsystem.children.get(position, ())
            if _is_label(subsystem.vertices[child].type)
        ]
        traits.add((subsystem.name, vertex.type, _sorted([*vertex.attributes, *labels])))
    if here:
        traits.add((subsystem.name, subsystem.name, _sorted(here)))
    return frozenset(traits)


def _is_label(vertex_type: str) -> bool:
    return "=" in vertex_type[1:]


def _label(vertex_type: str) -> tuple[str, Scalar]:
    key, _, value = vertex_type.partition("=")
    return key.strip(), value.strip()


def _sorted(facts: list[tuple[str, Scalar]]) -> tuple[tuple[str, Scalar], ...]:
    plain = {(key, str(value).lower() if isinstance(value, bool) else value) for key, value in facts}
    return tuple(sorted(plain, key=repr))
