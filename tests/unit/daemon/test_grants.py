"""What a session's tokens open, before and after one of the clusters is deleted and its name is used again."""

from rainbowd.net.auth import UserOf, UserOfDeleted, owner_of
from rainbowd.net.grants import Grants


def grants(*principals: UserOf | UserOfDeleted) -> Grants:
    made = Grants()
    for principal in principals:
        made.add(principal)
    return made


def test_all_clusters_of_the_tokens_can_be_used_and_seen() -> None:
    mine = grants(UserOf("red"), UserOf("blue"))
    assert mine.usable == mine.seeing == {"red", "blue"}
    assert mine.in_order == ("blue", "red")


def test_a_job_belongs_to_the_clusters_that_it_may_go_to() -> None:
    mine = grants(UserOf("red"), UserOf("blue"))
    assert mine.owner(frozenset({"red", "blue"})) == (owner_of(frozenset({"red", "blue"})), ("blue", "red"))
    assert mine.owner(frozenset({"red"})) == grants(UserOf("red")).owner(frozenset({"red"}))


def test_who_comes_after_a_deleted_cluster_is_another_owner() -> None:
    only = frozenset({"red"})
    owners = {grants(UserOf("red", generation)).owner(only)[0] for generation in range(3)}
    assert len(owners) == 3
    assert owner_of(only) in owners  # that of clusters which were never deleted stays what it always was


def test_the_token_of_a_deleted_cluster_sees_and_does_not_use() -> None:
    mine = grants(UserOf("blue"), UserOfDeleted("red~0"))
    assert (mine.usable, mine.seeing) == ({"blue"}, {"blue", "red~0"})
    assert mine.owner(mine.usable) == grants(UserOf("blue")).owner(frozenset({"blue"}))


def test_a_cluster_is_deleted_under_an_open_session() -> None:
    mine = grants(UserOf("red"), UserOf("blue"))
    mine.cluster_deleted("red", 0, "red~0")
    assert (mine.usable, mine.seeing) == ({"blue"}, {"blue", "red~0"})


def test_the_deletion_of_another_generation_does_not_matter() -> None:
    mine = grants(UserOf("red", 1))
    mine.cluster_deleted("red", 0, "red~0")
    mine.cluster_deleted("green", 0, "green~0")
    assert mine.usable == mine.seeing == {"red"}


def test_old_and_new_tokens_of_one_name_in_one_session() -> None:
    mine = grants(UserOfDeleted("red~0"), UserOf("red", 1))
    assert (mine.usable, mine.seeing) == ({"red"}, {"red", "red~0"})
