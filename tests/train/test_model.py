"""The network starts the same on every rank, and its score can be added up."""

from __future__ import annotations

import pytest
import torch

from train.model import classifier, score


def test_equal_seeds_give_equal_weights_and_others_do_not() -> None:
    one, same, other = classifier(7), classifier(7), classifier(8)
    assert torch.equal(one[0].weight, same[0].weight)
    assert not torch.equal(one[0].weight, other[0].weight)


def test_the_scores_of_shares_add_up_to_the_score_of_all() -> None:
    network, images, labels = classifier(7), torch.rand(30, 64), torch.arange(30) % 10
    shares = [score(network, images[rank::2], labels[rank::2]) for rank in range(2)]
    added = [sum(parts) for parts in zip(*shares, strict=True)]
    assert added == pytest.approx(score(network, images, labels))
    assert network.training
