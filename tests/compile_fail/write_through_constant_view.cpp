// A view of a constant array may only read; one that may write becomes such a view, not the other way round.
#include <lapwing/global_array.hpp>

void use(lapwing::GlobalArray<double, 1>& array) {
    lapwing::LocalView<const double, 1> view = array.local_view();
#ifdef MUST_FAIL
    view(0) = 1;
#else
    array(0) = view(0);
#endif
}
