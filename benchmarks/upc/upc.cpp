// upc/…: what UPC's shared memory costs: pointer arithmetic and own accesses beside private ones, a remote read beside a window's, barriers beside
// MPI's, and locks beside lapwing::Lock. The criteria are those of Zhang, "A Performance Model for Unified Parallel C" (2007), chapter 8.
#include "harness.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>
#include <lapwing/window.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t own_elements = 4096; // of each thread: they stay in the first cache

[[nodiscard]] Quantity per(double operations, double scale = 1e9, const char* unit = "ns") {
    return {.metric = "time", .unit = unit, .scale = scale / operations};
}

template <class Once>
[[nodiscard]] Subject passes(Runtime& runtime, std::string name, Once once) {
    return {.name = std::move(name), .run = [&runtime, once](std::uint64_t iterations) {
                return alone(runtime, [&] {
                    for (std::uint64_t k = 0; k < iterations; ++k) once();
                });
            }};
}

[[gnu::noinline]] void by_pointer_to_private(double* y, const double* x) {
    for (std::int64_t i = 0; i < own_elements; ++i) y[i] = y[i] + 3.0 * x[i];
}
template <std::size_t B>
[[gnu::noinline]] void by_forall(const upc::SharedArray<double, B>& y, const upc::SharedArray<double, B>& x, std::int64_t n) {
    upc::forall(0, n, y, [&](std::int64_t i) { y[i] = y[i] + 3.0 * x[i]; });
}
/// Through pointers that stay in the thread's own block.
template <std::size_t B>
[[gnu::noinline]] void by_pointer(upc::Pointer<double, B> y, upc::Pointer<double, B> x) {
    for (std::int64_t i = 0; i < own_elements; ++i, ++y, ++x) *y = *y + 3.0 * *x;
}

/// An own element: through forall and a shared array, a pointer-to-shared, and after a cast.
void local(Context& context) {
    Runtime runtime;
    context.set_path("self");
    {
        const upc::Program program;
        std::vector<double> private_y(own_elements, 1), private_x(own_elements, 0);
        const Subject raw = passes(runtime, "private", [y = private_y.data(), x = private_x.data()] { by_pointer_to_private(y, x); });
        const std::int64_t n = own_elements * upc::threads();
        const auto rows = [&]<std::size_t B>(const std::string& name) {
            upc::SharedArray<double, B> y{static_cast<std::size_t>(n)}, x{static_cast<std::size_t>(n)};
            upc::forall(0, n, y, [&](std::int64_t i) {
                y[i] = 1;
                x[i] = 0;
            });
            upc::barrier();
            context.compare("forall, a[i], " + name, per(own_elements), passes(runtime, "upc", [&] { by_forall<B>(y, x, n); }), {raw});
            if constexpr (B == own_elements) {
                const std::int64_t mine = upc::mythread() * own_elements;
                context.compare("a pointer-to-shared, " + name, per(own_elements), passes(runtime, "upc", [&] { by_pointer<B>(y + mine, x + mine); }), {raw});
                context.compare("after a cast, " + name, per(own_elements), passes(runtime, "upc", [&] { by_pointer_to_private(y.local(), x.local()); }), {raw});
            }
            upc::barrier();
        };
        rows.template operator()<1>("blocks of 1");
        rows.template operator()<16>("blocks of 16");
        rows.template operator()<own_elements>("blocks of 4096");
    }
    runtime.close();
}

