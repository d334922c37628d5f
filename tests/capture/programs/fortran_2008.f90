program f3
 use mpi_f08
 integer r,n
 type(MPI_Request) q(2)
 type(MPI_Status) s
 type(MPI_Comm) c
 double precision a(100),b(100)
 call MPI_INIT()
 call MPI_COMM_RANK(MPI_COMM_WORLD,r)
 call MPI_COMM_SIZE(MPI_COMM_WORLD,n)
 call MPI_IRECV(a,100,MPI_DOUBLE_PRECISION,mod(r+n-1,n),3,MPI_COMM_WORLD,q(1))
 call MPI_ISEND(b,100,MPI_DOUBLE_PRECISION,mod(r+1,n),3,MPI_COMM_WORLD,q(2))
 call MPI_WAITALL(2,q,MPI_STATUSES_IGNORE)
 if (r==0) then
  call MPI_RECV(a,10,MPI_INTEGER,MPI_ANY_SOURCE,9,MPI_COMM_WORLD,s)
 else if (r==1) then
  call MPI_SEND(a,10,MPI_INTEGER,0,9,MPI_COMM_WORLD)
 end if
 call MPI_COMM_DUP(MPI_COMM_WORLD,c)
 call MPI_ALLREDUCE(MPI_IN_PLACE,a,10,MPI_DOUBLE_PRECISION,MPI_SUM,c)
 call MPI_BCAST(a,10,MPI_DOUBLE_PRECISION,1,c)
 call MPI_GATHER(a,1,MPI_INTEGER,b,1,MPI_INTEGER,0,c)
 call MPI_BARRIER(c)
 call MPI_FINALIZE()
end program
