#define IS_PAIR (THREADS == 2)
#if defined(__UPC_STATIC_THREADS__) && IS_PAIR
static const int number = THREADS;
#else
static const int number = 7;
#endif
