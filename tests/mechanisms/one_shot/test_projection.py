"""The nearest point of a polytope: as near as any, and with the gap that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.mechanisms.one_shot.projection import nearest


@pytest.mark.parametrize("target", [(3.0, 4.0), (-1.0, 0.2), (0.3, 0.1), (0.25, 0.9)])
def test_the_nearest_point_of_a_triangle(target: tuple[float, float]) -> None:
    corners = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    point = nearest(corners, np.array(target), gap=1e-14)
    # by a fine grid of the triangle
    side = np.linspace(0, 1, 401)
    x, y = np.meshgrid(side, side)
    inside = x + y <= 1
    least = ((x - target[0]) ** 2 + (y - target[1]) ** 2)[inside].min()
    assert ((point - target) ** 2).sum() <= least + 1e-12


def test_the_gap_is_certified() -> None:
    # a hard target: the middle of a face, with many corners beside it
    corners = np.cos(np.arange(12)[:, None] * np.arange(1, 31)[None, :] * 0.7)
    target = 1.7 * corners[:, :3].mean(axis=1)
    for gap in (1e-2, 1e-6, 1e-10):
        point = nearest(corners, target, gap=gap)
        assert ((point - target) @ (point[:, None] - corners)).max() <= gap * (1 + 1e-6)


def test_a_target_inside_is_reached() -> None:
    corners = np.array([[0.0, 4.0, 0.0], [0.0, 0.0, 4.0]])
    assert np.allclose(nearest(corners, np.array([1.0, 1.0]), gap=1e-16), [1, 1], atol=1e-6)


def test_a_corner_is_left_completely() -> None:
    # the first corner is the best start and has no part in the projection
    corners = np.array([[10.0, 0.0, 0.0], [10.0, 1.0, -1.0]])
    point = nearest(corners, np.array([-5.0, 0.3]), gap=1e-12)
    assert np.allclose(point, [0, 0.3], atol=1e-6)
