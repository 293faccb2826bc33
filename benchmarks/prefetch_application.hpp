#pragma once

#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/local_view.hpp>
#include <lapwing/mapped_array.hpp>
#include <lapwing/path.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/runtime.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

/// What the applications of prefetch/… share. Each is a loop over the local elements of a result that reads elements of
/// other ranks one by one. It is measured unchanged (base), with the calls of the prefetch around it, and with its data
/// copied by hand, which the others are compared with. They are those of Kayraklioglu, Ferguson and El-Ghazawi, section
/// 6.3.
namespace lapwing::bench {

/// How much of an application a run computes. Loops that wait for each element of another rank would take minutes: they
/// compute a part, from which the time of the whole follows.
struct Sample {
    std::int64_t steps = 1;  ///< of the outermost loop
    std::int64_t stride = 1; ///< in each, every stride-th part of the local result; the rest of it stays as it was
};

/// What a program adds to its loop so that it finds the elements of other ranks in local memory: three calls at most.
/// Nothing by default.
struct PrefetchCalls {
    std::function<void()> before_loop = [] {};
    /// After the barrier at the end of each step; only where the program keeps copies consistent itself.
    std::function<void(std::int64_t step)> in_loop = [](std::int64_t) {};
    std::function<void()> after_loop = [] {};
};

/// An application with its arrays. All calls are collective.
class Application {
public:
    struct Size {
        std::string input;      ///< in words, for the case
        std::int64_t steps = 1; ///< of the outermost loop
        std::int64_t reads = 0; ///< elements of other ranks that the calling rank reads in a step
        std::int64_t parts = 1; ///< of the local result, which can be computed one without the other
    };

    Application() = default;
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;
    virtual ~Application() = default;

    [[nodiscard]] virtual Size size() const = 0;
    /// Sets the local elements to what they are before the first step. The caller provides the barriers around each
    /// run.
    virtual void start() = 0;
    /// The loop that reads elements one by one, whoever owns them.
    virtual void run(const Sample& sample, const PrefetchCalls& calls) = 0;
    /// The same computation on copies that the program makes and renews itself.
    virtual void run_by_hand(std::int64_t steps) = 0;
    /// Makes the arrays again with room for a halo, from which run() then reads; false: the application is no stencil.
    virtual bool make_with_halo() { return false; }
    /// Throws std::runtime_error on every rank unless all own elements have their correct values after so many steps
    /// from start().
    virtual void check(const Sample& sample) = 0;
    /// From now on prefetch_calls() name exactly the elements that the loop reads, in place of a pattern that has more;
    /// false: they do so anyway.
    virtual bool prefetch_exactly() { return false; }
    /// `in_loop` is left out where the options say that copies are kept consistent.
    [[nodiscard]] virtual PrefetchCalls prefetch_calls(const PrefetchOptions& options) = 0;
    /// Those with which run() reads mapped arrays instead.
    [[nodiscard]] virtual PrefetchCalls mapping_calls() = 0;
};

/// Adds a row for each variant of the application that reads one by one, all against the copies by hand.
void compare_variants(Context& context, Runtime& runtime, Application& application);

/// The whole benchmark: `A` is made from context and runtime.
template <std::derived_from<Application> A>
void measure_application(Context& context) {
    Runtime runtime;
    if (context.size() > 1) (void)context.measure_against(runtime);
    else context.set_path(name(Path::self));
    {
        A application{context, runtime};
        compare_variants(context, runtime, application);
    }
    runtime.close();
}

/// Throws unless `right`, which all ranks agree on.
void require_result(bool right, std::string_view application, const std::string& found);

/// Elements in each dimension: `usual`, or with --full those of the publication, `published`. With --weak that is the
/// share of a rank: the whole has about as many times more elements as there are ranks, with a side that is a multiple
/// of `multiple`.
[[nodiscard]] std::int64_t side(const Context& context, int dimensions, std::int64_t usual, std::int64_t published,
                                std::int64_t multiple = 1);

/// Faces of local elements beyond which the element is another rank's.
template <class T, std::size_t N>
[[nodiscard]] std::int64_t border_faces(const GlobalArray<T, N>& array) {
    const Domain<N> own = array.local_domain();
    if (own.empty()) return 0;
    std::int64_t faces = 0;
    for (std::size_t d = 0; d < N; ++d) {
        const int sides = (own.first()[d] > 0 ? 1 : 0) + (own.last()[d] + 1 < array.extent(d) ? 1 : 0);
        faces += sides * static_cast<std::int64_t>(own.size() / own.range(d).size());
    }
    return faces;
}

/// A view of local memory by the indices of the global array: its first element has the index `first`. Not checked.
template <class T, std::size_t N>
class Indexed {
public:
    Indexed(const LocalView<T, N>& view, const Index<N>& first) : data_{view.data_handle()}, strides_{view.strides()} {
        for (std::size_t d = 0; d < N; ++d) start_ -= first[d] * strides_[d];
    }
    /// The own part of an array of which the calling rank owns one domain.
    explicit Indexed(GlobalArray<T, N>& array) : Indexed{array.local_view(), array.local_domain().first()} {}

    template <IndexValue... I>
        requires(sizeof...(I) == N)
    [[nodiscard]] T& operator()(I... indices) const {
        const Index<N> index{static_cast<std::int64_t>(indices)...};
        std::int64_t place = start_ + index[N - 1];
        for (std::size_t d = 0; d + 1 < N; ++d) place += index[d] * strides_[d];
        return data_[place];
    }

private:
    T* data_;
    std::array<std::int64_t, N> strides_;
    std::int64_t start_ = 0; ///< where element (0, …, 0) would be
};

/// Calls `change(element)` for all own elements, of which there is one domain.
template <class T, std::size_t N, class Change>
void change_own(GlobalArray<T, N>& array, Change change) {
    const Domain<N> own = array.local_domain();
    if (own.empty()) return;
    std::array<Range, N> rows = own.ranges();
    rows[N - 1] = {own.first()[N - 1], own.first()[N - 1] + 1};
    for (const Index<N>& row : Domain<N>{rows})
        for (T& element : std::span{&array.local(row), own.range(N - 1).size()}) change(element);
}

/// Calls `compute(from)` with what a loop reads elements of the array from: the mapped array, where there is one, or
/// its halo, where it has one, else itself.
template <class T, std::size_t N, class Compute>
void read_from(GlobalArray<T, N>& array, const MappedArray<T, N>& mapped, Compute compute) {
    if (mapped.data() != nullptr) compute(mapped);
    else if (array.halo() > 0) compute(array.halo_view());
    else compute(array);
}

} // namespace lapwing::bench
