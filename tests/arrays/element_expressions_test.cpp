// Elements in expressions, in place of their values: numbers, complex numbers, and class types whose operators are
// templates.
#include "tests/arrays/array_test.hpp"

#include <array>
#include <cmath>
#include <compare>
#include <complex>
#include <concepts>
#include <cstdint>
#include <sstream>

using namespace lapwing;
using Complex = std::complex<double>;

namespace numbers {

/// As in multiprecision libraries: operators and functions are templates, found by their arguments.
template <class B>
struct Big {
    B value = 0;

    Big() = default;
    Big(B from) : value{from} {}
    explicit operator bool() const { return value != 0; }
    auto operator<=>(const Big&) const = default;
    template <class C>
    Big& operator+=(const Big<C>& other) {
        value += other.value;
        return *this;
    }
};
template <class B>
Big<B> operator+(const Big<B>& a, const Big<B>& b) {
    return {a.value + b.value};
}
template <class B>
Big<B> operator*(const Big<B>& a, const Big<B>& b) {
    return {a.value * b.value};
}
template <class B, std::integral I>
Big<B> operator*(const Big<B>& a, I b) {
    return {a.value * static_cast<B>(b)};
}
template <class B>
Big<B> operator-(const Big<B>& a) {
    return {-a.value};
}
template <class B>
Big<B> sqrt(const Big<B>& a) {
    return {std::sqrt(a.value)};
}

struct Vector {
    std::array<double, 3> x{};

