"""When changed sources are looked at, and when a refresh is tried again: rules without a clock of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexthall.caches.refresh_rules import Attempts, Glance, PendingChanges
from contexthall.core import limits

BURST = limits.BURST_CHANGES + 1


def test_one_save_is_looked_at_at_once() -> None:
    assert PendingChanges(10.0, 10.0).is_due(10.0, is_installation=False)


def test_a_burst_is_looked_at_when_it_is_over() -> None:
    burst = PendingChanges(10.0, 10.0).more(BURST, 11.0)
    assert not burst.is_due(11.0 + limits.BURST_QUIET_SECONDS * 0.9, is_installation=False)
    assert burst.is_due(11.0 + limits.BURST_QUIET_SECONDS, is_installation=False)


def test_an_installation_is_looked_at_later_however_few_files_it_changes() -> None:
    assert not PendingChanges(10.0, 10.0).is_due(10.0 + limits.BURST_QUIET_SECONDS, is_installation=True)
    assert PendingChanges(10.0, 10.0).is_due(10.0 + limits.INSTALLATION_QUIET_SECONDS, is_installation=True)


@given(st.lists(st.floats(0.0, limits.BURST_QUIET_SECONDS * 0.9), min_size=1, max_size=200))
def test_a_burst_is_one_look_or_one_in_the_longest_time_that_it_may_last(gaps: list[float]) -> None:
    now, waiting, looks = 0.0, PendingChanges(0.0, 0.0, BURST), 0
    for gap in gaps:
        now += gap
        if waiting.is_due(now, is_installation=False):
            looks, waiting = looks + 1, PendingChanges(now, now, BURST)
        waiting = waiting.more(BURST, now)
    assert looks <= now / limits.BURST_SECONDS
    assert waiting.is_due(now + limits.BURST_QUIET_SECONDS * 1.01, is_installation=False)


def test_sources_that_change_all_the_time_are_looked_at_all_the_same() -> None:
    endless = PendingChanges(0.0, limits.BURST_SECONDS, 10_000)
    assert endless.is_due(limits.BURST_SECONDS, is_installation=False)
    assert endless.is_due(limits.BURST_SECONDS, is_installation=True)


def test_noise_in_a_folder_takes_a_small_share_of_the_time() -> None:
    assert not Glance(10.0, 0.1, wasted=2).allows_another(10.0 + 0.1 * (limits.JUDGING_SHARE - 1))
    assert Glance(10.0, 0.1, wasted=2).allows_another(10.1 + 0.1 * limits.JUDGING_SHARE)
    assert Glance(10.0, 0.1, wasted=1).allows_another(10.0)  # a save that was told twice
    assert Glance(10.0, 0.1).allows_another(10.0)


def test_where_nobody_tells_of_changes_sources_are_looked_at_now_and_then() -> None:
    assert not Glance(10.0, 0.001).is_outdated(10.0 + limits.SOURCES_POLL_SECONDS * 0.9)
    assert Glance(10.0, 0.001).is_outdated(10.0 + limits.SOURCES_POLL_SECONDS)
    assert not Glance(10.0, 10.0).is_outdated(10.0 + limits.SOURCES_POLL_SECONDS)


def test_failures_are_tried_again_later_and_later_and_a_success_ends_that() -> None:
    attempts, pauses = Attempts(), []
    for _ in range(2000):
        attempts = attempts.after(100.0, 1.0, has_failed=True)
        pauses.append(attempts.again_at - 100.0)
    first = limits.REFRESH_BACK_OFF_SECONDS
    assert pauses[:3] == [first, first * 2, first * 4]
    assert pauses[-1] == max(pauses) == limits.LAST_REFRESH_BACK_OFF_SECONDS
    assert attempts.after(100.0, 1.0, has_failed=False) == Attempts(0, 101.0)


@pytest.mark.parametrize("took", [0.0, 1.5, limits.REFRESH_PAUSE_SECONDS, 3000.0])
def test_after_a_refresh_others_get_as_much_time_as_it_took_within_a_limit(took: float) -> None:
    pause = min(took, limits.REFRESH_PAUSE_SECONDS)
    assert Attempts().after(5.0, took, has_failed=False).again_at == 5.0 + pause
