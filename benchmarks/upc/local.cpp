// upc/local: own elements of shared arrays beside private ones, in loops and at random: "local vs. private" of Zhang
// (2007), section 6.4.
#include "upc/accesses.hpp"

#include <lapwing/upc.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t own_elements = 2048; // of each thread: they stay in the first cache

[[gnu::noinline]] void by_pointer_to_private(double* y, const double* x) {
    for (std::int64_t i = 0; i < own_elements; ++i) y[i] = y[i] + 3.0 * x[i];
}
template <std::size_t B>
[[gnu::noinline]] void by_forall(const upc::SharedArray<double, B>& y, const upc::SharedArray<double, B>& x,
                                 std::int64_t n) {
    upc::forall(0, n, y, [&](auto i) { y[i] = y[i] + 3.0 * x[i]; });
}
/// Through pointers that stay in the thread's own block.
template <std::size_t B>
[[gnu::noinline]] void by_pointer(upc::Pointer<double, B> y, upc::Pointer<double, B> x) {
    for (std::int64_t i = 0; i < own_elements; ++i, ++y, ++x) *y = *y + 3.0 * *x;
}

/// The same, walking together.
template <std::size_t B>
[[gnu::noinline]] void by_walk(upc::Pointer<double, B> y, upc::Pointer<double, B> x) {
    upc::walk(own_elements, [](auto&& to, auto&& from) { to = to + 3.0 * from; }, y, x);
}

/// Own elements of an array in blocks of 1, through a view.
class OwnViewed {
public:
    explicit OwnViewed(const upc::SharedArray<double>& array)
        : view_{upc::view(array)}, threads_{upc::threads()}, own_{upc::mythread()} {}
    [[nodiscard, gnu::always_inline]] auto operator[](std::int64_t i) const { return view_[i * threads_ + own_]; }

private:
    upc::ArrayView<double> view_;
    std::int64_t threads_;
    std::int64_t own_;
};

/// Own elements of an array in blocks of 1: what a[i] gives, whose access knows the array, not a Reference, which may
/// be of any.
class OwnDealt {
public:
    explicit OwnDealt(const upc::SharedArray<double>& array) noexcept : array_{array} {}
    [[nodiscard, gnu::always_inline]] auto operator[](std::int64_t i) const {
        return array_[i * upc::threads() + upc::mythread()];
    }

private:
    const upc::SharedArray<double>& array_;
};

/// All threads access own elements at random places of 16 MiB, and private ones.
void at_random(Context& context) {
    const upc::Program program{with_cache(false)};
    std::vector<double> private_memory(part_elements, 1);
    double* const raw = private_memory.data();
    const upc::SharedArray<double> dealt{static_cast<std::size_t>(part_elements * upc::threads())};
    const upc::Pointer<double, upc::indefinite> pointer{lapwing_upc_own_pointer(dealt.local())};
    upc::barrier();
    const auto rows = [&](const std::string& name, auto part) {
        constexpr auto all = Who::all;
        context.compare("random reads, 16 MiB, " + name, per(iteration_accesses), reads<RandomOrder>(all, "upc", part),
                        {reads<RandomOrder>(all, "private", raw)});
        context.compare("random writes, 16 MiB, " + name, per(iteration_accesses),
                        writes<RandomOrder>(all, "upc", part), {writes<RandomOrder>(all, "private", raw)});
    };
    rows("a[i], blocks of 1", OwnDealt{dealt});
    rows("a view, blocks of 1", OwnViewed{dealt});
    rows("a pointer-to-shared", pointer);
    rows("after a cast", pointer.cast());
    upc::barrier();
}

/// An own element: through forall and a shared array, a pointer-to-shared, and after a cast.
void local(Context& context) {
    context.set_path("self");
    {
        const upc::Program program;
        std::vector<double> private_y(own_elements, 1), private_x(own_elements, 0);
        const Subject raw = passes(upc_threads, "private",
                                   [y = private_y.data(), x = private_x.data()] { by_pointer_to_private(y, x); });
        const std::int64_t n = own_elements * upc::threads();
        const auto rows = [&]<std::size_t B>(const std::string& name) {
            upc::SharedArray<double, B> y{static_cast<std::size_t>(n)}, x{static_cast<std::size_t>(n)};
            upc::forall(0, n, y, [&](std::int64_t i) {
                y[i] = 1;
                x[i] = 0;
            });
            upc::barrier();
            context.compare("forall, a[i], " + name, per(own_elements),
                            passes(upc_threads, "upc", [&] { by_forall<B>(y, x, n); }), {raw});
            if constexpr (B == own_elements) {
                const std::int64_t mine = upc::mythread() * own_elements;
                context.compare("a pointer-to-shared, " + name, per(own_elements),
                                passes(upc_threads, "upc", [&] { by_pointer<B>(y + mine, x + mine); }), {raw});
                context.compare("pointers-to-shared that walk, " + name, per(own_elements),
                                passes(upc_threads, "upc", [&] { by_walk<B>(y + mine, x + mine); }), {raw});
                context.compare("after a cast, " + name, per(own_elements),
                                passes(upc_threads, "upc", [&] { by_pointer_to_private(y.local(), x.local()); }),
                                {raw});
            }
            upc::barrier();
        };
        rows.template operator()<1>("blocks of 1");
        rows.template operator()<16>("blocks of 16");
        rows.template operator()<own_elements>("blocks of 2048");
    }
    at_random(context);
}

const Registration local_registration{{.name = "upc/local",
                                       .summary = "own shared elements of UPC, compared with private ones",
                                       .run = local,
                                       .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