    double operator[](std::size_t k) const { return x[k]; }
    double operator()(std::size_t k) const { return x[k]; }
    friend Vector operator*(double factor, const Vector& v) {
        return {{factor * v.x[0], factor * v.x[1], factor * v.x[2]}};
    }
    friend double operator*(const Vector& a, const Vector& b) {
        return a.x[0] * b.x[0] + a.x[1] * b.x[1] + a.x[2] * b.x[2];
    }
    friend bool operator==(const Vector&, const Vector&) = default;
};

enum class Flags : std::uint8_t { none = 0, one = 1, two = 2 };
template <class E>
    requires std::same_as<E, Flags>
E operator|(E a, E b) {
    return static_cast<E>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

} // namespace numbers

namespace {

/// `get(array)` of an array whose elements 0 and 1 have two values of this kind, and stay with one rank and the other.
template <class T, class Test>
void with_elements(Runtime& runtime, const T& first, const T& second, Test test) {
    GlobalArray<T, 1> array{runtime, {2}, Cyclic{}};
    for (std::int64_t k = 0; k < 2; ++k)
        if (array.is_local(k)) array.local(k) = k == 0 ? first : second;
    array.barrier();
    test(array);
    array.barrier();
    array.close();
}

} // namespace

TEST_CASE("elements of complex numbers act in expressions as their values") {
    Runtime runtime;
    const Complex x{1, 2};
    const Complex y{-3, 0.5};
    GlobalArray<double, 1> real_array{runtime, {2}, Block{}};
    real_array.fill(4);
    with_elements(runtime, x, y, [&](GlobalArray<Complex, 1>& a) {
        const auto d = real_array(0);
        CHECK(+a(0) == x);
        CHECK(-a(0) == -x);
        CHECK(a(0) + y == x + y);
        CHECK(y - a(0) == y - x);
        CHECK(a(0) * 2.0 == x * 2.0);
        CHECK(2.0 / a(0) == 2.0 / x);
        CHECK(a(0) * a(1) == x * y);
        CHECK(d * a(1) == 4.0 * y);
        CHECK(a(1) + d == y + 4.0);
        CHECK(d + y == 4.0 + y);
        CHECK(y * d == y * 4.0);
        CHECK((a(0) == x));
        CHECK((x == a(0)));
        CHECK((a(0) != a(1)));
        CHECK((a(0) != 1.0));
        CHECK(abs(a(0)) == std::abs(x));
        CHECK(conj(a(0)) == std::conj(x));
        CHECK(real(a(0)) + imag(a(0)) + norm(a(0)) == 1 + 2 + 5);
        CHECK(exp(a(0)) == std::exp(x));
        CHECK(pow(a(0), 2) == std::pow(x, 2));
        CHECK(pow(a(0), a(1)) == std::pow(x, y));
        CHECK(pow(2.0, a(0)) == std::pow(2.0, x));
        Complex sum = 0;
        sum += a(0);
        sum *= a(1);
        sum -= d;
        CHECK(sum == x * y - 4.0);
        const Complex chosen = runtime.size() > 0 ? a(0) : y;
        CHECK(chosen == x);
        std::ostringstream text;
        text << a(0) << ' ' << d;
        std::ostringstream expected;
        expected << x << ' ' << 4.0;
        CHECK(text.str() == expected.str());
        a.barrier();
        if (runtime.rank() == Rank{0}) {
            a(0) += y;
            a(0) *= a(1);
            a(1) = 2.0 * y + 1.0;
            CHECK(+a(0) == (x + y) * y);
            CHECK(+a(1) == 2.0 * y + 1.0);
        }
    });
    real_array.close();
    runtime.close();
}

TEST_CASE("elements of numbers are passed to mathematical functions, and mix with class types") {
    Runtime runtime;
    with_elements(runtime, 2.25, -3.0, [](GlobalArray<double, 1>& a) {
        static_assert(std::same_as<decltype(a(0) * a(1)), double>);
        static_assert(std::same_as<decltype(abs(a(0))), double>);
        CHECK(sqrt(a(0)) == 1.5);
        CHECK(abs(a(1)) == 3);
        CHECK(pow(a(0), 2) == std::pow(2.25, 2));
        CHECK(hypot(a(0), a(1)) == std::hypot(2.25, -3.0));
        CHECK(atan2(1.0, a(0)) == std::atan2(1.0, 2.25));
        CHECK(floor(a(0)) + round(a(1)) == -1);
        CHECK_FALSE(isnan(a(0)));
        CHECK(a(0) == 2.25);
        CHECK(a(1) < a(0));
        CHECK(numbers::Vector{{1, 2, 3}} == numbers::Vector{{1, 2, 3}});
        CHECK((a(0) * numbers::Vector{{4, 0, 0}}).x[0] == 9);
    });
    with_elements(runtime, 6, -3, [](GlobalArray<int, 1>& a) {
        static_assert(std::same_as<decltype(abs(a(0))), int>);
        CHECK(a(0) % 4 == 2);
        CHECK((a(0) << 1) == 12);
        CHECK((~a(0) & 7) == 1);
        CHECK(abs(a(1)) == 3);
    });
    runtime.close();
}

TEST_CASE("elements of class types whose operators are templates") {
    Runtime runtime;
    using numbers::Big;
    with_elements(runtime, Big<double>{2}, Big<double>{8}, [](GlobalArray<Big<double>, 1>& a) {
        CHECK((a(0) + a(1)).value == 10);
        CHECK((a(0) + Big<double>{1}).value == 3);
        CHECK((Big<double>{1} + a(0)).value == 3);
        CHECK((a(0) * 3).value == 6);
        CHECK((-a(0)).value == -2);
        CHECK(sqrt(a(0) * a(1)).value == 4);
        CHECK(sqrt(a(0)).value == std::sqrt(2.0));
        CHECK((a(0) < a(1)));
        CHECK((Big<double>{3} > a(0)));
        CHECK((a(0) == Big<double>{2}));
        CHECK(((a(0) <=> a(1)) < 0));
        CHECK(static_cast<bool>(a(0)));
        CHECK_FALSE(!a(0));
        Big<double> sum;
        sum += a(0);
        sum += a(1);
        CHECK(sum.value == 10);
    });
    using numbers::Vector;
    with_elements(runtime, Vector{{1, 2, 3}}, Vector{{4, 5, 6}}, [](GlobalArray<Vector, 1>& a) {
        CHECK(a(0)[1] == 2);
        CHECK(a(1)(2) == 6);
        CHECK(a(0) * a(1) == 32);
        CHECK(a(0) * Vector{{1, 0, 0}} == 1);
        CHECK((2.0 * a(0))[2] == 6);
        CHECK((a(0) == Vector{{1, 2, 3}}));
    });
    using numbers::Flags;
    with_elements(runtime, Flags::one, Flags::two, [](GlobalArray<Flags, 1>& a) {
        CHECK((a(0) == Flags::one));
        CHECK((a(0) | a(1)) == static_cast<Flags>(3));
        CHECK((Flags::none | a(1)) == Flags::two);
    });
    runtime.close();
}
