#include <lapwing/detail/reciprocal.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <random>
#include <vector>

using lapwing::detail::distribution::Reciprocal;

namespace {

constexpr std::uint64_t limit = std::uint64_t{1} << 63;

void check(std::uint64_t divisor, std::uint64_t dividend) {
    if (dividend >= limit) return;
    const auto [quotient, remainder] = Reciprocal{divisor}.divide(dividend);
    if (quotient != dividend / divisor || remainder != dividend % divisor)
        FAIL(dividend << " / " << divisor << " gave " << quotient << ", rest " << remainder);
}

} // namespace

static_assert(Reciprocal{7}.divide(limit - 1).quotient == (limit - 1) / 7);

TEST_CASE("reciprocals are exact where errors would show first: around multiples of the divisor") {
    std::mt19937_64 random{1994};
    std::vector<std::uint64_t> divisors;
    for (std::uint64_t divisor = 1; divisor <= 4096; ++divisor) divisors.push_back(divisor);
    for (unsigned bit = 12; bit < 64; ++bit)
        for (std::uint64_t near = 0; near < 5; ++near) {
            const std::uint64_t divisor = (std::uint64_t{1} << bit) + near - 2;
            if (divisor <= limit) divisors.push_back(divisor);
        }
    for (int i = 0; i < 5000; ++i) divisors.push_back((random() >> (1 + random() % 60)) | 1);

    for (const std::uint64_t divisor : divisors) {
        std::vector<std::uint64_t> quotients{0, 1, 2, (limit - 1) / divisor, (limit - 1) / divisor / 2};
        for (int i = 0; i < 20; ++i) quotients.push_back(random() % ((limit - 1) / divisor + 1));
        for (const std::uint64_t quotient : quotients) {
            const std::uint64_t multiple = quotient * divisor; // at most 2^63 - 1
            check(divisor, multiple);
            if (multiple > 0) check(divisor, multiple - 1);
            check(divisor, multiple + 1);
            check(divisor, multiple + divisor - 1);
        }
        check(divisor, limit - 1);
        for (int i = 0; i < 20; ++i) check(divisor, random() >> 1);
    }
}
