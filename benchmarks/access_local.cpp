// access/local: loops over own elements through a.local(i) and as a.local_span(), read and written, compared with a raw
// pointer.
#include "element_reads.hpp"
#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace lapwing::bench {
namespace {

/// As a scientist writes it, in a function of its own: y = y + 3 x.
using Vector = GlobalArray<double, 1>;

[[gnu::noinline]] void by_pointer(double* y, const double* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = y[i] + 3.0 * x[i];
}
[[gnu::noinline]] void by_span(Vector& y, const Vector& x) {
    const std::span<double> own_y = y.local_span();
    const std::span<const double> own_x = x.local_span();
    for (std::size_t i = 0; i < own_y.size(); ++i) own_y[i] = own_y[i] + 3.0 * own_x[i];
}
[[gnu::noinline]] void by_index(Vector& y, const Vector& x) {
    for (const auto [i] : y.local_domain()) y.local(i) = y.local(i) + 3.0 * x.local(i);
}
[[gnu::noinline]] void by_element(Vector& y, const Vector& x) {
    for (const auto [i] : y.local_domain()) y(i) = y(i) + 3.0 * x(i);
}

void access_local(Context& context) {
    Runtime runtime;
    context.set_path("self");
    for (const Working& working : working_sets) {
        Vector y{runtime, {working.elements / 2 * runtime.size()}, Block{}};
        Vector x{runtime, {working.elements / 2 * runtime.size()}, Block{}};
        y.fill(1.0);
        x.fill(0.0);
        const auto n = static_cast<std::int64_t>(y.local_span().size());
        // An iteration is a pass over all own elements.
        const Quantity per_element{.metric = "time", .unit = "ns", .scale = 1e9 / static_cast<double>(n)};
        const auto passes = [&](const std::string& name, auto pass) {
            return Subject{.name = name, .run = [&runtime, pass](std::uint64_t iterations) {
                               return alone(runtime, [&] {
                                   for (std::uint64_t k = 0; k < iterations; ++k) pass();
                               });
                           }};
        };
        const Subject raw = passes("raw pointer", [&, own_y = y.local_span().data(), own_x = x.local_span().data()] {
            by_pointer(own_y, own_x, n);
        });
        context.compare(std::string{"a.local_span(), "} + working.name, per_element,
                        passes("lapwing", [&] { by_span(y, x); }), {raw});
        context.compare(std::string{"a.local(i), "} + working.name, per_element,
                        passes("lapwing", [&] { by_index(y, x); }), {raw});
        context.compare(std::string{"a(i), "} + working.name, per_element, passes("lapwing", [&] { by_element(y, x); }),
                        {raw});
        x.close();
        y.close();
    }
    runtime.close();
}

const Registration registration{{.name = "access/local",
                                 .summary = "loops that read and write own elements: a.local_span(), a.local(i), a(i)",
                                 .run = access_local,
                                 .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
