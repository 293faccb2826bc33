#include "src/kernels/measure_kernels.hpp"

#include "src/kernels/kernel_set.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace lapwing::detail::kernels {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A length of each class, in the order in which they matter.
constexpr std::array<std::uint64_t, block_classes> lengths{8, 4, 16, 12, 24, 32, 48,   128,  256,  512,
                                                           2, 1, 20, 6,  11, 3,  1024, 2048, 4096, 16384};
constexpr std::array<StrideClass, stride_classes> strides{StrideClass::close, StrideClass::indexed, StrideClass::near,
                                                          StrideClass::far, StrideClass::pages};
constexpr std::array<SizeClass, 4> sizes{SizeClass::level1, SizeClass::level2, SizeClass::last_level, SizeClass::tiny};

std::uint64_t footprint(SizeClass size, const SizeLimits& limits) {
    switch (size) {
    case SizeClass::tiny: return limits.tiny / 2;
    case SizeClass::level1: return limits.level1 / 2;
    case SizeClass::level2: return limits.level2 / 2;
    default: return std::min(4 * limits.level2, (limits.level2 + limits.last_level) / 2);
    }
}

/// What a case is measured with: blocks somewhere in one memory, and their contiguous or strided counterpart in
/// another.
struct Sample {
    Sample(const CopyCase& where, std::uint64_t length, const SizeLimits& limits) : block_bytes{length} {
        const std::int64_t bytes = static_cast<std::int64_t>(length);
        switch (where.stride) {
        case StrideClass::close: stride = 2 * bytes; break;
        case StrideClass::near:
            stride = std::min<std::int64_t>(std::max<std::int64_t>(3 * bytes, 160), 4096 - 64);
            break;
        case StrideClass::far: stride = std::max<std::int64_t>(2 * bytes, 4096) + 64; break;
        case StrideClass::pages: stride = std::max<std::int64_t>(2 * bytes / 4096 * 4096, 4096); break;
        case StrideClass::indexed: stride = 2 * bytes; break;
        }
        const std::uint64_t lines = (length + 63) / 64 * 64;
        const std::uint64_t touched = length + std::min(static_cast<std::uint64_t>(stride), lines);
        count = std::max<std::uint64_t>(2, footprint(where.size, limits) / touched);
        span = count * static_cast<std::uint64_t>(stride);
        if (where.stride == StrideClass::indexed) {
            std::mt19937 random{1};
            std::uniform_int_distribution<std::int64_t> gap{0, bytes};
            offsets.resize(count);
            for (std::uint64_t k = 0; k < count; ++k) offsets[k] = static_cast<std::int64_t>(k) * stride + gap(random);
        }
    }

    [[nodiscard]] Placement blocks() const { return {stride, offsets.empty() ? nullptr : offsets.data()}; }
    [[nodiscard]] Placement packed() const { return {static_cast<std::int64_t>(block_bytes), nullptr}; }

    std::uint64_t block_bytes;
    std::int64_t stride = 0;
    std::uint64_t count = 0;
    std::uint64_t span = 0; ///< bytes from the first block's begin to the last one's end, or somewhat more
    std::vector<std::int64_t> offsets;
};

/// A copy of a sample, between the same two memories by any kernel.
struct Copy {
    void by(Kernel kernel, std::uint64_t count) const {
        kernel(to, to_placement, from, from_placement, count, block_bytes);
    }

    /// Empties the caches of `count` blocks on both sides; where the processor has no instruction for that, nothing
    /// happens.
    void flush(std::uint64_t count) const {
        const auto side = [&](const std::byte* base, const Placement& place) {
            for (std::uint64_t k = 0; k < count; ++k) {
                const std::byte* const block =
                    base + (place.offsets != nullptr ? place.offsets[k] : static_cast<std::int64_t>(k) * place.stride);
                for (std::uint64_t i = 0; i < block_bytes; i += 64) hwy::FlushCacheline(block + i);
                hwy::FlushCacheline(block + block_bytes - 1);
            }
        };
        side(to, to_placement);
        side(from, from_placement);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }

    std::byte* to;
    Placement to_placement;
    const std::byte* from;
    Placement from_placement;
    std::uint64_t block_bytes;
};

