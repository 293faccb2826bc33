// element/reads and element/writes: what single elements cost, wherever they are, beside their limit: one table. Reads
// are at random, as those of a sparse product; the limit is a loop over plain memory with the same indices.
#include "cached_array.hpp"
#include "element_reads.hpp"

#include <lapwing/mapped_array.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/runtime.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t each = 16 * 1024; ///< elements of a rank: all of them fit the second-level cache

using Array = GlobalArray<double, 1>;

/// Every third element of the others, in runs of one and two.
[[nodiscard]] std::vector<Domain<1>> scattered_domains(std::int64_t n) {
    std::vector<Domain<1>> some;
    for (std::int64_t i = 0; i < n; i += 3) some.push_back(Domain<1>{Range{i, std::min(n, i + 1 + i % 2)}});
    return some;
}

class ElementReads {
public:
    ElementReads(Context& context, Runtime& runtime)
        : context_{context}, runtime_{runtime}, n_{each * runtime.size()}, plain_(static_cast<std::size_t>(n_), 1.0) {}

    /// A row: `read` beside loads from plain memory.
    template <class Read>
    void row(const std::string& name, const StoredIndices<1>& indices, Read read) {
        context_.compare(name, nanoseconds(), reads("lapwing", runtime_, indices, read),
                         {reads("plain local array", runtime_, indices,
                                [this](std::int64_t i) { return plain_[static_cast<std::size_t>(i)]; })});
    }
    [[nodiscard]] static auto through(const Array& array) {
        return [&array](std::int64_t i) -> double { return array(i); };
    }

    void where_they_are(Rank target) {
        Array array{runtime_, {n_}, Block{}, {.name = "elements", .cache = cached()}};
        array.fill(1);
        row("own, a(i)", StoredIndices<1>{array.local_domain(Rank{0})}, through(array));
        const auto near = context_.measure_against(runtime_, Path::direct);
        if (near) row("of the node, a(i)", StoredIndices<1>{array.local_domain(near->target)}, through(array));
        (void)context_.measure_against(runtime_);
        row("of another rank, cached, a(i)", StoredIndices<1>{array.local_domain(target)}, through(array));
        row("own and of other ranks, cached, a(i)", StoredIndices<1>{array.domain()}, through(array));
        array.close();
    }
    /// Under distributions in which each rank has many blocks.
    void dealt(Rank target) {
        for (const std::int64_t block : {1, 24}) {
            const std::string name = block == 1 ? ", Cyclic" : fmt::format(", BlockCyclic of {}", block);
            Array array{runtime_, {n_}, BlockCyclic{.block = {block}}, {.name = "dealt", .cache = cached()}};
            array.fill(1);
            row("own, a(i)" + name, indices_dealt_to(0, block), through(array));
            row("of another rank, cached, a(i)" + name, indices_dealt_to(target.value, block), through(array));
            row("own and of other ranks, cached, a(i)" + name, StoredIndices<1>{array.domain()}, through(array));
            array.close();
        }
    }
    void copies(const std::string& what, Array& array, const StoredIndices<1>& others, const StoredIndices<1>& all) {
        row(what + ", a(i)", others, through(array));
        row(what + " and own ones, a(i)", all, through(array));
    }
    void mapped(Rank target) {
        Array array{runtime_, {n_}, Block{}, {.name = "mapped"}};
        array.fill(1);
        const MappedArray<double, 1> mapped = array.mapped();
        const auto through_pointer = [first = mapped.data()](std::int64_t i) { return first[i]; };
        row("of another rank, mapped, m[i]", StoredIndices<1>{array.local_domain(target)}, through_pointer);
        row("own and of other ranks, mapped, m[i]", StoredIndices<1>{array.domain()}, through_pointer);
        array.close();
    }
    void prefetched(Rank target) {
        for (const bool consistent : {true, false}) {
            const std::string mode = consistent ? ", automatic" : ", manual";
            const PrefetchOptions options{.consistent = consistent};
            Array array{runtime_, {n_}, Block{}, {.name = "elements", .cache = uncached()}};
            array.fill(1);
            array.prefetch(AllToAll{}, options);
            copies("all copied" + mode, array, StoredIndices<1>{array.local_domain(target)},
                   StoredIndices<1>{array.domain()});
            array.evict();
            std::vector<Domain<1>> some = scattered_domains(n_);
            array.prefetch([some](const Domain<1>&) { return some; }, options);
            // Of those, and as many own ones.
            const Domain<1> theirs = array.local_domain(target);
            const std::int64_t first = (theirs.first()[0] + 2) / 3 * 3;
            const auto thirds = static_cast<std::uint64_t>((theirs.last()[0] - first) / 3 + 1);
            std::vector<std::array<std::int32_t, 1>> others, all;
            for (std::uint64_t k = 0; k < 4096; ++k) {
                others.push_back(
                    {static_cast<std::int32_t>(first + 3 * static_cast<std::int64_t>(scattered(k) % thirds))});
                const auto own = static_cast<std::int32_t>(scattered(k) % static_cast<std::uint64_t>(each));
                all.push_back(k % 2 == 0 ? others.back() : std::array{own});
            }
            copies("every third copied" + mode, array, StoredIndices<1>{others}, StoredIndices<1>{all});
            array.close();
        }
    }

private:
    [[nodiscard]] StoredIndices<1> indices_dealt_to(int rank, std::int64_t block) const {
        const auto rounds = static_cast<std::uint64_t>(each / block);
        std::vector<std::array<std::int32_t, 1>> indices;
        for (std::uint64_t k = 0; k < 4096; ++k) {
            const auto round = static_cast<std::int64_t>(scattered(k) % rounds);
            const std::int64_t first = (round * runtime_.size() + rank) * block;
            indices.push_back({static_cast<std::int32_t>(first + static_cast<std::int64_t>(k) % block)});
        }
        return StoredIndices<1>{std::move(indices)};
    }

