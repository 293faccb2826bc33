// Fourier transforms of the lines of a three-dimensional array of complex numbers, several side by side: the arithmetic
// of FT in all variants.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace lapwing::nas {

struct Complex {
    double re;
    double im;
};

/// The sign in exp(±2 pi i jk / n).
enum class Direction : std::uint8_t { forward, backward };

/// Transforms `lanes` lines of `size` elements at once, by Stockham's algorithm: each pass reads one work space and
/// writes the other, and the last one leaves the elements in order. Real and imaginary parts are separate, and the
/// lines are interleaved, so that every loop runs over contiguous numbers. A block of lines is loaded, transformed and
/// stored.
class LineTransform {
public:
    static constexpr std::int64_t lanes = 8;

    /// `size`: a power of two, at least 4. The result is not scaled.
    LineTransform(std::int64_t size, Direction direction)
        : size_{static_cast<std::size_t>(size)}, swapped_{direction == Direction::forward}, a_{size_}, b_{size_} {
        roots_.reserve(size_);
        for (std::size_t k = 0; k < size_; ++k) {
            const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size_);
            roots_.push_back({std::cos(angle), std::sin(angle)});
        }
    }

    /// element(k, lane): for lines that are contiguous, or for those that are beside each other in memory. The order is
    /// that of memory.
    template <class Element>
    void load_along(Element element) {
        along(size_, [&](std::size_t k, std::size_t lane) {
            set(k, lane, element(static_cast<std::int64_t>(k), static_cast<std::int64_t>(lane)));
        });
    }
    /// As above.
    template <class Element>
    void load_across(Element element) {
        for (std::size_t k = 0; k < size_; ++k)
            for (std::size_t lane = 0; lane < lanes; ++lane)
                set(k, lane, element(static_cast<std::int64_t>(k), static_cast<std::int64_t>(lane)));
    }
    /// store(k, lane, value), in the same orders.
    template <class Store>
    void store_along(Store store) const {
        along(size_, [&](std::size_t k, std::size_t lane) {
            store(static_cast<std::int64_t>(k), static_cast<std::int64_t>(lane), get(k, lane));
        });
    }
    /// As above.
    template <class Store>
    void store_across(Store store) const {
        for (std::size_t k = 0; k < size_; ++k)
            for (std::size_t lane = 0; lane < lanes; ++lane)
                store(static_cast<std::int64_t>(k), static_cast<std::int64_t>(lane), get(k, lane));
    }

    void run() {
        std::size_t length = size_;
        std::size_t stride = lanes;
        for (; length >= 4; length /= 4, stride *= 4) {
            pass_of_4(length / 4, stride);
            std::swap(a_, b_);
        }
        if (length == 2) {
            pass_of_2(stride);
            std::swap(a_, b_);
        }
    }

private:
    struct Space {
        explicit Space(std::size_t size) : re(size * lanes), im(size * lanes) {}
        std::vector<double> re, im;
    };

    /// By four elements of a line, which may be a cache line, then those of the next lane.
    template <class Body>
    static void along(std::size_t size, Body body) {
        for (std::size_t k = 0; k < size; k += 4)
            for (std::size_t lane = 0; lane < lanes; ++lane)
                for (std::size_t j = k; j < k + 4; ++j) body(j, lane);
    }
    // With real and imaginary parts exchanged, before and after, the transform has the other sign.
    void set(std::size_t k, std::size_t lane, const Complex& value) {
        a_.re[k * lanes + lane] = swapped_ ? value.im : value.re;
        a_.im[k * lanes + lane] = swapped_ ? value.re : value.im;
    }
    [[nodiscard]] Complex get(std::size_t k, std::size_t lane) const {
        const double re = a_.re[k * lanes + lane];
        const double im = a_.im[k * lanes + lane];
        return swapped_ ? Complex{im, re} : Complex{re, im};
    }

    /// Butterflies of four, `quarter` of them, each over `stride` numbers.
    void pass_of_4(std::size_t quarter, std::size_t stride) {
        const std::size_t step = size_ / (4 * quarter); // between the roots of one butterfly and the next
        for (std::size_t p = 0; p < quarter; ++p) {
            const Complex w1 = roots_[p * step];
            const Complex w2 = roots_[2 * p * step];
            const Complex w3 = roots_[3 * p * step];
            const double* const __restrict x_re = a_.re.data() + p * stride;
            const double* const __restrict x_im = a_.im.data() + p * stride;
            double* const __restrict y_re = b_.re.data() + 4 * p * stride;
            double* const __restrict y_im = b_.im.data() + 4 * p * stride;
            const std::size_t apart = quarter * stride;
            for (std::size_t q = 0; q < stride; ++q) {
                const double a_re = x_re[q] + x_re[q + 2 * apart];
                const double a_im = x_im[q] + x_im[q + 2 * apart];
                const double b_re = x_re[q] - x_re[q + 2 * apart];
                const double b_im = x_im[q] - x_im[q + 2 * apart];
                const double c_re = x_re[q + apart] + x_re[q + 3 * apart];
                const double c_im = x_im[q + apart] + x_im[q + 3 * apart];
                // -i times the difference
                const double d_re = x_im[q + apart] - x_im[q + 3 * apart];
                const double d_im = x_re[q + 3 * apart] - x_re[q + apart];
                y_re[q] = a_re + c_re;
                y_im[q] = a_im + c_im;
                const double u_re = b_re + d_re;
                const double u_im = b_im + d_im;
                y_re[q + stride] = w1.re * u_re - w1.im * u_im;
                y_im[q + stride] = w1.re * u_im + w1.im * u_re;
                const double v_re = a_re - c_re;
                const double v_im = a_im - c_im;
                y_re[q + 2 * stride] = w2.re * v_re - w2.im * v_im;
                y_im[q + 2 * stride] = w2.re * v_im + w2.im * v_re;
                const double t_re = b_re - d_re;
                const double t_im = b_im - d_im;
                y_re[q + 3 * stride] = w3.re * t_re - w3.im * t_im;
                y_im[q + 3 * stride] = w3.re * t_im + w3.im * t_re;
            }
        }
    }
    /// The last pass where the size is no power of four.
    void pass_of_2(std::size_t stride) {
        const double* const __restrict x_re = a_.re.data();
        const double* const __restrict x_im = a_.im.data();
        double* const __restrict y_re = b_.re.data();
        double* const __restrict y_im = b_.im.data();
        for (std::size_t q = 0; q < stride; ++q) {
            y_re[q] = x_re[q] + x_re[q + stride];
            y_im[q] = x_im[q] + x_im[q + stride];
            y_re[q + stride] = x_re[q] - x_re[q + stride];
            y_im[q + stride] = x_im[q] - x_im[q + stride];
        }
    }

    std::size_t size_;
    bool swapped_;
    Space a_, b_;
    std::vector<Complex> roots_;
};

} // namespace lapwing::nas
