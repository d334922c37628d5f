program f1
 include 'mpif.h'
 integer ierr,r,n,q(2),s(MPI_STATUS_SIZE),c
 double precision a(100),b(100)
 call MPI_INIT(ierr)
 call MPI_COMM_RANK(MPI_COMM_WORLD,r,ierr)
 call MPI_COMM_SIZE(MPI_COMM_WORLD,n,ierr)
 call MPI_IRECV(a,100,MPI_DOUBLE_PRECISION,mod(r+n-1,n),3,MPI_COMM_WORLD,q(1),ierr)
 call MPI_ISEND(b,100,MPI_DOUBLE_PRECISION,mod(r+1,n),3,MPI_COMM_WORLD,q(2),ierr)
 call MPI_WAITALL(2,q,MPI_STATUSES_IGNORE,ierr)
 if (r==0) then
  call MPI_RECV(a,10,MPI_INTEGER,MPI_ANY_SOURCE,9,MPI_COMM_WORLD,s,ierr)
 else if (r==1) then
  call MPI_SEND(a,10,MPI_INTEGER,0,9,MPI_COMM_WORLD,ierr)
 end if
 call MPI_COMM_DUP(MPI_COMM_WORLD,c,ierr)
 call MPI_ALLREDUCE(MPI_IN_PLACE,a,10,MPI_DOUBLE_PRECISION,MPI_SUM,c,ierr)
 call MPI_BCAST(a,10,MPI_DOUBLE_PRECISION,1,c,ierr)
 call MPI_GATHER(a,1,MPI_INTEGER,b,1,MPI_INTEGER,0,c,ierr)
 call MPI_BARRIER(c,ierr)
 call MPI_FINALIZE(ierr)
end program
