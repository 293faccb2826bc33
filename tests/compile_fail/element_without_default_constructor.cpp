// Elements come from other ranks as bytes: there must be something to receive them in.
#include <lapwing/global_array.hpp>

struct Element {
#ifdef MUST_FAIL
    explicit Element(int value) : number{value} {}
#endif
    int number;
};
static_assert(lapwing::TriviallyCopyable<Element>);

void use() { lapwing::GlobalArray<Element, 1> elements; }
