#define THREADS 7