/// p + k for k that a compiler does not know.
void arithmetic(Context& context) {
    Runtime runtime;
    context.set_path("self");
    {
        const upc::Program program;
        constexpr std::int64_t steps = 1000;
        std::vector<std::int64_t> distances;
        for (std::int64_t k = 0; k < steps; ++k) distances.push_back(k * 7919 % 1009 - 504);
        const auto row = [&]<std::size_t B>(const std::string& name) {
            upc::Pointer<double, B> p{lapwing_upc_pointer{std::uint64_t{1} << 40, 0, 0}};
            context.compare(name, per(steps), passes(runtime, "p += k", [&, p] {
                                auto moved = p;
                                for (const std::int64_t k : distances) moved += k;
                                keep(moved);
                            }),
                            {});
        };
        row.template operator()<upc::indefinite>("indefinite");
        row.template operator()<1>("blocks of 1");
        row.template operator()<8>("blocks of 8");
        row.template operator()<1024>("blocks of 1024");
        row.template operator()<7>("blocks of 7");
        row.template operator()<1000>("blocks of 1000");
        const lapwing_upc_pointer p{std::uint64_t{1} << 40, 0, 0};
        context.compare("blocks of 7, by a call of C", per(steps), passes(runtime, "lapwing_upc_add", [&, p] {
                            lapwing_upc_pointer moved = p;
                            for (const std::int64_t k : distances) moved = lapwing_upc_add(moved, 8, 7, k);
                            keep(moved);
                        }),
                        {});
        upc::barrier();
    }
    runtime.close();
}

/// A scalar of another thread, one after another.
void baseline(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        const upc::Program program;
        Window window{runtime, 4096};
        upc::SharedArray<double> a{static_cast<std::size_t>(4 * upc::threads())};
        a[upc::mythread()] = 1;
        upc::barrier();
        const int target = route.target.value;
        context.compare("a remote double, read", per(1, 1e6, "us"), passes(runtime, "upc", [&] {
                            double x = a[target];
                            keep(x);
                        }),
                        {passes(runtime, "Window::get", [&] {
                            double x = window.get<double>(route.target, Offset{0});
                            keep(x);
                        })});
        upc::barrier();
        window.close();
    }
    runtime.close();
}

void synchronisation(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    MPI_Comm world = context.world();
    {
        const upc::Program program;
        const auto repeat = [&](auto once) {
            return [&runtime, once](std::uint64_t iterations) {
                return together(runtime, [&] {
                    for (std::uint64_t i = 0; i < iterations; ++i) once();
                });
            };
        };
        context.compare("barrier", microseconds(), {.name = "upc_barrier", .run = repeat([] { upc::barrier(); })},
                        {{.name = "MPI_Barrier", .run = repeat([&] { MPI_Barrier(world); })}});
        context.compare("1000 locks made and freed", per(1, 1e3, "ms"), passes(runtime, "upc_global_lock_alloc", [] {
                            std::vector<lapwing_upc_pointer> locks;
                            for (int k = 0; k < 1000; ++k) locks.push_back(lapwing_upc_global_lock_alloc());
                            for (const lapwing_upc_pointer& lock : locks) lapwing_upc_lock_free(lock);
                        }),
                        {});
        {
            upc::Lock lock;
            Lock other{runtime};
            context.compare("a lock of thread 0, nobody waits", per(1, 1e6, "us"), passes(runtime, "upc_lock", [&] {
                                lock.lock();
                                lock.unlock();
                            }),
                            {passes(runtime, "lapwing::Lock", [&] {
                                other.lock();
                                other.unlock();
                            })});
            context.compare("a lock of thread 0, all take it", microseconds(), {.name = "upc_lock", .run = repeat([&] {
                                                                                    lock.lock();
                                                                                    lock.unlock();
                                                                                })},
                            {{.name = "lapwing::Lock", .run = repeat([&] {
                                  other.lock();
                                  other.unlock();
                              })}});
            runtime.barrier();
            other.close();
        }
    }
    runtime.close();
}

const Registration local_registration{{.name = "upc/local",
                                       .summary = "own shared elements of UPC, beside private ones",
                                       .run = local,
                                       .paths = {"direct"}}};
const Registration arithmetic_registration{{.name = "upc/pointer", .summary = "arithmetic of pointers-to-shared", .run = arithmetic, .paths = {"direct"}}};
const Registration baseline_registration{{.name = "upc/baseline", .summary = "a shared scalar of another thread, beside Window::get", .run = baseline}};
const Registration synchronisation_registration{{.name = "upc/synchronisation", .summary = "UPC's barrier and locks, beside MPI's and lapwing::Lock", .run = synchronisation}};

} // namespace
} // namespace lapwing::bench
