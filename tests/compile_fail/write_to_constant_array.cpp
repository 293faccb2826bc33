// An array that is passed as constant returns values, not references.
#include <lapwing/global_array.hpp>

#ifdef MUST_FAIL
void use(const lapwing::GlobalArray<double, 1>& array) { array(0) = 1.0; }
#else
void use(lapwing::GlobalArray<double, 1>& array) { array(0) = 1.0; }
#endif
