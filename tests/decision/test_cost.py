"""The worst case of a job: GPU hours and money."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from hypothesis import given
from hypothesis import strategies as st

from controller.decision.cost import Cost, worst_case
from tests.builders import command_job, sound_policy, target

PRICES = st.decimals(min_value=0, max_value=1000, places=2)
SMALL = st.integers(min_value=1, max_value=8)
SECONDS = st.integers(min_value=1, max_value=30)


def cost(nodes: int, gpus: int, timeout: int, retries: int, price: Decimal) -> Cost:
    policy = sound_policy(
        compute={"gpu-cluster": target(gpus_per_node=gpus, price_per_node_hour=price)}
    )
    found = worst_case(command_job(nodes=nodes, timeout=timeout), policy, retries)
    assert found is not None
    return found


def test_the_example_of_the_design_costs_what_the_design_says() -> None:
    assert worst_case(command_job(), sound_policy(), 1) == Cost(
        gpu_hours=960.0, node_hours=120.0, amount=Decimal("3932.40"), currency="USD"
    )


def test_without_a_time_limit_there_is_no_worst_case() -> None:
    assert worst_case(command_job(timeout=None), sound_policy(), 1) is None


def test_on_an_unknown_target_there_is_no_worst_case() -> None:
    assert worst_case(command_job(compute="serverless"), sound_policy(), 1) is None


def test_half_a_cent_is_a_cent() -> None:
    assert cost(1, 8, 1800, 0, Decimal("0.01")).amount == Decimal("0.01")


def test_a_second_costs_what_a_second_costs() -> None:
    assert cost(1, 1, 1, 0, Decimal("36.00")) == Cost(1 / 3600, 1 / 3600, Decimal("0.01"), "USD")


@given(SMALL, SMALL, SECONDS, st.integers(0, 4), PRICES)
def test_the_worst_case_is_what_running_it_to_the_end_each_time_takes(
    nodes: int, gpus: int, timeout: int, retries: int, price: Decimal
) -> None:
    gpu_seconds = node_seconds = 0
    for _attempt in range(1 + retries):
        for _node in range(nodes):
            for _second in range(timeout):
                node_seconds += 1
                for _gpu in range(gpus):
                    gpu_seconds += 1
    amount = (price * node_seconds / 3600).quantize(Decimal("0.01"), ROUND_HALF_UP)
    assert cost(nodes, gpus, timeout, retries, price) == Cost(
        gpu_seconds / 3600, node_seconds / 3600, amount, "USD"
    )


GROWTH = st.integers(0, 3)


@given(st.lists(SMALL, min_size=4, max_size=4), st.lists(GROWTH, min_size=5, max_size=5), PRICES)
def test_more_of_anything_never_costs_less(
    factors: list[int], grown: list[int], price: Decimal
) -> None:
    a, b, c, d = factors
    w, x, y, z, dearer = grown
    less, more = cost(a, b, c, d, price), cost(a + w, b + x, c + y, d + z, price + dearer)
    assert less.gpu_hours <= more.gpu_hours
    assert less.node_hours <= more.node_hours
    assert less.amount <= more.amount
