// prefetch/access and prefetch/degradation: single reads of elements that are prefetched, compared with own, plain
// local and remote ones; what reads and writes cost more where something is prefetched. Kayraklioglu, Ferguson and
// El-Ghazawi, sections 6.2.1 and 6.2.4.
#include "cached_array.hpp"
#include "element_reads.hpp"
#include "prefetch_modes.hpp"

#include <lapwing/mapped_array.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/runtime.hpp>

#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t rows = 64; ///< of each rank; `columns` long

/// The elements of whole rows in turn, every `stride`-th one, as a loop nest reads them.
class StridedIndices {
public:
    StridedIndices(const Domain<2>& domain, std::int64_t stride)
        : first_{domain.first()[0]}, last_{domain.last()[0]}, stride_{stride} {}

    template <class Use>
    void each(std::uint64_t count, Use use) const {
        // The next row begins where the strides of the one before end.
        for (std::int64_t begin = 0;;)
            for (std::int64_t i = first_; i <= last_; ++i) {
                std::int64_t j = begin;
                for (; j < columns; j += stride_) {
                    if (count-- == 0) return;
                    use(i, j);
                }
                begin = j - columns;
            }
    }

private:
    std::int64_t first_;
    std::int64_t last_;
    std::int64_t stride_;
};

/// Rows of each rank, those of all others prefetched.
struct Prefetched {
    Prefetched(Runtime& runtime, const PrefetchOptions& options)
        : array{runtime, {rows * runtime.size(), columns}, Block{.grid = {0, 1}}} {
        array.fill(1);
        array.prefetch(AllToAll{}, options);
        for (const auto [i, j] : array.domain()) sum += array(i, j); // the first fill
    }
    GlobalArray<double, 2> array;
    double sum = 0;
};

/// As reads(), but the time that automatic copies take to be filled after the barrier does not count.
template <class Read>
Subject reads_of_copies(Team& team, const StridedIndices& indices, Read read) {
    return {.name = "lapwing", .run = [&team, indices, read](std::uint64_t iterations) {
                team.barrier();
                double sum = sum_of_reads<double>(indices, 1, read);
                double seconds = 0;
                if (measures(team)) {
                    const Stopwatch watch;
                    sum += sum_of_reads<double>(indices, iterations, read);
                    seconds = watch.seconds();
                }
                keep(sum);
                team.barrier();
                return seconds;
            }};
}

/// How often the place of a copy is found, and nothing read.
Subject places(std::string name, Team& team, const StridedIndices& indices, GlobalArray<double, 2>& array) {
    return {.name = std::move(name), .run = [&team, indices, &array](std::uint64_t iterations) {
                return alone(team, [&] {
                    indices.each(iterations, [&](std::int64_t i, std::int64_t j) {
                        auto element = array(i, j);
                        keep(element);
                    });
                });
            }};
}

