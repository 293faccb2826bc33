#include "src/kernels/copy_choices.hpp"

#include "src/support/mutex.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <unistd.h>

namespace lapwing::detail::kernels {
namespace {

using namespace std::string_view_literals;

template <class Enum>
constexpr auto words = 0;
template <>
constexpr std::array words<Movement>{"gather"sv, "scatter"sv, "copy"sv};
template <>
constexpr std::array words<BlockClass>{"1"sv,       "2"sv,        "3"sv,         "4"sv,         "5-7"sv,
                                       "8"sv,       "9-15"sv,     "12"sv,        "16"sv,        "17-31"sv,
                                       "24"sv,      "32"sv,       "33-64"sv,     "65-128"sv,    "129-256"sv,
                                       "257-512"sv, "513-1024"sv, "1025-2048"sv, "2049-4096"sv, "4097-"sv};
template <>
constexpr std::array words<StrideClass>{"close"sv, "near"sv, "far"sv, "pages"sv, "indexed"sv};
template <>
constexpr std::array words<SizeClass>{"tiny"sv, "level1"sv, "level2"sv, "last-level"sv, "memory"sv};
template <>
constexpr std::array words<Reuse>{"soon"sv, "never"sv};
template <>
constexpr std::array words<Method>{"moves"sv,  "moves-ahead"sv,  "permute"sv, "permute-ahead"sv,
                                   "lookup"sv, "lookup-ahead"sv, "library"sv, "streamed"sv};

static_assert(words<BlockClass>.size() == block_classes && words<Method>.size() == methods);

/// Size of a cache; `otherwise` where the system does not say.
std::uint64_t cache_bytes(int what, std::uint64_t otherwise) {
    const long bytes = sysconf(what);
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : otherwise;
}

SizeLimits limits_of_machine() {
    SizeLimits limits;
#ifdef _SC_LEVEL1_DCACHE_SIZE
    limits.level1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, limits.level1);
    // Data that only just fits has probably been partly evicted since its last use.
    limits.level2 = std::max(cache_bytes(_SC_LEVEL2_CACHE_SIZE, 2 * limits.level2) / 2, limits.level1);
    limits.last_level = std::max(cache_bytes(_SC_LEVEL3_CACHE_SIZE, limits.last_level), limits.level2);
    limits.tiny = std::min(limits.tiny, limits.level1);
#endif
    return limits;
}

/// Whether a kernel is clearly faster than plain moves, by a measurement of some 20 us.
bool pays(Place to, Place from, BlockClass block, Method method) {
    constexpr std::uint64_t count = 256;
    constexpr std::uint64_t block_bytes = 8;
    const KernelSet& set = kernel_set();
    const Kernel candidate = set.find(to, from, block, method);
    if (candidate == nullptr) return false;
    std::vector<std::byte> blocks(2 * count * block_bytes);
    std::vector<std::byte> packed(count * block_bytes);
    std::vector<std::int64_t> offsets(count);
    for (std::size_t k = 0; k < count; ++k) offsets[k] = static_cast<std::int64_t>(2 * k * block_bytes);
    const auto placement = [&](Place place) {
        return Placement{place == Place::contiguous ? std::int64_t{block_bytes} : std::int64_t{2 * block_bytes},
                         place == Place::indexed ? offsets.data() : nullptr};
    };
    std::byte* const target = to == Place::contiguous ? packed.data() : blocks.data();
    const std::byte* const source = to == Place::contiguous ? blocks.data() : packed.data();
    const auto nanoseconds = [&](Kernel kernel) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 8; ++i) kernel(target, placement(to), source, placement(from), count, block_bytes);
        return std::chrono::steady_clock::now() - start;
    };
    auto best = std::chrono::steady_clock::duration::max();
    auto best_of_moves = best;
    for (int repetition = 0; repetition < 5; ++repetition) {
        best = std::min(best, nanoseconds(candidate));
        best_of_moves = std::min(best_of_moves, nanoseconds(set.find(to, from, block, Method::moves)));
    }
    return best < best_of_moves;
}

/// Properties of the processor rather than of its instruction set. Gather instructions are microcode on some, slowed
/// down on others because they would leak data, and a gain elsewhere; the same holds for masked stores.
struct Processor {
    bool lookup_strided = pays(Place::contiguous, Place::strided, BlockClass::b8, Method::lookup);
    bool lookup_indexed = pays(Place::contiguous, Place::indexed, BlockClass::b8, Method::lookup);
    bool permute_gather = pays(Place::contiguous, Place::strided, BlockClass::b8, Method::permute);
    bool permute_scatter = pays(Place::strided, Place::contiguous, BlockClass::b8, Method::permute);
};

