"""Maps of columns: what they may look like, and what is said of others."""

import pytest

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.log import ColumnMap
from policysieve.log.mapping import guessed

LINE = "context=age+country,action=item,propensity=p,reward=clicked,id=user,time=ts"


def test_a_line_a_file_and_a_mapping_say_the_same(tmp_path):
    (tmp_path / "map.toml").write_text(
        'context = ["age", "country"]\naction = "item"\npropensity = "p"\nreward = "clicked"\n'
        'id = "user"\ntime = "ts"\n'
    )
    given = {
        "context": ["age", "country"],
        "action": "item",
        "propensity": "p",
        "reward": "clicked",
        "id": "user",
        "time": "ts",
        "slate": None,
    }
    maps = [ColumnMap.parse(LINE), ColumnMap.parse(str(tmp_path / "map.toml")), ColumnMap.of(given)]
    assert maps[0] == maps[1] == maps[2]
    assert maps[0].names(contexts_only=True) == ["age", "country", "user", "ts"]


def test_one_column_is_a_context_and_a_list_of_one_is_a_table():
    assert ColumnMap.parse("context=age").context == "age"
    assert ColumnMap.of({"context": ["age"]}).context == ("age",)


def test_names_with_any_sign_are_for_toml(tmp_path):
    (tmp_path / "map.toml").write_text('context = ["age, years", "a+b=c"]\n')
    assert ColumnMap.parse(str(tmp_path / "map.toml")).context == ("age, years", "a+b=c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "must look like context=age.* got 'age'"),
        ("context=age,rewards=r", "must have the keys context, .* got 'rewards'"),
        ("context=age,context=country", "'context' once.* such as context=first.second"),
        ("action=item", "say where contexts are, with the key 'context', got action"),
        ("context=age+age", "different columns, got 'age' twice"),
        ("context=", r"columns\['context'\] must be the name of a column or a list of names"),
        ("context=a,time=b+c", r"columns\['time'\] must be the name of a column, got"),
        ("context=a,action=b+c,reward=d", "equally many columns .* got 2 of action, 1 of reward"),
        ("context=a,position=b", "the key 'slate', if they have a 'position'"),
        ("context=a,slate=s,action=b+c", "one column each .* if 'slate'"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(InvalidArgumentError, match=message):
        ColumnMap.parse(text)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="no map of columns at"):
        ColumnMap.parse(str(tmp_path / "no.toml"))
    (tmp_path / "bad.toml").write_text("context = [\n")
    with pytest.raises(FileFormatError, match=r"bad.toml is not TOML"):
        ColumnMap.parse(str(tmp_path / "bad.toml"))


@pytest.mark.parametrize("columns", [7, "context=age", ["context"], {1: "age"}, {"context": 7}])
def test_mappings_that_are_none(columns):
    with pytest.raises(InvalidArgumentError, match="columns"):
        ColumnMap.of(columns)


def test_a_log_needs_items():
    with pytest.raises(InvalidArgumentError, match="where each propensity is, with the key"):
        ColumnMap.parse("context=a,action=b").check_items()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            "ts,user_id,age,country,item,prob,clicked",
            "context=age+country,action=item,propensity=prob,reward=clicked,time=ts,unit=user_id",
        ),
        (
            "request_id,f1,action,action_probability,reward",
            "context=f1,action=action,propensity=action_probability,reward=reward,id=request_id",
        ),
        ("a,b", "context=a+b,action=ACTION,propensity=PROPENSITY,reward=REWARD"),
        (
            "age,action,propensity,reward,available,unit,outcome:click",
            "context=age,action=action,propensity=propensity,reward=reward,available=available,"
            "unit=unit,outcome.click=outcome:click",
        ),
        (
            "age,item,p,clicked,bought,in_stock",
            "context=age,action=item,propensity=p,reward=clicked,available=in_stock,"
            "outcome.bought=bought",
        ),
        (
            "age,action_0,action_1,propensity_0,propensity_1,reward_0,reward_1,position",
            "context=age+position,action=action_0+action_1,propensity=propensity_0+propensity_1,"
            "reward=reward_0+reward_1",
        ),
    ],
)
def test_guesses(names, expected):
    assert guessed(names.split(",")) == expected
    assert ColumnMap.parse(expected)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("age,country", "context=age+country"),
        ("ts,user_id,age,item,prob,clicked,bought", "context=age,time=ts,unit=user_id"),
        ("age,available,distribution,outcome:click", "context=age,available=available"),
    ],
)
def test_guesses_of_contexts_alone(names, expected):
    assert guessed(names.split(","), contexts_only=True) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("context=a,outcomes.cost=c", "write outcome.NAME for another outcome"),
        ("context=a,units=u", "did you mean 'unit'"),
    ],
)
def test_a_key_that_there_is_not_comes_with_what_was_meant(text, message):
    with pytest.raises(InvalidArgumentError, match=message):
        ColumnMap.parse(text)
