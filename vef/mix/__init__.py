"""Raw captures of MPI programs, and how they become a VEF trace. Knows no terminal."""