    Context& context_;
    Runtime& runtime_;
    std::int64_t n_;
    std::vector<double> plain_;
};

void element_reads(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    ElementReads rows{context, runtime};
    rows.where_they_are(route.target);
    rows.dealt(route.target);
    rows.prefetched(route.target);
    rows.mapped(route.target);
    runtime.close();
}

/// A function of its own, as sum_of_reads(): a compiler may do with the loop what it can.
template <class Write>
[[gnu::noinline]] void write_each(std::int64_t first, std::int64_t last, Write write) {
    for (std::int64_t i = first; i < last; ++i) write(i);
}

void element_writes(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    std::vector<double> plain(static_cast<std::size_t>(each * runtime.size()));
    const auto writes = [&](const char* name, std::int64_t first, auto write, auto end) {
        return Subject{
            .name = name, .run = [&runtime, first, write, end](std::uint64_t iterations) {
                return alone(runtime, [&] {
                    for (std::uint64_t done = 0; done < iterations; done += static_cast<std::uint64_t>(each)) {
                        const std::int64_t last = first + static_cast<std::int64_t>(std::min<std::uint64_t>(
                                                              static_cast<std::uint64_t>(each), iterations - done));
                        write_each(first, last, write);
                    }
                    end();
                });
            }};
    };
    const auto to_plain = [&](std::int64_t first) {
        return writes(
            "plain local array", first, [data = plain.data()](std::int64_t i) { data[i] = 2; }, [&] { keep(plain); });
    };
    const auto to = [&](const char* name, Array& array, std::int64_t first) {
        return writes(name, first, [&](std::int64_t i) { array(i) = 2; }, [&] { array.release(); });
    };
    const std::int64_t theirs = route.target.value * each;
    Array bare{runtime, {each * runtime.size()}, Block{}, {.name = "bare", .cache = cached()}};
    context.compare("own, a(i)", nanoseconds(), to("lapwing", bare, 0), {to_plain(0)});
    context.compare("of another rank, cached, a(i)", nanoseconds(), to("lapwing", bare, theirs), {to_plain(theirs)});
    for (const bool consistent : {true, false}) {
        Array array{runtime, {each * runtime.size()}, Block{}, {.name = "copied", .cache = cached()}};
        array.prefetch(AllToAll{}, {.consistent = consistent});
        context.compare(std::string{"of another rank, cached and copied, "} + (consistent ? "automatic" : "manual") +
                            ", a(i)",
                        nanoseconds(), to("lapwing", array, theirs), {to("not copied", bare, theirs)});
        array.close();
    }
    bare.close();
    runtime.close();
}

const Registration reads_registration{
    {.name = "element/reads",
     .summary = "single elements that are read at random, wherever they are, compared with plain memory",
     .run = element_reads,
     .paths = {"rma", "service"}}};
const Registration writes_registration{
    {.name = "element/writes",
     .summary = "single elements that are written in turn, wherever they are, compared with plain memory",
     .run = element_writes,
     .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
