#pragma once

#include "model/access_platform.hpp"
#include "model/advice.hpp"
#include "model/cost_model.hpp"
#include "model/recorded_trace.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <string>

namespace lapwing::detail::model {

/// Times of alternatives, from the measured rates; unknown times are nullopt.
class AdviceCosts {
public:
    AdviceCosts(const RecordedTrace& trace, const CostTables* tables) : path_{trace.network_path}, tables_{tables} {
        if (const auto cache = trace.settings.find("LAPWING_CACHE_BYTES"); cache != trace.settings.end())
            cache_bytes_ = bytes_of(cache->second, cache_bytes_);
        if (const auto page = trace.settings.find("LAPWING_CACHE_PAGE"); page != trace.settings.end())
            page_bytes_ = bytes_of(page->second, page_bytes_);
    }

    [[nodiscard]] bool known() const {
        return tables_ != nullptr && !rate_of(tables_->rates, path_ + ".baseline.read").empty();
    }
    [[nodiscard]] double rate(const std::string& key, std::uint64_t accesses) const {
        return tables_ == nullptr ? 0 : rate_of(tables_->rates, key).seconds(accesses);
    }
    [[nodiscard]] double of_path(const std::string& key, std::uint64_t accesses) const {
        return rate(path_ + '.' + key, accesses);
    }
    /// One transfer that overlaps with nothing, or several that overlap with each other.
    [[nodiscard]] double transfer(std::uint64_t bytes, bool write, std::uint64_t operations = 1) const {
        if (tables_ == nullptr) return 0;
        return transfer_seconds(*tables_, path_, write ? Direction::put : Direction::get, bytes, operations);
    }
    /// A copy of so many bytes of this rank's own memory.
    [[nodiscard]] double copy(std::uint64_t bytes) const {
        constexpr std::uint64_t block = 1024; // the model knows blocks
        if (tables_ == nullptr || bytes == 0) return 0;
        return tables_->copy.time({.blocks = bytes / block + 1, .bytes = bytes, .extent_bytes = bytes});
    }
    /// A read that misses the cache and fetches so many bytes, while all ranks access others.
    [[nodiscard]] double miss(std::uint64_t bytes) const {
        constexpr std::uint64_t element = 8;
        constexpr std::uint64_t many = 1024;
        return of_path("baseline.read", many) + std::max(0.0, transfer(bytes, false) - transfer(element, false));
    }
    /// A barrier of so many ranks.
    [[nodiscard]] double barrier(int ranks) const { return of_path("barrier", static_cast<std::uint64_t>(ranks)); }
    /// How much longer a read takes when all other ranks read from one; 1 if that was not measured.
    [[nodiscard]] double contention(int ranks) const {
        const double alone = of_path("one_owner.read", 1);
        const double all = of_path("one_owner.read", static_cast<std::uint64_t>(std::max(1, ranks - 1)));
        return alone > 0 ? std::max(1.0, all / alone) : 1;
    }
    [[nodiscard]] std::uint64_t cache_pages() const noexcept {
        return std::max<std::uint64_t>(1, cache_bytes_ / sampled_page);
    }
    [[nodiscard]] std::uint64_t page_bytes() const noexcept { return page_bytes_; }
    /// The cache that the run could have had, for a simulation.
    [[nodiscard]] AccessPlatform::Cache cache() const noexcept {
        constexpr std::uint64_t most_pages = 1 << 18;
        const bool can_be = std::has_single_bit(page_bytes_) && page_bytes_ >= 64 && page_bytes_ <= 65536;
        const std::uint64_t page = can_be ? page_bytes_ : 1024;
        return {.page_bytes = page, .pages = std::clamp<std::uint64_t>(cache_bytes_ / page, 4, most_pages)};
    }

    /// The pages whose reuse was recorded.
    static constexpr std::uint64_t sampled_page = std::uint64_t{1} << trace::ReuseSample::page_bits;

private:
    [[nodiscard]] static std::uint64_t bytes_of(const std::string& text, std::uint64_t otherwise) {
        std::size_t used = 0;
        std::uint64_t value = 0;
        try {
            value = std::stoull(text, &used);
        } catch (const std::exception&) {
            return otherwise;
        }
        if (used == text.size()) return value;
        switch (text[used]) {
        case 'k':
        case 'K': return value << 10;
        case 'm':
        case 'M': return value << 20;
        case 'g':
        case 'G': return value << 30;
        default: return otherwise;
        }
    }

    std::string path_;
    const CostTables* tables_;
    std::uint64_t cache_bytes_ = 2 << 20;
    std::uint64_t page_bytes_ = 1024;
};

[[nodiscard]] inline bool writes(const AccessUse& use) noexcept { return use.operation == trace::Operation::write; }
[[nodiscard]] inline const char* word(const AccessUse& use) noexcept { return writes(use) ? "write" : "read"; }

/// Single accesses to other nodes by the program's loads and stores, which other calls can replace.
[[nodiscard]] inline bool is_single(const AccessUse& use) noexcept {
    const bool loads = use.operation == trace::Operation::read || writes(use);
    const AccessUse::Amount& far = use.heaviest[2];
    // A minimum: nobody changes a program for less.
    return loads && far.calls >= 16 && are_single(use.way, far.calls, far.accesses, far.bytes);
}

[[nodiscard]] inline bool is_sequential(const AccessUse& use) noexcept {
    const AccessUse::Amount& far = use.heaviest[2];
    return far.runs * 4 <= far.calls || use.stride_share > 0.8;
}

} // namespace lapwing::detail::model
