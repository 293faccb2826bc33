C     The mean of the four neighbours of each point, as such routines
C     have been written since 1977: it knows nothing of who owns a point.
      SUBROUTINE SMOOTH(M, N, A, B)
      INTEGER M, N, I, J
      DOUBLE PRECISION A(M, *), B(M, *)
      DO 20 J = 2, N - 1
         DO 10 I = 2, M - 1
            B(I, J) = (A(I, J - 1) + A(I, J + 1) + A(I - 1, J)
     &                 + A(I + 1, J)) / 4
   10    CONTINUE
   20 CONTINUE
      END
