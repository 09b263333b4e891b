"""Background tasks end, also where a cancellation gets lost."""

import asyncio

from switchboard_engine.client.ending import end


async def test_a_task_that_swallows_a_cancellation_is_cancelled_again() -> None:
    swallowed = 0

    async def stubborn() -> None:
        nonlocal swallowed
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                swallowed += 1
                if swallowed == 2:
                    raise

    async def broken() -> None:
        raise ValueError("it broke")

    tasks = [asyncio.create_task(stubborn()), asyncio.create_task(broken())]
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await end(tasks)
    assert swallowed == 2
    assert tasks[0].cancelled()
    assert isinstance(tasks[1].exception(), ValueError)
    await end([])
