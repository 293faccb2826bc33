// What elements of arrays and shared objects must do in expressions in place of their values: numbers, complex numbers,
// and class types whose operators are templates. at(0) and at(1) are two elements.
#pragma once

#include "tests/support/catch.hpp"

#include <array>
#include <cmath>
#include <compare>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <sstream>

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

/// As in libraries of expression templates: an operator gives what refers to its operands, until it is a value.
struct Lazy {
    double value = 0;

    struct Sum {
        const Lazy& a;
        const Lazy& b;
        operator Lazy() const { return {a.value + b.value}; }
    };
    friend Sum operator+(const Lazy& a, const Lazy& b) { return {a, b}; }
};

/// Compared with numbers that do not become one.
struct Money {
    long cents = 0;

    friend bool operator==(const Money& a, long b) { return a.cents == b; }
};

enum class Flags : std::uint8_t { none = 0, one = 1, two = 2 };
template <class E>
    requires std::same_as<E, Flags>
E operator|(E a, E b) {
    return static_cast<E>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

} // namespace numbers

namespace test::elements {

using Complex = std::complex<double>;

// Not constant: a compiler would compute pow() of constants in higher precision.
inline Complex x{1, 2};
inline Complex y{-3, 0.5};

/// at(0) and at(1) are x and y, `four` an element of another array, of double.
template <class At, class Number>
void check_complex(At at, const Number& four) {
    CHECK(+at(0) == x);
    CHECK(-at(0) == -x);
    CHECK(at(0) + y == x + y);
    CHECK(y - at(0) == y - x);
    CHECK(at(0) * 2.0 == x * 2.0);
    CHECK(2.0 / at(0) == 2.0 / x);
    CHECK(at(0) * at(1) == x * y);
    CHECK(four * at(1) == 4.0 * y);
    CHECK(at(1) + four == y + 4.0);
    CHECK(four + y == 4.0 + y);
    CHECK(y * four == y * 4.0);
    CHECK((at(0) == x));
    CHECK((x == at(0)));
    CHECK((at(0) != at(1)));
    CHECK((at(0) != 1.0));
    CHECK(abs(at(0)) == std::abs(x));
    CHECK(conj(at(0)) == std::conj(x));
    CHECK(real(at(0)) + imag(at(0)) + norm(at(0)) == 1 + 2 + 5);
    CHECK(exp(at(0)) == std::exp(x));
    CHECK(pow(at(0), 2) == std::pow(x, 2));
    CHECK(pow(at(0), at(1)) == std::pow(x, y));
    CHECK(pow(2.0, at(0)) == std::pow(2.0, x));
    Complex sum = 0;
    sum += at(0);
    sum *= at(1);
    sum -= four;
    CHECK(sum == x * y - 4.0);
    const Complex chosen = sum == x ? y : Complex{at(0)};
    CHECK(chosen == x);
    std::ostringstream text;
    text << at(0) << ' ' << four;
    std::ostringstream expected;
    expected << x << ' ' << 4.0;
    CHECK(text.str() == expected.str());
}

/// Assignments, by one rank.
template <class At>
void check_complex_assignments(At at) {
    at(0) += y;
    at(0) *= at(1);
    at(1) = 2.0 * y + 1.0;
    CHECK(+at(0) == (x + y) * y);
    CHECK(+at(1) == 2.0 * y + 1.0);
    at(1) -= at(0);
    CHECK(+at(1) == 2.0 * y + 1.0 - (x + y) * y);
    at(1) /= 2.0;
    CHECK(+at(1) == (2.0 * y + 1.0 - (x + y) * y) / 2.0);
}

/// Of 2.25 and -3.0.
template <class At>
void check_doubles(At at) {
    static_assert(std::same_as<decltype(at(0) * at(1)), double>);
    static_assert(std::same_as<decltype(abs(at(0))), double>);
    CHECK(sqrt(at(0)) == 1.5);
    CHECK(abs(at(1)) == 3);
    CHECK(pow(at(0), 2) == std::pow(2.25, 2));
    CHECK(hypot(at(0), at(1)) == std::hypot(2.25, -3.0));
    CHECK(atan2(1.0, at(0)) == std::atan2(1.0, 2.25));
    CHECK(floor(at(0)) + round(at(1)) == -1);
    CHECK_FALSE(isnan(at(0)));
    CHECK(at(0) == 2.25);
    CHECK(at(1) < at(0));
    CHECK(numbers::Vector{{1, 2, 3}} == numbers::Vector{{1, 2, 3}});
    CHECK((at(0) * numbers::Vector{{4, 0, 0}}).x[0] == 9);
}

/// Of 6 and -3, of type int.
template <class At>
void check_integers(At at) {
    static_assert(std::same_as<decltype(abs(at(0))), int>);
    CHECK(at(0) % 4 == 2);
    CHECK((at(0) << 1) == 12);
    CHECK((~at(0) & 7) == 1);
    CHECK(abs(at(1)) == 3);
}

/// Of 6 and -3, by one rank.
template <class At>
void check_integer_assignments(At at) {
    at(0) += 1.9; // 7.9, as the language computes
    CHECK(at(0) == 7);
    at(0) *= 1.5;
    CHECK(at(0) == 10);
    at(0) %= 6;
    at(0) <<= 3;
    CHECK(at(0) == 32);
    at(1) >>= 1U;
    CHECK(at(1) == -2);
    at(0) |= 5U;
    at(0) &= ~1;
    at(0) ^= 2;
    at(0) /= 2;
    CHECK(at(0) == 19);
    at(0) -= at(1);
    CHECK(at(0) == 21);
    CHECK(at(0)++ == 21);
    CHECK(++at(0) == 23);
    CHECK(at(0)-- == 23);
    CHECK(--at(0) == 21);
}

/// Of numbers::Big<double>: 2 and 8.
template <class At>
void check_templates(At at) {
    using numbers::Big;
    CHECK((at(0) + at(1)).value == 10);
    CHECK((at(0) + Big<double>{1}).value == 3);
    CHECK((Big<double>{1} + at(0)).value == 3);
    CHECK((at(0) * 3).value == 6);
    CHECK((-at(0)).value == -2);
    CHECK(sqrt(at(0) * at(1)).value == 4);
    CHECK(sqrt(at(0)).value == std::sqrt(2.0));
    CHECK((at(0) < at(1)));
    CHECK((Big<double>{3} > at(0)));
    CHECK((at(0) == Big<double>{2}));
    CHECK(((at(0) <=> at(1)) < 0));
    CHECK(static_cast<bool>(at(0)));
    CHECK_FALSE(!at(0));
    Big<double> sum;
    sum += at(0);
    sum += at(1);
    CHECK(sum.value == 10);
}

/// Of numbers::Vector: (1, 2, 3) and (4, 5, 6).
template <class At>
void check_vectors(At at) {
    using numbers::Vector;
    CHECK(at(0)[1] == 2);
    CHECK(at(1)(2) == 6);
    CHECK(at(0) * at(1) == 32);
    CHECK(at(0) * Vector{{1, 0, 0}} == 1);
    CHECK((2.0 * at(0))[2] == 6);
    CHECK((at(0) == Vector{{1, 2, 3}}));
}

/// Of numbers::Lazy: 1 and 2.
template <class At>
void check_lazy(At at) {
    static_assert(std::same_as<decltype(at(0) + at(1)), numbers::Lazy>);
    CHECK((at(0) + at(1)).value == 3);
    CHECK((at(0) + numbers::Lazy{5}).value == 6);
    CHECK((numbers::Lazy{5} + at(0)).value == 6);
}

/// Of numbers::Money: 5 and 7.
template <class At>
void check_money(At at) {
    CHECK((at(0) == 5L));
    CHECK((7L == at(1)));
    CHECK((at(0) != 6));
}

/// Of false and true, by one rank.
template <class At>
void check_bool_assignments(At at) {
    CHECK_FALSE(at(0)++);
    CHECK(at(0));
    at(0) &= at(1);
    at(1) ^= true;
    CHECK(at(0));
    CHECK_FALSE(at(1));
}

/// Of numbers::Flags: one and two.
template <class At>
void check_flags(At at) {
    using numbers::Flags;
    CHECK((at(0) == Flags::one));
    CHECK((at(0) | at(1)) == static_cast<Flags>(3));
    CHECK((Flags::none | at(1)) == Flags::two);
}

} // namespace test::elements
