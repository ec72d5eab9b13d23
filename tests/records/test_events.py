"""What is known of each type of event: its traits, and the page's copy of them."""

import json
import re

import msgspec
import pytest

from planck.archive.hiding import HIDINGS, Hiding
from planck.records.events import DELTAS, VIEWS, View, list_types
from scripts.make_page import list_known

TRAITS = {name for name, hint in View.__annotations__.items() if name != "type"}
RECORDED = sorted(VIEWS.keys() - DELTAS)


def test_a_type_has_no_trait_that_views_do_not_know() -> None:
    for type, view in VIEWS.items():
        own = {name for name in vars(view) if not name.startswith("_")}
        assert own - {"type", *view.__struct_fields__} <= TRAITS, type


def test_fields_that_no_page_shows_are_fields() -> None:
    for type, view in VIEWS.items():
        assert {*view.unseen} <= {*view.__struct_encode_fields__}, type


@pytest.mark.parametrize("type", RECORDED)
def test_where_calls_are_hidden_every_recorded_type_is_still_there(type: str) -> None:
    data = {field.encode_name: "x" for field in msgspec.structs.fields(VIEWS[type])}
    assert Hiding({*HIDINGS}, [])(type, data).keys() >= {*data} - {"images", "notice", "summary"}


def test_of_a_type_that_is_not_known_nothing_is_shown_where_calls_are_hidden() -> None:
    for type in ("from_a_later_version", *DELTAS):
        assert Hiding({"args"}, [])(type, {"text": "x"}) == {}


def test_the_page_has_the_same_traits() -> None:
    written = re.findall(r"^export \w+ (\w+) = (.*);$", list_known()["events.js"], re.M)
    assert {name: json.loads(value) for name, value in written} == {
        "NOTED": sorted(list_types("noted")),
        "UNSHOWN": {view.type: [*view.unseen] for view in VIEWS.values() if view.unseen},
    }
