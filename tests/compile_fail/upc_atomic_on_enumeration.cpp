// An enumeration has the size of a number, and no operations.
#include <lapwing/upc.hpp>

enum class Colour : int { red, green };

#ifdef MUST_FAIL
using Element = Colour;
#else
using Element = int;
#endif

void f() { const lapwing::upc::AtomicDomain<Element> domain; }
