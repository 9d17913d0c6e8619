"""What was looked up is believed for a while, and looked up by one for all."""

import asyncio
import time

import pytest

from policysieve.service.believing import Believed

SECONDS = 0.4


class Looks:
    """Counts looks, each of which takes a while and finds its number."""

    def __init__(self, lasts=0.0):
        self.count, self.lasts, self.error = 0, lasts, None

    def __call__(self):
        time.sleep(self.lasts)
        self.count += 1
        if self.error is not None:
            raise self.error
        return self.count


def test_all_who_come_at_once_wait_for_one_look():
    looks = Looks(lasts=0.05)

    async def run():
        believed = Believed(looks, SECONDS)
        return await asyncio.gather(*(believed.get() for _ in range(20)))

    assert asyncio.run(run()) == [1] * 20
    assert looks.count == 1


def test_nobody_waits_while_it_is_looked_up_again():
    looks = Looks()

    async def run():
        believed = Believed(looks, SECONDS)
        assert await believed.get() == 1
        looks.lasts = 0.1
        await asyncio.sleep(0.6 * SECONDS)
        start = time.monotonic()
        assert await believed.get() == 1
        assert time.monotonic() - start < 0.05
        await asyncio.sleep(0.15)
        assert await believed.get() == 2

    asyncio.run(run())


def test_what_is_too_old_is_never_believed():
    looks = Looks()

    async def run():
        believed = Believed(looks, SECONDS)
        assert await believed.get() == 1
        await asyncio.sleep(1.1 * SECONDS)
        assert await believed.get() == 2

    asyncio.run(run())


def test_who_waits_hears_what_went_wrong_and_the_next_one_looks_again():
    looks = Looks()
    looks.error = OSError("away")

    async def run():
        believed = Believed(looks, SECONDS)
        found = await asyncio.gather(*(believed.get() for _ in range(3)), return_exceptions=True)
        assert [str(one) for one in found] == ["away"] * 3
        looks.error = None
        assert await believed.get() == 2

    asyncio.run(run())


def test_who_gives_up_does_not_take_it_from_the_others():
    looks = Looks(lasts=0.1)

    async def run():
        believed = Believed(looks, SECONDS)
        impatient = asyncio.create_task(believed.get())
        patient = asyncio.create_task(believed.get())
        await asyncio.sleep(0.02)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        assert await patient == 1

    asyncio.run(run())
