"""Heat in a plate, cut into tiles: a small MPI program to capture.

    mpirun -n 4 python halo_mpi4py.py [--cells 256] [--steps 20] [--fields 1]

Each rank holds a tile of cells × cells values with one row or column of each neighbour around it (the halo). A step
exchanges the halos without blocking and averages; every fifth step all agree on what has changed. With --fields n the
program keeps n plates, and each of them sends halos of its own. Needs mpi4py and numpy.
"""

from __future__ import annotations

import argparse

import numpy as np
from mpi4py import MPI


def exchange(tile: np.ndarray, plane: MPI.Cartcomm) -> None:
    """Get the halos: rows from above and below, columns from left and right."""
    (up, down), (left, right) = plane.Shift(0, 1), plane.Shift(1, 1)
    edges = [(up, tile[1]), (down, tile[-2]), (left, tile[:, 1]), (right, tile[:, -2])]
    halos = [(up, tile[0]), (down, tile[-1]), (left, tile[:, 0]), (right, tile[:, -1])]
    received = [np.empty(halo.size) for _, halo in halos]
    requests = [plane.Irecv(buffer, source) for buffer, (source, _) in zip(received, halos, strict=True)]
    requests += [plane.Isend(np.ascontiguousarray(edge), target) for target, edge in edges]
    MPI.Request.Waitall(requests)
    for buffer, (source, halo) in zip(received, halos, strict=True):
        if source != MPI.PROC_NULL:
            halo[:] = buffer


def step(tile: np.ndarray) -> float:
    """Average each value with its neighbours; the largest change."""
    new = 0.25 * (tile[:-2, 1:-1] + tile[2:, 1:-1] + tile[1:-1, :-2] + tile[1:-1, 2:])
    change = float(np.abs(new - tile[1:-1, 1:-1]).max())
    tile[1:-1, 1:-1] = new
    return change


def main() -> None:
    """Run, and print what the last steps changed."""
    options = argparse.ArgumentParser()
    options.add_argument("--cells", type=int, default=256)
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--fields", type=int, default=1)
    given = options.parse_args()
    world = MPI.COMM_WORLD
    plane = world.Create_cart(MPI.Compute_dims(world.size, 2))
    tiles = [np.zeros((given.cells + 2, given.cells + 2)) for _ in range(given.fields)]
    if plane.coords[0] == 0:
        for tile in tiles:
            tile[0] = 100.0  # the upper side of the plate is hot
    change = 0.0
    for number in range(given.steps):
        for tile in tiles:
            exchange(tile, plane)
        change = max(step(tile) for tile in tiles)
        if number % 5 == 4:
            most = np.array([change])
            plane.Allreduce(MPI.IN_PLACE, most, MPI.MAX)
            change = float(most[0])
    if world.rank == 0:
        print(f"{world.size} ranks, {given.steps} steps: the last changed {change:.4f} degrees at most")


if __name__ == "__main__":
    main()
