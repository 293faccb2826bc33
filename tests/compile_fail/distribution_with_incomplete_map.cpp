// A map says where an element is, and also how many to allocate.
#include <lapwing/global_array.hpp>

struct Mine {
    struct Map {
        [[nodiscard]] lapwing::Location locate(const lapwing::Index<1>& index) const {
            return {lapwing::Rank{0}, static_cast<std::uint64_t>(index[0])};
        }
#ifndef MUST_FAIL
        [[nodiscard]] std::uint64_t local_capacity() const { return 10; }
#endif
        [[nodiscard]] std::uint64_t domain_count(lapwing::Rank rank) const { return rank.value == 0 ? 1 : 0; }
        [[nodiscard]] lapwing::Domain<1> domain(lapwing::Rank, std::uint64_t) const { return {{0, 10}}; }
    };
    [[nodiscard]] Map map(const lapwing::Extents<1>&, int) const { return {}; }
};

void use(lapwing::Team& team) { lapwing::GlobalArray<double, 1> array{team, {10}, Mine{}}; }
