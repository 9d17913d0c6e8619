"""What pages share: looked up once, not too often, and waited for only the first time."""

import threading
import time

from policysieve.service.dashboard.views import _Slot


def test_what_is_fresh_is_not_made_again():
    slot, made = _Slot(), []
    for _ in range(3):
        assert slot.get(60, lambda: made.append(1) or len(made)) == 1
    assert slot.get(60, lambda: 2) == 1


def test_what_takes_long_is_made_less_often():
    slot, made = _Slot(), []

    def slowly():
        time.sleep(0.1)
        made.append(1)
        return len(made)

    assert slot.get(0, slowly) == 1
    start = time.monotonic()
    while slot.get(0, slowly) == 1:
        time.sleep(0.005)
    assert time.monotonic() - start > 0.3, "three times as long as it took"
    assert len(made) == 2


def test_others_see_the_one_before_while_it_is_made_anew():
    slot, begun, go_on = _Slot(), threading.Event(), threading.Event()

    def slowly():
        begun.set()
        assert go_on.wait(30)
        return "new"

    assert slot.get(0, lambda: "old") == "old"
    time.sleep(0.01)
    found = []
    thread = threading.Thread(target=lambda: found.append(slot.get(0, slowly)))
    thread.start()
    assert begun.wait(30)
    assert slot.get(0, lambda: "another") == "old"
    go_on.set()
    thread.join(30)
    assert found == ["new"]


def test_an_error_is_not_kept():
    slot = _Slot()
    for error in (ValueError, KeyError):
        try:
            slot.get(60, lambda error=error: (_ for _ in ()).throw(error))
        except error:
            continue
        raise AssertionError
    assert slot.get(60, lambda: 1) == 1
