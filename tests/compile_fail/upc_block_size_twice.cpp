// A block size that the type fixes cannot be an argument.
#include <lapwing/upc.hpp>

void f() {
#ifdef MUST_FAIL
    const lapwing::upc::SharedArray<int, 8, 2> a{{4, 4}, 1};
#else
    const lapwing::upc::SharedArray<int, lapwing::upc::dynamic_block, 2> a{{4, 4}, 1};
#endif
}