/// The fastest method for a case; none when there was not enough time, or only one.
/// A run that exceeds the first-level cache may be hot or cold when it is copied: its size does not say which. For such
/// runs the product of both times decides.
std::optional<Method> fastest(const CopyCase& where, const Sample& sample, Method favourite, std::byte* a, std::byte* b,
                              double slice_seconds) {
    const KernelSet& set = kernel_set();
    const Place irregular = where.stride == StrideClass::indexed ? Place::indexed : Place::strided;
    const Place to = where.movement == Movement::gather ? Place::contiguous : irregular;
    const Place from = where.movement == Movement::scatter ? Place::contiguous : irregular;
    const Copy copy{a, to == Place::contiguous ? sample.packed() : sample.blocks(), b,
                    from == Place::contiguous ? sample.packed() : sample.blocks(), sample.block_bytes};

    constexpr double unmeasured = std::numeric_limits<double>::infinity();
    struct Candidate {
        Method method;
        Kernel kernel;
        double hot = unmeasured;
        double cold = 1; ///< no part in the score where it is not measured
        [[nodiscard]] double score() const { return hot * cold; }
    };
    const bool cold = where.size >= SizeClass::level2;
    std::vector<Candidate> candidates;
    for (std::size_t m = 0; m < methods; ++m) {
        const Method method = static_cast<Method>(m);
        if ((method == Method::permute || method == Method::permute_ahead) && where.stride != StrideClass::close)
            continue;
        if (const Kernel kernel = set.find(to, from, where.block, method))
            candidates.push_back({.method = method, .kernel = kernel, .cold = cold ? unmeasured : 1});
    }
    if (candidates.size() < 2) return {};

    // Short copies are timed several at a time, so that the clock's resolution does not decide.
    const int copies =
        static_cast<int>(std::clamp<std::uint64_t>((16 << 10) / (sample.count * sample.block_bytes), 1, 64));
    constexpr std::uint64_t cold_lines = 4096; // emptying takes as long as copying
    const std::uint64_t some = std::clamp<std::uint64_t>(cold_lines * 64 / (sample.block_bytes + 64), 2, sample.count);
    const auto start = Clock::now();
    for (int round = 0; round < 50; ++round) {
        for (Candidate& candidate : candidates) {
            if (round == 0) copy.by(candidate.kernel, sample.count);
            auto begin = Clock::now();
            for (int i = 0; i < copies; ++i) copy.by(candidate.kernel, sample.count);
            candidate.hot = std::min(candidate.hot, seconds_since(begin));
            if (!cold) continue;
            copy.flush(some);
            begin = Clock::now();
            copy.by(candidate.kernel, some);
            candidate.cold = std::min(candidate.cold, seconds_since(begin));
        }
        if (seconds_since(start) > slice_seconds) break;
    }
    const Candidate& best = *std::ranges::min_element(candidates, {}, &Candidate::score);
    const auto now = std::ranges::find(candidates, favourite, &Candidate::method);
    const double noise = cold ? 0.1 : 0.05;
    if (now != candidates.end() && now->score() <= best.score() * (1 + noise)) return {};
    return best.method;
}

/// What is best for a size is so whether or not the copy is used soon, and what is best for the last-level cache also
/// beyond it, where nothing is stored past the caches.
void choose(CopyChoices& choices, CopyCase where, Method method) {
    for (const Reuse reuse : {Reuse::soon, Reuse::never}) {
        where.reuse = reuse;
        choices.set(where, method);
        if (where.size != SizeClass::last_level) continue;
        CopyCase beyond = where;
        beyond.size = SizeClass::memory;
        if (choices.method(beyond) != Method::streamed) choices.set(beyond, method);
    }
}

/// Goes through the cases, each with an equal part of the time that is left.
class Measurement {
public:
    explicit Measurement(double budget_seconds) : budget_seconds_{budget_seconds} {}

    CopyChoices run() {
        for (const std::uint64_t length : lengths)
            for (const SizeClass size : sizes)
                for (const StrideClass stride : strides)
                    if (!measure(length, {.block = block_class(length), .stride = stride, .size = size}))
                        return choices_;
        return choices_;
    }

private:
    /// All movements of a case; false when the time is over.
    [[nodiscard]] bool measure(std::uint64_t length, CopyCase where) {
        const Sample sample{where, length, choices_.limits()};
        const bool exists = where.stride == StrideClass::close
                                ? kernel_set().permuted_blocks(length, sample.stride) >= 2
                                : sample.stride > static_cast<std::int64_t>(length);
        for (const Movement movement : {Movement::gather, Movement::scatter, Movement::copy}) {
            where.movement = movement;
            const double left = budget_seconds_ - seconds_since(start_);
            const double slice = left / static_cast<double>(cases_left_--);
            if (!exists) continue;
            if (left <= 0) return false;
            if (const std::uint64_t bytes = sample.span + length; a_.size() < bytes) {
                a_.resize(bytes);
                b_.resize(bytes);
            }
            where.reuse = Reuse::soon;
            const auto method = fastest(where, sample, choices_.method(where), a_.data(), b_.data(), slice);
            if (method) choose(choices_, where, *method);
        }
        return true;
    }

    const double budget_seconds_;
    const Clock::time_point start_ = Clock::now();
    CopyChoices choices_;
    std::size_t cases_left_ = movements * lengths.size() * strides.size() * sizes.size();
    std::vector<std::byte> a_;
    std::vector<std::byte> b_;
};

} // namespace

CopyChoices measure_copy_kernels(double budget_seconds) { return Measurement{budget_seconds}.run(); }

} // namespace lapwing::detail::kernels
