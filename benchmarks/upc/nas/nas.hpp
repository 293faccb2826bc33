// What the NAS Parallel Benchmarks share. They are written here from their specification (Bailey et al., "The NAS
// Parallel Benchmarks", RNR-94-007, and the classes and verification values of NPB 2 and 3), each three times: in UPC
// without any tuning (naive), in UPC with bulk transfers and casts to private memory (optimised), and the same
// algorithm with MPI alone.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lapwing::nas {

/// Sizes of the problem, as NPB names them. T is not NPB's: so small that the naive variant takes seconds at most where
/// each element is a message. Its expected values are those of the MPI variant, which the other classes verify, and of
/// IS those of a sequential sort.
enum class Class : std::uint8_t { S, W, A, B, T };
[[nodiscard]] char letter(Class size) noexcept;
[[nodiscard]] std::optional<Class> class_of(std::string_view letter) noexcept;

/// mpi_overlapped: as mpi, but what can travel while the next is computed does, by MPI's non-blocking calls; FT alone
/// differs. naive_rows: as naive, but elements that lie one after another in a thread's memory come by upc_memget, the
/// first change that one makes; CG and EP read none. naive_mapped: as naive, but what other threads have is read of
/// mapped arrays, which are refreshed before; EP and IS read none.
enum class Variant : std::uint8_t { naive, optimised, mpi, mpi_overlapped, naive_rows, naive_mapped };
[[nodiscard]] constexpr bool is_mpi(Variant variant) noexcept {
    return variant == Variant::mpi || variant == Variant::mpi_overlapped;
}
[[nodiscard]] std::string_view name(Variant variant) noexcept;
[[nodiscard]] std::optional<Variant> variant_of(std::string_view name) noexcept;

/// What a run gave; the same on all ranks.
struct Result {
    double seconds = 0;            ///< the part that NPB times, until the last rank is done
    double million_operations = 0; ///< as NPB counts them
    bool verified = false;         ///< against NPB's values for the class, within NPB's tolerance
    std::string detail = {};       ///< what was compared: computed value, expected value
};

/// Runs one benchmark, collective over MPI_COMM_WORLD. The UPC variants need a started upc::Program with enough heap;
/// the MPI variant needs MPI and uses nothing of Lapwing. Throws std::invalid_argument, on all ranks, for a number of
/// ranks or a class that the benchmark cannot do, naming it and the limit.
using Kernel = Result (*)(Class size, Variant variant);
[[nodiscard]] Result conjugate_gradient(Class size,
                                        Variant variant); ///< CG: the smallest eigenvalue of a random sparse matrix
[[nodiscard]] Result embarrassingly_parallel(Class size, Variant variant); ///< EP: pairs of Gaussian deviates
[[nodiscard]] Result fourier_transform(Class size,
                                       Variant variant); ///< FT: a diffusion equation by FFTs in three dimensions
[[nodiscard]] Result integer_sort(Class size, Variant variant); ///< IS: ranks of integer keys
[[nodiscard]] Result multigrid(Class size, Variant variant);    ///< MG: V-cycles for Poisson's equation

/// Bytes that a thread needs of each of the two heaps for a run of `ranks` threads, whichever the UPC variant:
/// LAPWING_UPC_HEAP and LAPWING_UPC_LOCAL_HEAP. What precedes objects, and lies between them, comes on top:
/// heap_slack is enough for hundreds.
inline constexpr std::uint64_t heap_slack = std::uint64_t{64} << 10;
struct HeapNeeds {
    std::uint64_t blocks = 0;
    std::uint64_t local = 0;
};
[[nodiscard]] HeapNeeds conjugate_gradient_heap(Class size, int ranks);
[[nodiscard]] HeapNeeds embarrassingly_parallel_heap(Class size, int ranks);
[[nodiscard]] HeapNeeds fourier_transform_heap(Class size, int ranks);
[[nodiscard]] HeapNeeds integer_sort_heap(Class size, int ranks);
[[nodiscard]] HeapNeeds multigrid_heap(Class size, int ranks);

struct Benchmark {
    std::string_view name; ///< "CG"
    Kernel run;
    HeapNeeds (*heap)(Class size, int ranks);
};
/// All, in the order of their names.
[[nodiscard]] std::span<const Benchmark> benchmarks() noexcept;
/// By NPB's name, in upper or lower case; null where there is none.
[[nodiscard]] const Benchmark* find(std::string_view name) noexcept;

/// Seconds until the last thread, or rank, has run `body`, between barriers of the variant's own; the same on all.
/// Collective.
[[nodiscard]] double seconds_of(Variant variant, const std::function<void()>& body);

/// Part `part` of `parts` of [0, size), in which the first ones have one index more where they cannot be equal.
struct Share {
    std::int64_t first;
    std::int64_t last; ///< one after the last
    [[nodiscard]] std::int64_t size() const noexcept { return last - first; }
};
[[nodiscard]] inline Share share_of(std::int64_t size, int part, int parts) noexcept {
    const std::int64_t each = size / parts;
    const std::int64_t more = size % parts;
    const std::int64_t first = each * part + std::min<std::int64_t>(part, more);
    return {first, first + each + (part < more ? 1 : 0)};
}

/// The specification's pseudorandom numbers: x_{k+1} = 5^13 x_k mod 2^46, scaled to (0, 1). (RNR-94-007, section 2.3)
class Random {
public:
    static constexpr std::uint64_t multiplier = 1220703125; // 5^13
    explicit Random(std::uint64_t seed) noexcept : state_{seed} {}
    [[nodiscard]] double next() noexcept { return next(multiplier); }
    [[nodiscard]] double next(std::uint64_t a) noexcept {
        state_ = a * state_ & mask;
        return static_cast<double>(state_) * 0x1p-46;
    }
    /// The next numbers, as next() gives them: four chains side by side, since a product waits for the one before it.
    void fill(std::span<double> numbers) noexcept {
        std::size_t i = 0;
        if (numbers.size() >= 4) {
            constexpr std::uint64_t two = multiplier * multiplier & mask;
            constexpr std::uint64_t three = two * multiplier & mask;
            constexpr std::uint64_t four = two * two & mask;
            std::uint64_t a = state_;
            std::uint64_t b = multiplier * state_ & mask;
            std::uint64_t c = two * state_ & mask;
            std::uint64_t d = three * state_ & mask;
            for (; i + 4 <= numbers.size(); i += 4) {
                a = four * a & mask;
                numbers[i] = static_cast<double>(b) * 0x1p-46;
                numbers[i + 1] = static_cast<double>(c) * 0x1p-46;
                numbers[i + 2] = static_cast<double>(d) * 0x1p-46;
                numbers[i + 3] = static_cast<double>(a) * 0x1p-46;
                b = four * b & mask;
                c = four * c & mask;
                d = four * d & mask;
            }
            state_ = a;
        }
        for (double& number : numbers.subspan(i)) number = next();
    }
    /// The state that `steps` steps lead to, in O(log steps).
    void skip(std::uint64_t steps, std::uint64_t a = multiplier) noexcept {
        for (; steps != 0; steps >>= 1, a = a * a & mask)
            if ((steps & 1) != 0) state_ = a * state_ & mask;
    }
    [[nodiscard]] std::uint64_t state() const noexcept { return state_; }

private:
    static constexpr std::uint64_t mask = (std::uint64_t{1} << 46) - 1;
    std::uint64_t state_; // products are taken modulo 2^64, of which 2^46 is a divisor
};

} // namespace lapwing::nas
