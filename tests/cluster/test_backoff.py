from webhook.cluster.backoff import Backoff


async def pauses(
    number: int, *, jitter: float, resets: frozenset[int] = frozenset()
) -> list[float]:
    taken: list[float] = []

    async def sleep(seconds: float) -> None:
        taken.append(seconds)

    backoff = Backoff(lambda: jitter, sleep)
    for i in range(number):
        if i in resets:
            backoff.reset()
        await backoff.pause()
    return taken


async def test_the_bound_doubles_up_to_30_seconds() -> None:
    assert await pauses(8, jitter=1.0) == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


async def test_any_pause_up_to_the_bound_may_come() -> None:
    assert await pauses(3, jitter=0.0) == [0.0, 0.0, 0.0]
    assert await pauses(3, jitter=0.5) == [0.4, 0.8, 1.6]


async def test_a_reset_starts_over() -> None:
    assert await pauses(4, jitter=1.0, resets=frozenset({2})) == [0.8, 1.6, 0.8, 1.6]
