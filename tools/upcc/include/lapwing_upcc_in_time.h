/* After headers that lapwing-upcc includes before a program's first line: from here on they may include C's. */
#undef LAPWING_UPCC_EARLY
