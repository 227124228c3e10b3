from shop import place, total


def test_a_discount_is_taken_off() -> None:
    assert total(place("Ada", "apple", "pear"), discount_percent=10) == 63
