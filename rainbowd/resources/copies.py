"""How many times a request fits at once, as that many jobs of different people: what is not exclusive may be shared."""

from collections.abc import Sequence

from rainbowd.resources.asking import Demand, Want
from rainbowd.resources.capacity import Capacity, TooIntricateError, times, whole_times
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.requirements import Chain

COPIES_MAX = 10**12


def copies(capacity: Capacity, place: SubtreeClass, chain: Chain, demands: Sequence[Demand]) -> int:
    """In what the place holds. For parts that compete it is a lower bound: copies that share nothing are counted."""
    fewest = COPIES_MAX
    for group in capacity.groups(place, demands):
        capacity.spend(len(group) * len(place.children) // 4)  # dozens of wants on thousands of kinds take seconds
        alone = min(whole_times(capacity.total(want, place, chain), number) for want, number in group)
        if alone and (len(group) > 1 or capacity.self_competing(group[0].want, place)):
            alone = _side_by_side(capacity, place, chain, group, alone)
        elif alone:
            alone = _of_one(capacity, place, chain, *group[0])
        fewest = min(fewest, alone)
        if fewest == 0:
            break
    return fewest


def _of_one(capacity: Capacity, place: SubtreeClass, chain: Chain, want: Want, number: int) -> int:
    if want.is_leaf or want.packed or want.exclusive:
        return whole_times(capacity.total(want, place, chain), number)
    # A vertex may serve many copies, but each copy only once: `number` different ones for every copy.
    rooms = [
        (copies(capacity, one, above, want.demands), count)
        for (one, above), count in capacity.vertices(want.type, place, chain).items()
        if capacity.suits(want, one, above)
    ]
    low, high = 0, sum(room * count for room, count in rooms) // number
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(room, middle) * count for room, count in rooms) >= number * middle:
            low = middle
        else:
            high = middle - 1
    return low


def _side_by_side(capacity: Capacity, place: SubtreeClass, chain: Chain, group: Sequence[Demand], most: int) -> int:
    """The largest number up to `most` of copies that share nothing. What is too intricate to tell is not counted."""
    low, high = 0, most
    try:
        while low < high:
            middle = min((low + high + 1) // 2, max(1, low * 2))
            if capacity.group_fits(place, chain, times(group, middle)):
                low = middle
            else:
                high = middle - 1
    except TooIntricateError:
        return max(1, low)
    return low