void access(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    std::vector<double> plain(static_cast<std::size_t>(rows * columns), 1.0);
    for (const std::int64_t stride : {1, 4, 16, 64}) {
        const std::string suffix = ", stride " + std::to_string(stride);
        for (const PrefetchOptions& options :
             {PrefetchOptions{.consistent = false}, PrefetchOptions{.consistent = false, .static_domain = true},
              PrefetchOptions{.consistent = false, .storage = PrefetchStorage::by_owner}, PrefetchOptions{},
              PrefetchOptions{.static_domain = true}, PrefetchOptions{.storage = PrefetchStorage::by_owner}}) {
            Prefetched prefetched{runtime, options};
            GlobalArray<double, 2>& array = prefetched.array;
            const Domain<2> theirs = array.local_domain(route.target);
            const StridedIndices indices{theirs, stride};
            const std::int64_t origin = theirs.first()[0] * columns;
            const Subject pointer =
                reads("plain local array", runtime, indices,
                      [&, origin](std::int64_t i, std::int64_t j) { return plain.data()[i * columns + j - origin]; });
            context.compare(text(options) + ", a(i, j)" + suffix, nanoseconds(),
                            reads_of_copies(runtime, indices,
                                            [&](std::int64_t i, std::int64_t j) -> double { return array(i, j); }),
                            {pointer});
            if (stride == 1)
                context.compare(text(options) + ", place of a(i, j)", nanoseconds(),
                                places("lapwing", runtime, indices, array), {pointer});
            array.close();
        }
        GlobalArray<double, 2> bare{runtime, {rows * runtime.size(), columns}, Block{.grid = {0, 1}}};
        const auto row = [&](const char* name, Rank owner, const auto& from) {
            const Domain<2> domain = bare.local_domain(owner);
            const std::int64_t origin = domain.first()[0] * columns;
            const StridedIndices indices{domain, stride};
            context.compare(name + suffix, nanoseconds(),
                            reads("lapwing", runtime, indices,
                                  [&](std::int64_t i, std::int64_t j) -> double { return from(i, j); }),
                            {reads("plain local array", runtime, indices, [&, origin](std::int64_t i, std::int64_t j) {
                                return plain.data()[i * columns + j - origin];
                            })});
        };
        row("own, a(i, j)", runtime.rank() == Rank{0} ? Rank{0} : runtime.rank(), bare);
        row("remote, a(i, j)", route.target, bare);
        row("mapped, m(i, j)", route.target, bare.mapped());
        bare.close();
    }
    runtime.close();
}

/// What accesses to elements cost that are not prefetched, of an array of which others are; and writes of those that
/// are.
void degradation(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    for (const bool is_cached : {false, true})
        for (const bool consistent : {false, true}) {
            const GlobalArrayOptions options{.cache = is_cached ? cached() : uncached()};
            GlobalArray<double, 2> bare{runtime, {rows * runtime.size(), columns}, Block{.grid = {0, 1}}, options};
            GlobalArray<double, 2> array{runtime, {rows * runtime.size(), columns}, Block{.grid = {0, 1}}, options};
            const Domain<2> theirs = bare.local_domain(route.target);
            const std::int64_t last = theirs.last()[0];
            const std::int64_t far = theirs.first()[0] + rows / 2; // from here on prefetched
            array.prefetch(Custom{std::vector<Domain<2>>(static_cast<std::size_t>(runtime.size()),
                                                         Domain<2>{{far, last + 1}, {0, columns}})},
                           {.consistent = consistent});
            const std::string suffix =
                std::string{consistent ? ", automatic" : ", manual"} + (is_cached ? ", cached" : "");
            const StridedIndices indices{Domain<2>{{theirs.first()[0], far}, {0, columns}}, 1};
            const auto through = [](GlobalArray<double, 2>& from) {
                return [&from](std::int64_t i, std::int64_t j) -> double { return from(i, j); };
            };
            context.compare("reads of what is not prefetched" + suffix, nanoseconds(),
                            reads("lapwing", runtime, indices, through(array)),
                            {reads("no prefetch", runtime, indices, through(bare))});
            const StridedIndices copied{Domain<2>{{far, last + 1}, {0, columns}}, 1};
            const auto writes = [&](const char* name, GlobalArray<double, 2>& to) {
                return Subject{.name = name, .run = [&](std::uint64_t iterations) {
                                   return alone(runtime, [&] {
                                       copied.each(iterations, [&](std::int64_t i, std::int64_t j) { to(i, j) = 2.0; });
                                       to.release();
                                   });
                               }};
            };
            context.compare("writes of what is prefetched" + suffix, nanoseconds(), writes("lapwing", array),
                            {writes("no prefetch", bare)});
            bare.close();
            array.close();
        }
    runtime.close();
}

const Registration access_registration{
    {.name = "prefetch/access",
     .summary = "single reads of prefetched elements through a(i, j) and mapped ones, compared with a plain array",
     .run = access,
     .paths = {"rma", "service"}}};
const Registration degradation_registration{
    {.name = "prefetch/degradation",
     .summary = "reads of elements that are not prefetched, and writes of those that are, compared with no prefetch",
     .run = degradation,
     .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
