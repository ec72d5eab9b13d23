"""Names of sessions: in the names of their files, and for those that nobody named."""

from pathlib import Path

from planck.records.ports import Ids

_ADJECTIVES = (
    "able amber ample apt arctic autumn azure bold brave bright brisk bronze calm candid clear clever "
    "coastal copper coral cosmic crisp daring deep eager early easy even fair fast fine firm fleet fond "
    "frank free fresh gentle glad golden grand great green happy hardy honest humble ivory jolly keen "
    "kind late lean level light lively loyal lucid lunar major mellow merry mild misty modest neat nimble "
    "noble north open patient plain polar prime proud quick quiet rapid rare ready robust rosy round "
    "royal rustic sage silent silver simple sleek smooth solar solid sound south spare spry steady still "
    "stout sturdy subtle summer sunny sure swift tidy tranquil true vast vivid warm wise young"
)

_NOUNS = (
    "acorn alder anchor apple arbor ash aspen aurora badger bamboo basin bay beacon birch bison bloom "
    "breeze bridge brook canyon cedar cherry cliff cloud clover comet cove crane creek dawn delta dove "
    "dune eagle ember falcon fern field finch fjord flint forest fox garden glacier grove harbor hawk "
    "hazel heron hill horizon iris island ivy jay juniper kelp lagoon lake lark laurel leaf lily linden "
    "lotus lynx maple marsh meadow mesa mist moon moss mountain nova oak oasis ocean olive orbit orchid "
    "otter owl panda pebble pine planet plum pond poplar prairie quail quartz rain raven reef ridge river "
    "robin rock rose sail salmon seal shore sparrow spring spruce star stone stream summit swan thistle "
    "tide trail tulip valley violet walnut wave willow wind wren"
)


def new_name(ids: Ids) -> str:
    """`<adjective>-<noun>`; about 14,000 of them, so the caller checks whether it is taken."""
    number = int(ids.new(), 16)
    adjectives, nouns = _ADJECTIVES.split(), _NOUNS.split()
    return f"{adjectives[number % len(adjectives)]}-{nouns[number // 1009 % len(nouns)]}"


def name_in(path: Path) -> str:
    """Returns the session's name as its file name has it, which is what finds it."""
    return path.stem.partition("_")[2]


def id_in(path: Path) -> str:
    """Returns the session's id as its file name has it."""
    return path.name.partition("_")[0]
