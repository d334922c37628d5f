"""What the Fortran programs do, with buffers that are bytes; the receive from anyone is a matched probe."""

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
out, into = bytearray(800), bytearray(800)
MPI.Request.Waitall([world.Irecv(into, (rank - 1) % size, 3), world.Isend(out, (rank + 1) % size, 3)])
if rank == 0:
    message = MPI.Message.Probe(world, MPI.ANY_SOURCE, 9)
    message.Recv(into)
elif rank == 1:
    world.Send(bytearray(40), 0, 9)
copy = world.Dup()
copy.Allreduce(MPI.IN_PLACE, bytearray(80), MPI.MAX)
copy.Bcast(bytearray(80), 1)
copy.Gather(bytearray(4), bytearray(4 * size) if rank == 0 else None, 0)
copy.Barrier()
