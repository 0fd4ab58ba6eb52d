"""How places become arguments of bubblewrap: outer ones first, the deepest rule decides."""

from server.agent.sandbox.bubblewrap import arguments, bound, with_limits
from server.agent.sandbox.survey import Ground


def ground(**places: tuple[str, ...]) -> Ground:
    """A ground with these places and nothing else."""
    return Ground(
        cwd="/w",
        writable=places.get("writable", ("/w",)),
        protected=places.get("protected", ()),
        kept_free=(),
        hidden_folders=places.get("hidden_folders", ()),
        hidden_files=places.get("hidden_files", ()),
        shown=places.get("shown", ()),
        network=False,
    )


def given(places: Ground, *, user_id: int = 1_000) -> list[str]:
    """The arguments, as a list of words."""
    return arguments(
        places, {"A": "b"}, opened=dict.fromkeys(bound(places), 7), user_id=user_id,
        group_id=user_id, filter_fd=9, can_forbid_namespaces=True,
    )  # fmt: skip


def mounts(places: Ground) -> list[tuple[str, str]]:
    """What is laid where, in order, after the root, its devices and processes."""
    words = given(places)
    words = words[words.index("/proc", words.index("--remount-ro")) + 1 :]
    found = []
    for index, word in enumerate(words):
        if word in ("--bind-fd", "--ro-bind-fd", "--ro-bind"):
            found.append((word.removesuffix("-fd"), words[index + 2]))
        elif word in ("--tmpfs", "--remount-ro"):
            found.append((word, words[index + 1]))
    return found


def test_inner_places_are_laid_after_outer_ones() -> None:
    """A shown folder inside a mask, a mask inside a writable folder, a protected one as well."""
    laid = mounts(
        ground(
            protected=("/w/.git",),
            hidden_folders=("/home", "/w/deep/home"),
            hidden_files=("/etc/shadow",),
            shown=("/home/memory",),
        )
    )
    order = [path for _, path in laid]
    assert order.index("/home") < order.index("/home/memory")
    assert order.index("/w") < order.index("/w/.git")
    assert ("--bind", "/w/deep") in laid and ("--ro-bind", "/w/.git") in laid
    assert ("--ro-bind", "/etc/shadow") in laid
    masks = [path for word, path in laid if word == "--remount-ro"]
    assert masks == ["/home", "/w/deep/home"]
    assert order.index("/home/memory") < len(order) - 1 - order[::-1].index("/home")


def test_a_protected_place_is_not_opened_by_another_inside_it() -> None:
    """The folder of a submodule lies inside the repository's own."""
    laid = mounts(ground(protected=("/w/.git", "/w/.git/modules/x")))
    assert ("--bind", "/w/.git/modules") not in laid
    assert [one for one in laid if one[0] == "--bind"] == [("--bind", "/w")]


def test_what_is_open_inside_a_protected_place_has_its_own_pins() -> None:
    """A folder around a link is protected, what stands in it is not."""
    laid = mounts(ground(writable=("/w", "/w/vendor"), protected=("/w", "/w/vendor/lib/.git")))
    order = ["/w", "/w/vendor", "/w/vendor/lib", "/w/vendor/lib/.git"]
    assert [path for _, path in laid if path in order] == order
    assert [word for word, path in laid if path in order] == [
        "--ro-bind", "--bind", "--bind", "--ro-bind",
    ]  # fmt: skip


def test_root_becomes_nobody_and_a_user_stays_who_they_are() -> None:
    """Without capabilities in any case, and without a network where none is allowed."""
    for user_id, inside in ((0, "65534"), (1_000, "1000")):
        words = given(ground(), user_id=user_id)
        assert words[words.index("--uid") + 1] == inside
        assert words[words.index("--cap-drop") + 1] == "ALL"
        assert "--unshare-net" in words and "--disable-userns" in words and "--clearenv" in words


def test_limits_stand_in_front_of_the_command() -> None:
    """Soft and hard alike, so that the command cannot raise them."""
    command = with_limits(["a", "b"], {"RLIMIT_CORE": 0, "RLIMIT_NPROC": 9}, prlimit="/bin/prlimit")
    assert command == ["/bin/prlimit", "--core=0:0", "--nproc=9:9", "--", "a", "b"]
    assert with_limits(["a"], {"RLIMIT_CORE": 0}, prlimit=None) == ["a"]
