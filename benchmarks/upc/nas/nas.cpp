#include "nas.hpp"

#include <lapwing/upc.hpp>

#include <algorithm>
#include <array>
#include <chrono>

namespace lapwing::nas {
namespace {

constexpr std::string_view letters = "SWABT"; // in the order of Class
constexpr std::array<std::string_view, 6> variant_names{"naive",          "optimised",  "mpi",
                                                        "mpi-overlapped", "naive-rows", "naive-mapped"};

constexpr Benchmark all_benchmarks[] = {
    {.name = "CG", .run = conjugate_gradient, .heap = conjugate_gradient_heap},
    {.name = "EP", .run = embarrassingly_parallel, .heap = embarrassingly_parallel_heap},
    {.name = "FT", .run = fourier_transform, .heap = fourier_transform_heap},
    {.name = "IS", .run = integer_sort, .heap = integer_sort_heap},
    {.name = "MG", .run = multigrid, .heap = multigrid_heap},
};

class Stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Not the locale's: the names are ASCII.
[[nodiscard]] constexpr char upper(char c) noexcept {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

} // namespace

char letter(Class size) noexcept { return letters[static_cast<std::size_t>(size)]; }

std::optional<Class> class_of(std::string_view letter) noexcept {
    if (letter.size() != 1) return std::nullopt;
    const auto found = letters.find(upper(letter[0]));
    if (found == std::string_view::npos) return std::nullopt;
    return static_cast<Class>(found);
}

std::string_view name(Variant variant) noexcept { return variant_names[static_cast<std::size_t>(variant)]; }

std::optional<Variant> variant_of(std::string_view name) noexcept {
    const auto found = std::ranges::find(variant_names, name);
    if (found == variant_names.end()) return std::nullopt;
    return static_cast<Variant>(found - variant_names.begin());
}

double seconds_of(Variant variant, const std::function<void()>& body) {
    if (is_mpi(variant)) {
        MPI_Barrier(MPI_COMM_WORLD);
        const Stopwatch watch;
        body();
        MPI_Barrier(MPI_COMM_WORLD);
        double seconds = watch.seconds();
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return seconds;
    }
    const upc::SharedArray<double> all{static_cast<std::size_t>(upc::threads())};
    upc::barrier();
    const Stopwatch watch;
    body();
    upc::barrier();
    all[upc::mythread()] = watch.seconds();
    upc::barrier();
    double slowest = 0;
    for (int t = 0; t < upc::threads(); ++t) slowest = std::max<double>(slowest, all[t]);
    return slowest;
}

std::span<const Benchmark> benchmarks() noexcept { return all_benchmarks; }

const Benchmark* find(std::string_view name) noexcept {
    for (const Benchmark& benchmark : all_benchmarks)
        if (std::ranges::equal(benchmark.name, name, {}, {}, upper)) return &benchmark;
    return nullptr;
}

} // namespace lapwing::nas