Method built_in(const CopyCase& where) {
    using enum BlockClass;
    static const Processor processor;
    // Streaming is slower for shorter blocks (measured: 0.85 for 16 bytes), and for longer ones the C library is as
    // fast.
    if (where.reuse == Reuse::never && where.size == SizeClass::memory && where.movement == Movement::gather &&
        where.block > b33_to_64 && where.block <= b1025_to_2048)
        return Method::streamed;
    // For longer blocks the call costs little compared with the copy, and no loop here is faster everywhere.
    if (where.block > b257_to_512 || (where.block > b129_to_256 && where.size >= SizeClass::level2))
        return Method::library;
    // Lines of one set evict each other from the first-level cache, so loops with many loads under way lose.
    if (where.stride == StrideClass::pages && where.size != SizeClass::tiny && where.block > b16 && where.block <= b32)
        return Method::library;
    // Beyond the second-level cache the target's lines have to be fetched.
    const bool ahead = where.size >= SizeClass::level2;
    if (where.size != SizeClass::tiny && where.stride == StrideClass::close &&
        ((where.movement == Movement::gather && processor.permute_gather) ||
         (where.movement == Movement::scatter && processor.permute_scatter)))
        return ahead ? Method::permute_ahead
                     : Method::permute; // for the lengths that it supports; moves for the others
    if (where.movement == Movement::gather && (where.block == b4 || where.block == b8) &&
        (where.stride == StrideClass::indexed ? processor.lookup_indexed
                                              : processor.lookup_strided && where.stride == StrideClass::near))
        return ahead ? Method::lookup_ahead : Method::lookup;
    if (where.block > b33_to_64 && where.movement == Movement::gather && where.size >= SizeClass::level2)
        return Method::library; // the processor prefetches the contiguous target well, and the sources have to come
                                // anyway
    return ahead ? Method::moves_ahead : Method::moves;
}

constinit std::atomic<const CopyChoices*> in_use{nullptr};

const CopyChoices& initial_choices() {
    static const CopyChoices initial;
    const CopyChoices* none = nullptr;
    // A table that another thread has set meanwhile stays.
    in_use.compare_exchange_strong(none, &initial, std::memory_order_acq_rel);
    return none == nullptr ? initial : *none;
}

} // namespace

std::string_view name(Movement value) noexcept { return words<Movement>[static_cast<std::size_t>(value)]; }
std::string_view name(BlockClass value) noexcept { return words<BlockClass>[static_cast<std::size_t>(value)]; }
std::string_view name(StrideClass value) noexcept { return words<StrideClass>[static_cast<std::size_t>(value)]; }
std::string_view name(SizeClass value) noexcept { return words<SizeClass>[static_cast<std::size_t>(value)]; }
std::string_view name(Reuse value) noexcept { return words<Reuse>[static_cast<std::size_t>(value)]; }
std::string_view name(Method value) noexcept { return words<Method>[static_cast<std::size_t>(value)]; }

template <class Enum>
std::optional<Enum> named(std::string_view word) noexcept {
    const auto found = std::ranges::find(words<Enum>, word);
    if (found == words<Enum>.end()) return {};
    return static_cast<Enum>(found - words<Enum>.begin());
}
template std::optional<Movement> named<Movement>(std::string_view) noexcept;
template std::optional<BlockClass> named<BlockClass>(std::string_view) noexcept;
template std::optional<StrideClass> named<StrideClass>(std::string_view) noexcept;
template std::optional<SizeClass> named<SizeClass>(std::string_view) noexcept;
template std::optional<Reuse> named<Reuse>(std::string_view) noexcept;
template std::optional<Method> named<Method>(std::string_view) noexcept;

CopyChoices::CopyChoices() : limits_{limits_of_machine()} {
    for (const CopyChoice& cell : entries()) set(cell.where, built_in(cell.where));
}

void CopyChoices::set_limits(const SizeLimits& limits) {
    if (limits.tiny > limits.level1 || limits.level1 > limits.level2 || limits.level2 > limits.last_level) {
        throw SettingError{fmt::format("sizes of a copy table are {}, {}, {} and {} bytes; they must ascend",
                                       limits.tiny, limits.level1, limits.level2, limits.last_level)};
    }
    limits_ = limits;
}

std::vector<CopyChoice> CopyChoices::entries() const {
    std::vector<CopyChoice> all;
    all.reserve(cells);
    for (std::size_t movement = 0; movement < movements; ++movement)
        for (std::size_t reuse = 0; reuse < reuses; ++reuse)
            for (std::size_t size = 0; size < size_classes; ++size)
                for (std::size_t stride = 0; stride < stride_classes; ++stride)
                    for (std::size_t block = 0; block < block_classes; ++block) {
                        const CopyCase where{static_cast<Movement>(movement), static_cast<BlockClass>(block),
                                             static_cast<StrideClass>(stride), static_cast<SizeClass>(size),
                                             static_cast<Reuse>(reuse)};
                        all.push_back({where, method(where)});
                    }
    return all;
}

void CopyChoices::set(std::span<const CopyChoice> entries) noexcept {
    for (const CopyChoice& entry : entries) set(entry.where, entry.method);
}

const CopyChoices& copy_choices() noexcept {
    // Acquire: pairs with the release in use_copy_choices(), which publishes the table's contents.
    const CopyChoices* const table = in_use.load(std::memory_order_acquire);
    return table != nullptr ? *table : initial_choices();
}

void use_copy_choices(const CopyChoices& choices) {
    static support::Mutex mutex{support::LockRank::leaf};
    static auto& tables = *new std::vector<std::unique_ptr<const CopyChoices>>; // a copy under way may still read an
                                                                                // old one, at exit, too
    const std::scoped_lock lock{mutex};
    tables.push_back(std::make_unique<const CopyChoices>(choices));
    in_use.store(tables.back().get(), std::memory_order_release);
}

} // namespace lapwing::detail::kernels
