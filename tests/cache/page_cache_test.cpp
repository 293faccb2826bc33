// The cache without MPI: against a plain array, and the messages that it sends.
#include "cache/budget.hpp"
#include "cache/page_cache.hpp"

#include "cache/simulated_memory.hpp"
#include "src/support/assert.hpp"

#include "support/catch.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <numeric>
#include <string>

namespace {

using lapwing::CachePolicy;
using lapwing::Counter;
using lapwing::detail::cache::FilledPageTable;
using lapwing::detail::cache::PageCache;
using lapwing::detail::cache::PageCacheConfiguration;
using lapwing::detail::cache::PageCacheLayout;
using test::SimulatedMemory;

/// A cache in front of simulated memory.
struct Cached {
    Cached(std::vector<std::uint64_t> parts, PageCacheConfiguration configuration, std::uint64_t seed = 1,
           unsigned laziness = 90)
        : memory{parts, seed, laziness} {
        if (configuration.ranks.all() == 1) configuration.ranks = static_cast<int>(parts.size());
        configuration.largest_part = *std::ranges::max_element(parts);
        cache.emplace(configuration, memory, epoch, dirty_pages, statistics);
    }
    template <class T>
    T read(int rank, std::uint64_t offset) {
        auto& table = cache->page_table();
        table.begin(epoch.load());
        if (const T* value = table.template find<T>(table.place_of(rank, offset))) return *value;
        T value;
        cache->get(rank, offset, std::as_writable_bytes(std::span{&value, 1}));
        return value;
    }
    template <class T>
    void write(int rank, std::uint64_t offset, const T& value) {
        auto& table = cache->page_table();
        if (!table.write(table.place_of(rank, offset), value))
            cache->put(rank, offset, std::as_bytes(std::span{&value, 1}));
    }
    void release() {
        cache->release();
        CHECK_FALSE(cache->may_be_dirty());
        memory.complete_all();
    }
    void acquire() { epoch.fetch_add(1); }
    std::uint64_t count(Counter counter) {
        cache->collect_hits();
        return statistics.read()[counter];
    }

    SimulatedMemory memory;
    std::atomic<std::uint64_t> epoch{0};
    std::atomic<std::uint32_t> dirty_pages{0};
    lapwing::detail::support::Statistics statistics;
    std::optional<PageCache> cache;
};

PageCacheConfiguration small(std::uint64_t pages, std::uint64_t page_bytes, CachePolicy policy) {
    return {.bytes = pages * page_bytes,
            .page_bytes = page_bytes,
            .dirty_pages = std::max<std::uint64_t>(1, pages / 3),
            .read_ahead_bytes = 8 * page_bytes,
            .policy = policy};
}

void fill(std::vector<std::byte>& bytes, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
}

/// Numbers 0, 1, 2, … as 8-byte values.
void number(std::vector<std::byte>& bytes) {
    for (std::uint64_t i = 0; i < bytes.size() / 8; ++i) std::memcpy(bytes.data() + 8 * i, &i, 8);
}

/// A random program of one rank's reads and writes, with other ranks that write bytes of their own in between. Of 1000
/// calls that the cache makes `failures` throw; the program catches that, and makes its call again or, if it was a
/// read, goes on.
class RandomProgram {
public:
    RandomProgram(std::uint64_t seed, std::uint64_t pages, std::uint64_t page_bytes, CachePolicy policy,
                  unsigned failures = 0)
        : random_{seed},
          failures_{failures},
          parts_{page_bytes * (page_bytes > 10000 ? 3 : 13) + 8 * (seed % 9), 64 + seed % 50,
                 page_bytes * (page_bytes > 10000 ? 1 : 7) + seed % 64},
          cached_{parts_, configuration(seed, pages, page_bytes, policy), seed,
                  static_cast<unsigned>(random_() % 101)} {
        for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
            fill(cached_.memory.part(static_cast<int>(rank)), seed + rank);
            expected_.push_back(cached_.memory.part(static_cast<int>(rank)));
            others_.emplace_back(parts_[rank]);
        }
    }

    void run(int steps) {
        share_out();
        for (int step = 0; step < steps && wrong_.empty(); ++step) {
            if (step == leaves_at_) {
                left_ = leaves_;
                cached_.memory.left = left_;
            }
            try {
                this->step();
                if constexpr (lapwing::detail::support::internal_assertions) cached_.cache->validate();
            } catch (const std::exception& error) {
                wrong_ = error.what();
            }
            if (!wrong_.empty()) wrong_ = "step " + std::to_string(step) + ": " + wrong_;
        }
        if (!wrong_.empty()) return;
        release();
        compare("the memory is wrong at the end");
    }
    /// A rank leaves before that step: no access to another fails because of it, and no byte for it is lost without a
    /// note.
    void leave(int rank, int step) {
        leaves_ = rank;
        leaves_at_ = step;
    }
    [[nodiscard]] const std::string& wrong() const { return wrong_; }
    [[nodiscard]] std::uint64_t failed() const { return failed_; }

private:
    /// Makes a call of the cache's until it succeeds, or gives up. Whether it has succeeded.
    template <class Call>
    bool attempt(Call&& call, bool give_up = false) {
        for (int left = 5;; --left) {
            cached_.memory.failures = left > 0 ? failures_ : 0;
            bool done = true;
            try {
                call();
            } catch (const test::Unreachable&) {
                ++failed_;
                done = false;
            } catch (const lapwing::PeerLeftError&) {
                if (rank_ != left_) throw;
                cached_.memory.failures = 0;
                return false;
            }
            cached_.memory.failures = 0;
            if (done || (give_up && random_() % 2 == 0)) return done;
        }
    }
    void release() {
        rank_ = -2; // none
        attempt([&] { cached_.cache->release(); });
        cached_.release();
    }
    void compare(const char* otherwise) {
        for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
            const std::vector<std::byte>& part = cached_.memory.part(static_cast<int>(rank));
            if (static_cast<int>(rank) != left_) {
                if (part != expected_[rank]) wrong_ = otherwise;
                continue;
            }
            for (std::uint64_t i = 0; i < part.size(); ++i) undelivered_ += part[i] == expected_[rank][i] ? 0 : 1;
            if (undelivered_ > cached_.memory.lost) wrong_ = "bytes are lost that nobody noted";
        }
    }
    static PageCacheConfiguration configuration(std::uint64_t seed, std::uint64_t pages, std::uint64_t page_bytes,
                                                CachePolicy policy) {
        PageCacheConfiguration result = small(pages, page_bytes, policy);
        if (seed % 5 == 0) result.read_ahead_bytes = 0;
        result.alone = seed % 2 == 0;
        return result;
    }

    /// Which bytes are other ranks' until the next synchronisation.
    void share_out() {
        const std::uint64_t period = 1 + random_() % 40;
        for (auto& others : others_)
            for (std::uint64_t i = 0; i < others.size(); ++i) others[i] = (i / period) % 4 == 3;
    }
    void step() {
        const int rank = static_cast<int>(random_() % parts_.size());
        const std::uint64_t size = parts_[static_cast<std::size_t>(rank)];
        rank_ = rank;
        if (rank == left_) { // it is read now and then, which may fail
            std::vector<std::byte> buffer(1 + random_() % std::min<std::uint64_t>(size, 300));
            attempt([&] { cached_.cache->get(rank, random_() % (size - buffer.size() + 1), buffer); }, true);
            return;
        }
        switch (random_() % 25) {
        case 0: return synchronise();
        case 1: attempt([&] { cached_.cache->prefetch(rank, random_() % size, 1); }, true); return;
        case 2: { // what an atomic does: the owner's bytes at once
            const std::uint64_t offset = random_() % (size / 8) * 8;
            if (!own(rank, offset, 8)) return;
            attempt([&] { cached_.cache->write_back(rank, offset, 8); });
            attempt([&] { cached_.cache->invalidate(rank, offset, 8); });
            std::array<std::byte, 8> value{};
            cached_.memory.get(rank, offset, value);
            value[0] ^= std::byte{1};
            cached_.memory.put(rank, offset, value);
            std::memcpy(expected_[static_cast<std::size_t>(rank)].data() + offset, value.data(), 8);
            return;
        }
        case 3: return others_write();
        case 4: attempt([&] { cached_.cache->write_back_for_another_thread(); }, true); return;
        case 5: attempt([&] { cached_.cache->release(rank); }, true); return;
        case 6: { // a sequential walk
            const std::uint64_t begin = random_() % (size / 8);
            const bool back = random_() % 2 == 0;
            const std::uint64_t stride = random_() % 3 == 0 ? 8 * (1 + random_() % 300) : 8;
            for (std::uint64_t i = 0; i < 200; ++i) {
                const std::uint64_t at = back ? begin * 8 - i * stride : begin * 8 + i * stride;
                if (at >= size || at + 8 > size) return;
                access<std::uint64_t>(rank, at, random_() % 3 == 0);
            }
            return;
        }
        case 7:
        case 8: { // any range
            const std::uint64_t bytes = 1 + random_() % std::min<std::uint64_t>(size, random_() % 8 == 0 ? size : 300);
            return access_bytes(rank, random_() % (size - bytes + 1), bytes, random_() % 2 == 0);
        }
        case 24: { // elements that come again and again in the same order, anywhere
            std::mt19937_64 places{static_cast<std::uint64_t>(rank)};
            for (int i = 0; i < 30; ++i) {
                const std::uint64_t at = places() % (size / 8) * 8;
                access<std::uint64_t>(rank, at, random_() % 16 == 0);
            }
            return;
        }
        case 9: return access<std::uint8_t>(rank, random_() % size, random_() % 2 == 0);
        case 10: return access<std::uint16_t>(rank, random_() % (size / 2) * 2, random_() % 2 == 0);
        case 11:
        case 12: return access<std::uint32_t>(rank, random_() % (size / 4) * 4, random_() % 2 == 0);
        default: {
            const std::uint64_t near = std::min<std::uint64_t>(size / 8, random_() % 3 == 0 ? 16 : 100000);
            return access<std::uint64_t>(rank, random_() % near * 8, random_() % 2 == 0);
        }
        }
    }
    [[nodiscard]] bool own(int rank, std::uint64_t offset, std::uint64_t bytes) const {
        const auto& others = others_[static_cast<std::size_t>(rank)];
        return std::none_of(others.begin() + static_cast<std::ptrdiff_t>(offset),
                            others.begin() + static_cast<std::ptrdiff_t>(offset + bytes),
                            [](bool other) { return other; });
    }
    template <class T>
    void access(int rank, std::uint64_t offset, bool write) {
        if (!own(rank, offset, sizeof(T))) return;
        std::byte* const place = expected_[static_cast<std::size_t>(rank)].data() + offset;
        if (write) {
            const auto value = static_cast<T>(random_());
            attempt([&] { cached_.write(rank, offset, value); });
            std::memcpy(place, &value, sizeof value);
        } else {
            T value{};
            if (!attempt([&] { value = cached_.read<T>(rank, offset); }, true)) return;
            if (std::memcmp(&value, place, sizeof value) != 0)
                wrong_ = "read of " + std::to_string(sizeof(T)) + " bytes at " + std::to_string(offset) + " of " +
                         std::to_string(rank);
        }
    }
    void access_bytes(int rank, std::uint64_t offset, std::uint64_t bytes, bool write) {
        std::byte* const place = expected_[static_cast<std::size_t>(rank)].data() + offset;
        std::vector<std::byte> buffer(bytes);
        if (write) {
            // The own pieces of the range, each with one put.
            for (std::uint64_t begin = 0; begin < bytes;) {
                std::uint64_t end = begin;
                while (end < bytes && own(rank, offset + end, 1)) ++end;
                if (end > begin) {
                    for (std::uint64_t i = begin; i < end; ++i) buffer[i] = static_cast<std::byte>(random_());
                    attempt([&] {
                        cached_.cache->put(rank, offset + begin, std::span{buffer}.subspan(begin, end - begin));
                    });
                    std::memcpy(place + begin, buffer.data() + begin, end - begin);
                    std::ranges::fill(buffer, std::byte{0xEE}); // the source may be reused
                }
                begin = end + 1;
            }
        } else {
            if (!attempt([&] { cached_.cache->get(rank, offset, buffer); }, true)) return;
            for (std::uint64_t i = 0; i < bytes; ++i)
                if (own(rank, offset + i, 1) && buffer[i] != place[i])
                    wrong_ = "get of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) + ": byte " +
                             std::to_string(i);
        }
    }
    /// Other ranks put, at any time, bytes that this one does not touch.
    void others_write() {
        for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
            for (int i = 0; i < 20; ++i) {
                const std::uint64_t at = random_() % parts_[rank];
                if (!others_[rank][at]) continue;
                cached_.memory.part(static_cast<int>(rank))[at] = expected_[rank][at] =
                    static_cast<std::byte>(random_());
            }
        }
    }
    void synchronise() {
        release();
        compare("the memory is wrong after a release");
        for (int i = 0; i < 50; ++i) {
            auto& part = cached_.memory.part(static_cast<int>(random_() % parts_.size()));
            part[random_() % part.size()] = static_cast<std::byte>(random_());
        }
        for (std::size_t rank = 0; rank < parts_.size(); ++rank)
            expected_[rank] = cached_.memory.part(static_cast<int>(rank));
        cached_.acquire();
        share_out();
    }

    std::mt19937_64 random_;
    unsigned failures_;
    std::uint64_t failed_ = 0;
    std::vector<std::uint64_t> parts_;
    Cached cached_;
    std::vector<std::vector<std::byte>> expected_;
    std::vector<std::vector<bool>> others_;
    std::string wrong_;
    int rank_ = -2; ///< that the step uses
    int left_ = -1;
    int leaves_ = -1;
    int leaves_at_ = -1;
    std::uint64_t undelivered_ = 0;
};

} // namespace

TEST_CASE("what could not be written to one rank is not written to another, and is written later") {
    Cached cached{{4096, 4096}, small(8, 1024, CachePolicy::two_queues)};
    cached.write<std::int64_t>(1, 96, 7);
    cached.memory.unreachable = 1;
    CHECK_THROWS_AS(cached.cache->release(), std::runtime_error);
    cached.memory.unreachable = -1;
    cached.write<std::int64_t>(0, 8, 5);
    cached.release();
    const auto value = [&](int rank, std::size_t offset) {
        std::int64_t result = 0;
        std::memcpy(&result, cached.memory.part(rank).data() + offset, sizeof result);
        return result;
    };
    CHECK(value(0, 8) == 5);
    CHECK(value(0, 96) == 0);
    CHECK(value(1, 96) == 7);
}

TEST_CASE("random programs read and leave what they do in a plain array") {
    for (const CachePolicy policy : {CachePolicy::two_queues, CachePolicy::direct_mapped}) {
        for (const std::uint64_t page_bytes : {64U, 128U, 1024U, 4096U, 65536U}) {
            for (const std::uint64_t pages : {2U, 3U, 5U, 16U, 64U}) {
                for (std::uint64_t seed = 1; seed <= (page_bytes > 2000 ? 3 : 8); ++seed) {
                    RandomProgram program{seed * 1000 + pages, pages, page_bytes, policy};
                    program.run(page_bytes > 2000 ? 100 : 300);
                    INFO("policy " << static_cast<int>(policy) << ", " << pages << " pages of " << page_bytes
                                   << " bytes, seed " << seed);
                    REQUIRE(program.wrong() == "");
                }
            }
        }
    }
}

TEST_CASE("random programs of which any call may fail read and leave what they do in a plain array") {
    std::uint64_t failed = 0;
    for (const CachePolicy policy : {CachePolicy::two_queues, CachePolicy::direct_mapped}) {
        for (const std::uint64_t page_bytes : {64U, 128U, 1024U, 8192U}) {
            for (const std::uint64_t pages : {2U, 5U, 16U, 64U}) {
                for (std::uint64_t seed = 1; seed <= 12; ++seed) {
                    RandomProgram program{seed * 1000 + pages, pages, page_bytes, policy,
                                          static_cast<unsigned>(10 + 20 * (seed % 4))};
                    program.run(page_bytes > 2000 ? 100 : 300);
                    INFO("policy " << static_cast<int>(policy) << ", " << pages << " pages of " << page_bytes
                                   << " bytes, seed " << seed);
                    REQUIRE(program.wrong() == "");
                    failed += program.failed();
                }
            }
        }
    }
    CHECK(failed > 2000);
}

TEST_CASE("random programs which a rank leaves: the others read and get what they do in a plain array, and its bytes "
          "are noted as lost") {
    for (const CachePolicy policy : {CachePolicy::two_queues, CachePolicy::direct_mapped}) {
        for (const std::uint64_t page_bytes : {64U, 128U, 1024U, 8192U}) {
            for (const std::uint64_t pages : {2U, 5U, 16U, 64U}) {
                for (std::uint64_t seed = 1; seed <= 12; ++seed) {
                    RandomProgram program{seed * 1000 + pages, pages, page_bytes, policy, seed % 4 == 0 ? 20U : 0U};
                    program.leave(static_cast<int>(seed % 3), static_cast<int>(20 + seed * 7 % 50));
                    program.run(page_bytes > 2000 ? 100 : 300);
                    INFO("policy " << static_cast<int>(policy) << ", " << pages << " pages of " << page_bytes
                                   << " bytes, seed " << seed);
                    REQUIRE(program.wrong() == "");
                }
            }
        }
    }
}

TEST_CASE("pages whose read-ahead could not be started are not read as if they were there") {
    Cached cached{{1U << 20}, {}};
    number(cached.memory.part(0));
    std::uint64_t failed = 0;
    for (std::uint64_t k = 0; k < 131072; ++k) {
        if (k % 128 == 3)
            cached.memory.calls_until_failure = 1; // the next page's get succeeds, what is read ahead of it does not
        std::uint64_t value = 0;
        try {
            value = cached.read<std::uint64_t>(0, 8 * k);
        } catch (const test::Unreachable&) {
            ++failed;
            cached.memory.calls_until_failure = -1;
            value = cached.read<std::uint64_t>(0, 8 * k);
        }
        if (value != k) FAIL("element " << k << " is " << value);
    }
    CHECK(failed > 5);
}

TEST_CASE("dirty bytes that another thread could not write back are written by the next release") {
    for (const int calls : {0, 1, 2, 3}) { // a page is put in two calls
        Cached cached{{4096}, {.alone = false}};
        const auto place = [](std::uint64_t k) { return 1024 * (k % 2) + 8 * k + 1; };
        for (std::uint64_t k = 0; k < 6; ++k)
            cached.write<std::uint8_t>(0, place(k),
                                       static_cast<std::uint8_t>(k + 1)); // three runs in each of two pages
        cached.memory.calls_until_failure = calls;
        CHECK_THROWS_AS(cached.cache->write_back_for_another_thread(), test::Unreachable);
        cached.memory.complete_all();
        cached.release();
        for (std::uint64_t k = 0; k < 6; ++k) CHECK(cached.memory.part(0)[place(k)] == static_cast<std::byte>(k + 1));
    }
}

TEST_CASE("a write after a release that failed waits for the put that the release had started") {
    Cached cached{{1U << 20, 4096}, {}, 1, 100};
    for (std::uint64_t i = 0; i < 2048; ++i) cached.write(0, 8 * i, i); // one put from the cache's memory
    cached.write<std::uint64_t>(1, 0, 1);
    cached.memory.unreachable = 1;
    CHECK_THROWS_AS(cached.cache->release(), test::Unreachable);
    CHECK(cached.memory.under_way() == 1);
    cached.write<std::uint64_t>(0, 0, 77);
    CHECK_NOTHROW(cached.memory.complete_all()); // which looks whether the source of a put has changed
    cached.memory.unreachable = -1;
    cached.release();
    std::uint64_t value = 0;
    std::memcpy(&value, cached.memory.part(0).data(), sizeof value);
    CHECK(value == 77);
}

TEST_CASE("a write after a read that failed waits for the get that the read had started") {
    Cached cached{{1U << 20}, {}, 1, 100};
    number(cached.memory.part(0));
    cached.write<std::uint8_t>(0, 16000 + 300, 1); // the page has dirty bytes
    cached.acquire();
    (void)cached.read<std::uint64_t>(0, 0);
    (void)cached.read<std::uint64_t>(0, 8000);
    cached.memory.calls_until_failure = 1; // the next line can be asked for, and what is read ahead of it cannot
    CHECK_THROWS_AS(cached.read<std::uint64_t>(0, 16000), test::Unreachable);
    CHECK(cached.memory.under_way() == 1);
    cached.write<std::uint64_t>(0, 16000, 77);
    cached.memory.complete_all();
    CHECK(cached.read<std::uint64_t>(0, 16000) == 77);
    cached.release();
    std::uint64_t value = 0;
    std::memcpy(&value, cached.memory.part(0).data() + 16000, sizeof value);
    CHECK(value == 77);
}

TEST_CASE("a large put that fails leaves the small writes before it") {
    Cached cached{{1U << 20}, {}};
    cached.write<std::uint64_t>(0, 4096, 7);
    const std::vector<std::byte> large(1U << 16, std::byte{1});
    cached.memory.calls_until_failure = 1; // what is dirty is put, the large put fails
    CHECK_THROWS_AS(cached.cache->put(0, 0, large), test::Unreachable);
    CHECK(cached.read<std::uint64_t>(0, 4096) == 7);
    cached.memory.calls_until_failure = 0; // what is dirty cannot be put
    cached.write<std::uint64_t>(0, 8192, 9);
    CHECK_THROWS_AS(cached.cache->put(0, 0, large), test::Unreachable);
    CHECK(cached.read<std::uint64_t>(0, 8192) == 9);
    cached.release();
    std::uint64_t value = 0;
    std::memcpy(&value, cached.memory.part(0).data() + 8192, sizeof value);
    CHECK(value == 9);
}

TEST_CASE("an error in one of the operations under way keeps nobody from waiting for the others") {
    Cached cached{{1U << 20}, {}, 1, 100};
    for (std::uint64_t i = 0; i < 8; ++i) cached.cache->prefetch(0, i * 16384, 8);
    REQUIRE(cached.memory.under_way() == 8);
    cached.memory.calls_until_failure = 2;
    CHECK_THROWS_AS(cached.cache->finish_all(), test::Unreachable);
    CHECK(cached.memory.under_way() == 0); // nothing arrives in memory that is given back next
}

TEST_CASE("a sequential read takes few messages, each byte once") {
    Cached cached{{1U << 20, 1U << 20}, {}};
    number(cached.memory.part(1));
    const bool backward = GENERATE(false, true);
    for (std::uint64_t k = 0; k < 131072; ++k) {
        const std::uint64_t i = backward ? 131071 - k : k;
        if (cached.read<std::uint64_t>(1, 8 * i) != i) FAIL("element " << i);
    }
    CHECK(cached.memory.gets < 40);
    CHECK(cached.memory.get_bytes <= (1U << 20) + 2048);
    CHECK(cached.count(Counter::cache_misses) < 8);
    CHECK(cached.count(Counter::read_ahead_used) > 1000);
    CHECK(cached.count(Counter::read_ahead_wasted) == 0);
    CHECK(cached.count(Counter::cache_hits) + cached.count(Counter::cache_misses) == 131072);
}

TEST_CASE("a long sequential read comes in large gets") {
    Cached cached{{8U << 20}, {.adapt = false}, 1, 100}; // each get is still under way when its data is wanted
    number(cached.memory.part(0));
    for (const bool again : {false, true}) {
        const std::uint64_t gets = cached.memory.gets;
        const std::uint64_t bytes = cached.memory.get_bytes;
        for (std::uint64_t i = 0; i < 1U << 20; ++i)
            if (cached.read<std::uint64_t>(0, 8 * i) != i) FAIL("element " << i << (again ? ", again" : ""));
        CHECK((cached.memory.get_bytes - bytes) / (cached.memory.gets - gets) >= 64U << 10);
        CHECK(cached.memory.get_bytes - bytes <= (8U << 20) + 2048);
        cached.release();
        cached.acquire();
    }
    CHECK(cached.count(Counter::read_ahead_wasted) == 0);
}

TEST_CASE("a sequential read after an acquire takes few messages again, however much the cache still holds") {
    for (const CachePolicy policy : {CachePolicy::two_queues, CachePolicy::direct_mapped}) {
        for (const std::uint64_t bytes : {std::uint64_t{1} << 20, std::uint64_t{8} << 20}) {
            Cached cached{{1U << 20}, {.bytes = bytes, .policy = policy, .adapt = false}};
            for (std::uint64_t pass = 0; pass < 5; ++pass) {
                number(cached.memory.part(0));
                const std::uint64_t gets = cached.memory.gets;
                for (std::uint64_t i = 0; i < 131072; ++i)
                    if (cached.read<std::uint64_t>(0, 8 * i) != i) FAIL("element " << i);
                INFO("policy " << static_cast<int>(policy) << ", " << bytes << " bytes, pass " << pass);
                // Where all fits, pages keep their places beside each other; else those that come again mix with the
                // others.
                CHECK(cached.memory.gets - gets < (bytes > 1U << 20 ? 60 : 256));
                std::ranges::fill(cached.memory.part(0), std::byte{0xEE}); // stale, if it were read
                cached.release();
                cached.acquire();
            }
        }
    }
}

TEST_CASE("what was read in one epoch is asked for at once in the next") {
    Cached cached{{1U << 20}, {.adapt = false}};
    const auto read_region = [&] {
        const std::uint64_t gets = cached.memory.gets;
        for (std::uint64_t i = 1024; i < 1024 + 40 * 128; ++i)
            if (cached.read<std::uint64_t>(0, 8 * i) != i) FAIL("element " << i);
        return cached.memory.gets - gets;
    };
    number(cached.memory.part(0));
    CHECK(read_region() >= 5); // which find out that it goes on
    cached.acquire();
    // The first page and the following ones, and at most two that look beyond the region.
    CHECK(read_region() <= 4);
    // Not over what was written and not released.
    cached.write(0, 8 * 1500, std::uint64_t{7});
    cached.acquire();
    CHECK(cached.read<std::uint64_t>(0, 8 * 1024) == 1024);
    CHECK(cached.read<std::uint64_t>(0, 8 * 1500) == 7);
    CHECK(cached.read<std::uint64_t>(0, 8 * 1501) == 1501);
}

TEST_CASE("a sequential write takes few messages") {
    Cached cached{{64, 1U << 20}, {}};
    for (std::uint64_t i = 0; i < 131072; ++i) cached.write(1, 8 * i, i);
    CHECK(cached.memory.gets == 0);
    cached.release();
    CHECK(cached.memory.puts < 40);
    CHECK(cached.count(Counter::cache_write_back_bytes) == 1U << 20);
    for (std::uint64_t i = 0; i < 131072; ++i)
        if (std::memcmp(cached.memory.part(1).data() + 8 * i, &i, 8) != 0) FAIL("element " << i);
}

TEST_CASE("a constant stride is read ahead") {
    Cached cached{{4U << 20}, {}};
    number(cached.memory.part(0));
    for (std::uint64_t i = 0; i < 500; ++i) REQUIRE(cached.read<std::uint64_t>(0, i * 8000) == i * 1000);
    CHECK(cached.count(Counter::cache_misses) < 10);
    CHECK(cached.count(Counter::read_ahead_wasted) == 0);
    CHECK(cached.memory.get_bytes <= 500 * 128);
    CHECK(cached.memory.gets <= 60); // lines of many pages come together
}

TEST_CASE("the columns of a matrix are read ahead, and at once as whole pages in the next epoch") {
    constexpr std::uint64_t rows = 256;
    constexpr std::uint64_t columns = 512;
    constexpr std::uint64_t used_columns = 128; // one page of each row
    Cached cached{{rows * columns * 8}, {}};
    number(cached.memory.part(0));
    const auto read_all = [&] {
        for (std::uint64_t column = 0; column < used_columns; ++column)
            for (std::uint64_t row = 0; row < rows; ++row)
                if (cached.read<std::uint64_t>(0, (row * columns + column) * 8) != row * columns + column)
                    FAIL("wrong");
    };
    read_all();
    CHECK(cached.count(Counter::cache_misses) < 10);
    CHECK(cached.memory.gets <= 2 * rows);
    cached.acquire();
    const auto before = cached.memory.gets;
    read_all();
    CHECK(cached.count(Counter::cache_misses) < 15);
    CHECK(cached.memory.gets - before <= rows);
}

namespace {

/// Numbers as of number(), plus `add`.
void number_from(std::vector<std::byte>& bytes, std::uint64_t add) {
    for (std::uint64_t i = 0; i < bytes.size() / 8; ++i) {
        const std::uint64_t value = i + add;
        std::memcpy(bytes.data() + 8 * i, &value, 8);
    }
}

} // namespace

TEST_CASE("what was read in the epoch before is asked for from whichever page is read first") {
    constexpr std::uint64_t bytes = 24 * 1024;
    for (const std::uint64_t page : {std::uint64_t{256}, std::uint64_t{1024}, std::uint64_t{8192}}) {
        Cached cached{{bytes, bytes, bytes}, {.page_bytes = page, .adapt = false}};
        // In an order that leaves neighbouring pages in frames that are not.
        std::vector<std::uint64_t> order(bytes / page);
        std::iota(order.begin(), order.end(), 0U);
        for (const std::uint64_t first : {std::uint64_t{0}, order.size() - 1, order.size() / 2, std::uint64_t{1}}) {
            INFO("pages of " << page << ", first " << first);
            std::ranges::shuffle(order, std::mt19937_64{first});
            std::swap(order.front(), *std::ranges::find(order, first));
            for (int rank = 0; rank < 3; ++rank) number_from(cached.memory.part(rank), first);
            const std::uint64_t misses = cached.count(Counter::cache_misses);
            const std::uint64_t gets = cached.memory.gets;
            std::uint64_t wrong = 0;
            for (const std::uint64_t number : order)
                for (std::uint64_t at = number * page; at < (number + 1) * page; at += 8)
                    wrong += cached.read<std::uint64_t>(1, at) != at / 8 + first ? 1 : 0;
            CHECK(wrong == 0);
            if (first != 0) CHECK(cached.count(Counter::cache_misses) - misses == 1);
            if (first != 0 && page < 8192) CHECK(cached.memory.gets - gets <= 1 + bytes / 4096);
            cached.acquire();
        }
        CHECK(cached.count(Counter::read_ahead_wasted) == 0);
    }
}

namespace {

/// A list of elements in pages of their own, none beside another, in any order.
class ListOfElements {
public:
    static constexpr std::uint64_t part_bytes = 2U << 20;

    ListOfElements(std::uint64_t count, std::uint64_t seed) {
        std::mt19937_64 random{seed};
        std::vector<std::uint64_t> numbers(part_bytes / 2048);
        std::iota(numbers.begin(), numbers.end(), 0U);
        std::ranges::shuffle(numbers, random);
        for (std::uint64_t i = 0; i < count; ++i) places_.push_back(numbers[i] * 2048 + random() % 128 * 8);
    }
    /// How many of them are not `add` more than their number.
    [[nodiscard]] std::uint64_t wrong(Cached& cached, int rank, std::uint64_t add = 0) const {
        return static_cast<std::uint64_t>(std::ranges::count_if(
            places_, [&](std::uint64_t place) { return cached.read<std::uint64_t>(rank, place) != place / 8 + add; }));
    }
    [[nodiscard]] std::uint64_t operator[](std::uint64_t i) const { return places_[i]; }
    void shuffle(std::uint64_t seed) { std::ranges::shuffle(places_, std::mt19937_64{seed}); }

private:
    std::vector<std::uint64_t> places_;
};

} // namespace

TEST_CASE("a list that was read in one epoch is asked for in few messages in the next ones, line by line") {
    Cached cached{{ListOfElements::part_bytes}, {.adapt = false}};
    const ListOfElements list{400, 5};
    for (std::uint64_t pass = 0; pass < 5; ++pass) {
        number_from(cached.memory.part(0), pass);
        const std::uint64_t gets = cached.memory.gets;
        const std::uint64_t bytes = cached.memory.get_bytes;
        const std::uint64_t misses = cached.count(Counter::cache_misses);
        INFO("pass " << pass);
        CHECK(list.wrong(cached, 0, pass) == 0);
        if (pass > 0) {
            CHECK(cached.memory.gets - gets <= 16);
            CHECK(cached.count(Counter::cache_misses) - misses <= 2);
            CHECK(cached.memory.get_bytes - bytes == 400 * 64);
        }
        cached.release();
        cached.acquire();
    }
    CHECK(cached.count(Counter::read_ahead_wasted) == 0);
    // Without read-ahead each by itself.
    Cached without{{ListOfElements::part_bytes}, {.read_ahead_bytes = 0, .adapt = false}};
    for (int pass = 0; pass < 2; ++pass) {
        (void)list.wrong(without, 0);
        without.acquire();
    }
    CHECK(without.memory.gets == 800);
}

TEST_CASE("a list that is read again in another order each time is asked for in few messages as well") {
    Cached cached{{ListOfElements::part_bytes}, {.adapt = false}};
    ListOfElements list{100, 5};
    for (std::uint64_t pass = 0; pass < 8; ++pass) {
        number_from(cached.memory.part(0), pass);
        const std::uint64_t misses = cached.count(Counter::cache_misses);
        const std::uint64_t bytes = cached.memory.get_bytes;
        INFO("pass " << pass);
        CHECK(list.wrong(cached, 0, pass) == 0);
        if (pass > 3) CHECK(cached.count(Counter::cache_misses) - misses <= 12);
        if (pass > 0) CHECK(cached.memory.get_bytes - bytes == 100 * 64);
        list.shuffle(pass);
        cached.acquire();
    }
    CHECK(cached.count(Counter::read_ahead_wasted) == 0);
    // Of lists that have little in common, no more is fetched in vain than was read.
    constexpr std::uint64_t lists = 20;
    for (std::uint64_t pass = 0; pass < lists; ++pass) {
        CHECK(ListOfElements{100, 100 + pass}.wrong(cached, 0, 7) == 0);
        cached.acquire();
    }
    CHECK(cached.count(Counter::read_ahead_wasted) <= (lists + 1) * 100);
}

TEST_CASE("a list comes into the cache although its first reads bypass it") {
    Cached cached{{ListOfElements::part_bytes}, {}};
    const ListOfElements list{800, 6};
    for (std::uint64_t pass = 0; pass < 12; ++pass) {
        number_from(cached.memory.part(0), pass);
        const std::uint64_t gets = cached.memory.gets;
        const std::uint64_t passed = cached.count(Counter::cache_passed);
        INFO("pass " << pass);
        CHECK(list.wrong(cached, 0, pass) == 0);
        if (pass == 0) CHECK(cached.count(Counter::cache_passed) > 500);
        if (pass > 3) CHECK(cached.count(Counter::cache_passed) == passed);
        if (pass > 3) CHECK(cached.memory.gets - gets <= 20);
        cached.acquire();
    }
}

TEST_CASE("lists of several ranks, read in turns, are asked for in few messages to each") {
    constexpr int ranks = 3;
    constexpr std::uint64_t count = 150;
    Cached cached{std::vector<std::uint64_t>(ranks, ListOfElements::part_bytes), {.adapt = false}};
    std::vector<ListOfElements> lists;
    lists.reserve(ranks);
    for (int rank = 0; rank < ranks; ++rank) lists.emplace_back(count, 7 + static_cast<std::uint64_t>(rank));
    std::uint64_t gets = 0;
    for (std::uint64_t pass = 0; pass < 4; ++pass) {
        for (int rank = 0; rank < ranks; ++rank) number_from(cached.memory.part(rank), pass);
        gets = cached.memory.gets;
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 0; i < count; ++i)
            for (int rank = 0; rank < ranks; ++rank) {
                const std::uint64_t place = lists[static_cast<std::size_t>(rank)][i];
                wrong += cached.read<std::uint64_t>(rank, place) != place / 8 + pass ? 1 : 0;
            }
        CHECK(wrong == 0);
        cached.acquire();
    }
    CHECK(cached.memory.gets - gets <= 30);
    CHECK(cached.count(Counter::read_ahead_wasted) == 0);
}

TEST_CASE("a list that is asked for again has what an acquire lets be seen, and this rank's own writes") {
    for (const unsigned laziness : {0U, 50U, 100U}) {
        Cached cached{{ListOfElements::part_bytes}, {.adapt = false}, 3, laziness};
        const ListOfElements list{100, 9};
        number(cached.memory.part(0));
        CHECK(list.wrong(cached, 0) == 0);
        cached.acquire();
        (void)cached.read<std::uint64_t>(0, list[0]); // and the next ones are asked for
        const std::uint64_t issued = cached.count(Counter::read_ahead_issued);
        CHECK(issued >= 4);
        // What is under way, or has come, when an acquire comes: other ranks' writes are seen after it.
        cached.memory.complete_all();
        number_from(cached.memory.part(0), 1000);
        cached.acquire();
        CHECK(list.wrong(cached, 0, 1000) == 0);
        cached.acquire();
        (void)cached.read<std::uint64_t>(0, list[0]);
        // An own write while its line is under way, and one to the list's page before it is asked for.
        cached.write<std::uint64_t>(0, list[1], 7);
        cached.write<std::uint64_t>(0, list[60] ^ 8, 8);
        CHECK(cached.read<std::uint64_t>(0, list[1]) == 7);
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 2; i < 100; ++i)
            wrong += cached.read<std::uint64_t>(0, list[i]) != list[i] / 8 + 1000 ? 1 : 0;
        CHECK(wrong == 0);
        CHECK(cached.read<std::uint64_t>(0, list[1]) == 7);
        CHECK(cached.read<std::uint64_t>(0, list[60] ^ 8) == 8);
        cached.release();
        const auto left = [&](std::uint64_t place) {
            std::uint64_t value = 0;
            std::memcpy(&value, cached.memory.part(0).data() + place, sizeof value);
            return value;
        };
        CHECK(left(list[1]) == 7);
        CHECK(left(list[60] ^ 8) == 8);
        CHECK(left(list[60]) == list[60] / 8 + 1000);
    }
}

TEST_CASE("a list that could not be asked for is read all the same") {
    for (const int calls : {0, 1, 2, 3, 4}) {
        Cached cached{{ListOfElements::part_bytes}, {.adapt = false}, 1, 100};
        const ListOfElements list{200, 11};
        number(cached.memory.part(0));
        CHECK(list.wrong(cached, 0) == 0);
        number_from(cached.memory.part(0), 5);
        cached.acquire();
        cached.memory.calls_until_failure = calls;
        std::uint64_t failed = 0;
        for (std::uint64_t i = 0; i < 200; ++i) {
            std::uint64_t value = 0;
            try {
                value = cached.read<std::uint64_t>(0, list[i]);
            } catch (const test::Unreachable&) {
                ++failed;
                value = cached.read<std::uint64_t>(0, list[i]);
            }
            if (value != list[i] / 8 + 5) FAIL("element " << i << " is " << value);
        }
        CHECK(failed <= 1);
    }
}

TEST_CASE("what is read once is asked for in vain once at most") {
    Cached cached{{ListOfElements::part_bytes}, {.adapt = false}};
    const ListOfElements list{400, 13};
    number(cached.memory.part(0));
    CHECK(list.wrong(cached, 0) == 0);
    const std::uint64_t bytes = cached.memory.get_bytes;
    const std::uint64_t gets = cached.memory.gets;
    std::mt19937_64 random{3};
    constexpr std::uint64_t epochs = 2000;
    for (std::uint64_t i = 0; i < epochs; ++i) { // one of them in each epoch
        cached.acquire();
        (void)cached.read<std::uint64_t>(0, list[random() % 400]);
    }
    CHECK(cached.memory.get_bytes - bytes <= (epochs + 400) * 64);
    CHECK(cached.memory.gets - gets <= epochs + epochs / 10);
    // What is written and not read is not asked for.
    Cached written{{1U << 20}, {.adapt = false}};
    std::array<std::uint64_t, 128> page{};
    for (std::uint64_t round = 0; round < 20; ++round) {
        (void)written.read<std::uint64_t>(0, 0);
        for (std::uint64_t k = 1; k < 50; ++k) written.cache->put(0, 8192 * k, std::as_bytes(std::span{page}));
        written.release();
        written.acquire();
    }
    CHECK(written.memory.get_bytes == 20 * 64);
}

TEST_CASE("pages that were read before, one here and one there, come in few messages") {
    constexpr std::uint64_t rows = 100;
    constexpr std::uint64_t row_bytes = 4096;
    Cached cached{{rows * row_bytes}, {.adapt = false}};
    const auto read_rows = [&](std::uint64_t add) {
        for (std::uint64_t row = 0; row < rows; ++row) {
            if (row == 70) continue;
            for (std::uint64_t at = 0; at < 1024; at += 8)
                if (cached.read<std::uint64_t>(0, row * row_bytes + at) != (row * row_bytes + at) / 8 + add)
                    FAIL("row " << row << ", byte " << at);
        }
    };
    number(cached.memory.part(0));
    read_rows(0);
    cached.acquire();
    number_from(cached.memory.part(0), 3);
    const std::uint64_t misses = cached.count(Counter::cache_misses);
    const std::uint64_t gets = cached.memory.gets;
    const std::uint64_t bytes = cached.memory.get_bytes;
    read_rows(3);
    CHECK(cached.count(Counter::cache_misses) - misses <= 1);
    CHECK(cached.memory.gets - gets <= 30); // seven pages in most of them
    CHECK(cached.memory.get_bytes - bytes <= rows * 1024);
}

TEST_CASE("a column whose pages were read before is asked for at once, up to the first that was not") {
    constexpr std::uint64_t rows = 100;
    constexpr std::uint64_t row_bytes = 32768;
    constexpr std::uint64_t page_bytes = 8192; // of more lines than lists of reads are kept of
    Cached cached{{rows * row_bytes},
                  {.bytes = 8U << 20, .page_bytes = page_bytes, .read_ahead_bytes = 1U << 20, .adapt = false}};
    number(cached.memory.part(0));
    const auto read_row = [&](std::uint64_t row) {
        for (std::uint64_t at = 0; at < page_bytes; at += 8)
            if (cached.read<std::uint64_t>(0, row * row_bytes + at) != (row * row_bytes + at) / 8) FAIL("wrong");
    };
    for (std::uint64_t row = 0; row < rows; ++row)
        if (row != 70) read_row(row);
    cached.acquire();
    const auto issued = [&] { return cached.count(Counter::read_ahead_issued); };
    const std::uint64_t before = issued();
    read_row(0);
    read_row(1);
    CHECK(issued() == before);
    read_row(2); // now the stride is known
    CHECK(issued() - before == 67);
    const std::uint64_t misses = cached.count(Counter::cache_misses);
    for (std::uint64_t row = 3; row < 70; ++row) read_row(row);
    CHECK(cached.count(Counter::cache_misses) == misses);
    for (std::uint64_t row = 70; row < rows; ++row) read_row(row);
}

TEST_CASE("read-ahead that nobody uses stops by itself") {
    Cached cached{{64U << 20}, {}};
    std::mt19937_64 random{7};
    // Pairs of neighbouring pages at random places: each looks like the start of a sequential read.
    const auto pairs = [&](int count) {
        for (int i = 0; i < count; ++i) {
            const std::uint64_t page = random() % (1U << 16) * 1024;
            (void)cached.read<std::uint64_t>(0, page);
            if (page + 1024 < (64U << 20)) (void)cached.read<std::uint64_t>(0, page + 1024);
        }
    };
    pairs(2000);
    const std::uint64_t before = cached.count(Counter::read_ahead_issued);
    pairs(2000);
    CHECK(cached.count(Counter::read_ahead_issued) - before < 400);
}

TEST_CASE("acquire makes contents unusable, release writes only what was written") {
    Cached cached{{4096}, {}};
    auto& memory = cached.memory.part(0);
    cached.write<std::uint32_t>(0, 8, 1);
    cached.write<std::uint32_t>(0, 12, 2);
    cached.write<std::uint32_t>(0, 100, 3);
    CHECK(cached.read<std::uint32_t>(0, 104) == 0);
    memory[104] = std::byte{9}; // another rank
    CHECK(cached.read<std::uint32_t>(0, 104) == 0);
    CHECK(cached.read<std::uint32_t>(0, 100) == 3);
    cached.acquire();
    CHECK(cached.read<std::uint32_t>(0, 104) == 9);
    CHECK(cached.read<std::uint32_t>(0, 100) == 3); // this rank's write, not yet released
    memory[16] = std::byte{5};
    const std::uint64_t puts = cached.memory.puts;
    cached.release();
    CHECK(cached.memory.puts == puts + 1);
    CHECK(cached.count(Counter::cache_write_backs) == 2);
    CHECK(cached.count(Counter::cache_write_back_bytes) == 12);
    CHECK(memory[16] == std::byte{5});
}

TEST_CASE("a prefetched value is not waited for twice") {
    Cached cached{{1U << 20}, {}, 1, 100};
    number(cached.memory.part(0));
    for (std::uint64_t i = 0; i < 32; ++i) cached.cache->prefetch(0, i * 16384, 8);
    CHECK(cached.memory.under_way() == 32);
    CHECK(cached.memory.waits == 0);
    for (std::uint64_t i = 0; i < 32; ++i) CHECK(cached.read<std::uint64_t>(0, i * 16384) == i * 2048);
    CHECK(cached.count(Counter::cache_misses) == 0);
    CHECK(cached.count(Counter::read_ahead_used) == 32);
}

TEST_CASE("reads at random pass by after a while, and come back for neighbours") {
    Cached cached{{64U << 20}, {}};
    number(cached.memory.part(0));
    std::mt19937_64 random{3};
    for (int i = 0; i < 3000; ++i) (void)cached.read<std::uint64_t>(0, random() % (8U << 20) * 8);
    CHECK(cached.count(Counter::cache_passed) > 2000);
    cached.write<std::uint64_t>(0, 800, 12345); // an own write is seen all the same
    CHECK(cached.read<std::uint64_t>(0, 800) == 12345);
    const std::uint64_t gets = cached.memory.gets;
    for (std::uint64_t i = 0; i < 10000; ++i) REQUIRE(cached.read<std::uint64_t>(0, 4096 + 8 * i) == 512 + i);
    CHECK(cached.memory.gets - gets < 100);
}

TEST_CASE("writes at random pass by after a while, and come back for neighbours") {
    Cached cached{{1U << 24}, {.bytes = 1U << 18, .dirty_pages = 64}};
    std::mt19937_64 random{5};
    std::vector<std::byte> expected(1U << 24);
    const auto write = [&](std::uint64_t at, std::uint64_t value) {
        cached.write(0, at, value);
        std::memcpy(expected.data() + at, &value, sizeof value);
    };
    for (std::uint64_t i = 0; i < 2000; ++i) write(random() % (1U << 21) * 8, i);
    CHECK(cached.count(Counter::cache_passed) > 1000);
    // Each is read as it was written, whichever way it went.
    for (std::uint64_t i = 0; i < 500; ++i) {
        const std::uint64_t at = random() % (1U << 21) * 8;
        write(at, i + 7);
        CHECK(cached.read<std::uint64_t>(0, at) == i + 7);
    }
    const std::uint64_t before = cached.count(Counter::cache_passed);
    for (std::uint64_t i = 0; i < 4096; ++i) write(8 * i, i);
    CHECK(cached.count(Counter::cache_passed) - before < 50);
    cached.release();
    CHECK((cached.memory.part(0) == expected));
}

TEST_CASE("hits of writes do not keep reads at random in the cache, nor hits of reads such writes") {
    constexpr std::uint64_t part = 64U << 20;
    constexpr std::uint64_t accesses = 20000;
    const auto at_random = [](bool reads) {
        Cached cached{{part}, {}};
        std::mt19937_64 random{7};
        cached.write<std::uint64_t>(0, 0, 1);
        (void)cached.read<std::uint64_t>(0, 8);
        const std::uint64_t gets = cached.memory.gets;
        const std::uint64_t puts = cached.memory.puts;
        for (std::uint64_t i = 0; i < accesses; ++i) {
            const std::uint64_t at = (512 + random() % (part / 8 - 512)) * 8;
            if (reads) (void)cached.read<std::uint64_t>(0, at);
            else cached.write<std::uint64_t>(0, at, i);
            for (int k = 0; k < 4; ++k) {
                if (reads) cached.write<std::uint64_t>(0, 0, i);
                else (void)cached.read<std::uint64_t>(0, 8);
            }
        }
        INFO((reads ? "reads, " : "writes, ")
             << cached.memory.gets - gets << " gets, " << cached.memory.puts - puts << " puts");
        CHECK(cached.count(Counter::cache_passed) > accesses / 2);
        CHECK(cached.memory.gets - gets + cached.memory.puts - puts <= accesses + accesses / 5);
    };
    at_random(true);
    at_random(false);
}

TEST_CASE("a read that passes by, and what an atomic does, take as long beside many dirty pages as beside one") {
    constexpr std::uint64_t part = 64U << 20;
    // The shortest of many: whatever else the machine does disturbs some of them.
    const auto shortest = [](std::uint64_t dirty_pages, auto access) {
        Cached cached{{part}, {.bytes = 4U << 20}, 1, 0};
        std::mt19937_64 random{3};
        for (int i = 0; i < 5000; ++i) (void)cached.read<std::uint64_t>(0, part / 2 + random() % (part / 16) * 8);
        for (std::uint64_t page = 0; page < dirty_pages; ++page) cached.write<std::uint64_t>(0, page * 1024, page);
        REQUIRE(cached.dirty_pages.load() == dirty_pages);
        auto best = std::chrono::steady_clock::duration::max();
        for (int trial = 0; trial < 40; ++trial) {
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < 50; ++i) access(cached, part / 2 + random() % (part / 16) * 8);
            best = std::min(best, std::chrono::steady_clock::now() - start);
        }
        REQUIRE(cached.dirty_pages.load() == dirty_pages);
        return std::chrono::duration<double>{best}.count();
    };
    const auto read = [](Cached& cached, std::uint64_t at) { (void)cached.read<std::uint64_t>(0, at); };
    CHECK(shortest(900, read) < 3 * shortest(1, read));
    const auto atomic = [](Cached& cached, std::uint64_t at) {
        cached.cache->write_back(0, at, 8);
        cached.cache->invalidate(0, at, 8);
    };
    CHECK(shortest(900, atomic) < 3 * shortest(1, atomic));
}

TEST_CASE("a large get finds this thread's writes in few and in many dirty pages") {
    Cached cached{{1U << 20}, {.bytes = 1U << 18, .dirty_pages = 128}};
    number(cached.memory.part(0));
    const auto written = [](std::uint64_t value) { return value < 40960 && value % 640 == 7; };
    const auto get = [&](std::uint64_t first, std::uint64_t count) {
        std::vector<std::uint64_t> values(count);
        cached.cache->get(0, 8 * first, std::as_writable_bytes(std::span{values}));
        std::uint64_t wrong = 0;
        for (std::uint64_t k = 0; k < count; ++k)
            wrong += values[k] != (written(first + k) ? 1000000 + first + k : first + k) ? 1 : 0;
        return wrong;
    };
    // Every fifth page, of 64.
    for (std::uint64_t value = 7; value < 40960; value += 640) cached.write(0, 8 * value, 1000000 + value);
    REQUIRE(cached.dirty_pages.load() == 64);
    const std::uint64_t passed = cached.count(Counter::cache_passed);
    CHECK(get(100, 5000) == 0);     // fewer pages than are dirty
    CHECK(get(3, 60000) == 0);      // more
    CHECK(get(7, 131072 - 7) == 0); // to the end of the part
    REQUIRE(cached.dirty_pages.load() == 64);
    CHECK(cached.count(Counter::cache_passed) == passed + 3);
    // A large put first puts what it would else overwrite later.
    std::vector<std::uint64_t> zeros(5000);
    cached.cache->put(0, 8 * 100, std::as_bytes(std::span{zeros}));
    CHECK(cached.dirty_pages.load() == 64 - 7);
    cached.release();
    std::uint64_t wrong = 0;
    for (std::uint64_t k = 0; k < 131072; ++k) {
        std::uint64_t value = 0;
        std::memcpy(&value, cached.memory.part(0).data() + 8 * k, 8);
        const bool zero = k >= 100 && k < 5100;
        wrong += value != (zero ? 0 : written(k) ? 1000000 + k : k) ? 1 : 0;
    }
    CHECK(wrong == 0);
}

TEST_CASE("pages that are used again stay, whatever passes through") {
    const CachePolicy policy = CachePolicy::two_queues;
    Cached cached{{64U << 20}, {.read_ahead_bytes = 0, .policy = policy, .adapt = false}};
    // 200 pages that come again and again, between pages that come once.
    std::uint64_t once = 1U << 20;
    std::uint64_t misses = 0;
    for (int round = 0; round < 20; ++round) {
        misses = cached.count(Counter::cache_misses);
        for (std::uint64_t i = 0; i < 200; ++i) {
            (void)cached.read<std::uint64_t>(0, i * 1024);
            for (int k = 0; k < 3; ++k) (void)cached.read<std::uint64_t>(0, once += 5 * 1024);
        }
    }
    CHECK(cached.count(Counter::cache_misses) - misses == 600);
}

TEST_CASE("the victim cache keeps two pages of one place") {
    Cached cached{{64U << 20}, {.read_ahead_bytes = 0, .policy = CachePolicy::direct_mapped, .adapt = false}};
    const std::uint64_t places = 1024 - 8;
    for (int round = 0; round < 100; ++round) {
        (void)cached.read<std::uint64_t>(0, 0);
        (void)cached.read<std::uint64_t>(0, places * 1024);
    }
    CHECK(cached.count(Counter::cache_misses) == 2);
}

TEST_CASE("the victim cache has as many pages as were asked for, up to a quarter of all") {
    const auto misses = [](std::uint64_t victims, std::uint64_t pages_of_one_place) {
        Cached cached{{64U << 20},
                      {.bytes = 64U << 10,
                       .read_ahead_bytes = 0,
                       .policy = CachePolicy::direct_mapped,
                       .victim_pages = victims,
                       .adapt = false}};
        const std::uint64_t places = 64 - std::min<std::uint64_t>(victims, 16);
        for (int round = 0; round < 10; ++round)
            for (std::uint64_t k = 0; k < pages_of_one_place; ++k)
                (void)cached.read<std::uint64_t>(0, k * places * 1024);
        return cached.count(Counter::cache_misses);
    };
    CHECK(misses(0, 2) == 20);
    CHECK(misses(1, 2) == 2);
    CHECK(misses(8, 9) == 9);
    CHECK(misses(8, 10) == 100);
    CHECK(misses(12, 13) == 13);
    CHECK(misses(1000, 17) == 17);
    CHECK(misses(1000, 18) == 180);
}

TEST_CASE("only ranks that are cached have segments of a direct-mapped cache") {
    using lapwing::detail::cache::RemoteRanks;
    // 64 places for pages in turn: all of them for the one rank that is cached of two.
    const auto misses_of_rounds = [](const RemoteRanks& ranks, const std::vector<int>& read, std::uint64_t pages) {
        Cached cached{std::vector<std::uint64_t>(8, 1U << 20),
                      {.bytes = 64U << 10,
                       .read_ahead_bytes = 0,
                       .policy = CachePolicy::direct_mapped,
                       .victim_pages = 0,
                       .ranks = ranks,
                       .adapt = false}};
        for (int round = 0; round < 5; ++round)
            for (const int rank : read)
                for (std::uint64_t k = 0; k < pages; ++k) (void)cached.read<std::uint64_t>(rank, k * 1024);
        return cached.count(Counter::cache_misses);
    };
    CHECK(misses_of_rounds(RemoteRanks{2, {0}}, {1}, 64) == 64);
    CHECK(misses_of_rounds(RemoteRanks{2, {1}}, {0}, 64) == 64);
    // Two segments of 32 for two nodes of two ranks more.
    CHECK(misses_of_rounds(RemoteRanks{4, {0, 1}}, {2, 3}, 32) == 64);
    CHECK(misses_of_rounds(RemoteRanks{4, {1, 2}}, {0, 3}, 32) == 64);
    const RemoteRanks scattered{8, {1, 4, 5}};
    CHECK(scattered.count() == 5);
    std::vector<int> places;
    for (const int rank : {0, 2, 3, 6, 7}) places.push_back(scattered.place(rank));
    CHECK(places == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("what a cache takes is known before it is made") {
    SimulatedMemory memory{{64}, 1, 0};
    const std::atomic<std::uint64_t> epoch{0};
    std::atomic<std::uint32_t> dirty_pages{0};
    lapwing::detail::support::Statistics statistics;
    for (const CachePolicy policy : {CachePolicy::two_queues, CachePolicy::direct_mapped})
        for (const std::uint64_t page : {64U, 1024U, 65536U})
            for (const std::uint64_t pages : {4U, 100U, 3000U})
                for (const bool adapt : {false, true}) {
                    const PageCacheConfiguration configuration{
                        .bytes = page * pages, .page_bytes = page, .policy = policy, .adapt = adapt};
                    const std::uint64_t taken =
                        PageCache{configuration, memory, epoch, dirty_pages, statistics}.memory_bytes();
                    const std::uint64_t known = PageCache::memory_for(configuration);
                    INFO(pages << " pages of " << page << ", adapt " << adapt);
                    CHECK(taken <= known);
                    // Page tables take memory as they are filled.
                    const PageCacheLayout smallest{configuration, least_page_bytes(configuration)};
                    CHECK(known <= taken + taken / 3 + FilledPageTable::memory_for(smallest));
                    CHECK(PageCache::bytes_within(configuration, known) == configuration.bytes);
                    const std::uint64_t half = PageCache::bytes_within(configuration, known / 2);
                    CHECK(half < configuration.bytes);
                    PageCacheConfiguration smaller = configuration;
                    smaller.bytes = half;
                    if (half != 0) CHECK(PageCache::memory_for(smaller) <= known / 2);
                }
}

TEST_CASE("caches share a budget: all have what they want while there is enough, and else the same, but no more than "
          "they want") {
    using lapwing::detail::cache::Budget;
    Budget budget{1000};
    Budget::Share a{budget};
    CHECK(a.claim(600, 10) == 600);
    CHECK_FALSE(a.outdated());
    {
        Budget::Share b{budget};
        CHECK(b.claim(100, 10) == 100);
        CHECK_FALSE(a.outdated()); // enough for both
        Budget::Share c{budget};
        CHECK(c.claim(800, 10) == 150); // half of what is left
        CHECK(budget.used() == 850);
        CHECK(a.outdated());
        CHECK(a.claim(600, 10) == 450);
        CHECK(c.outdated());
        CHECK(c.claim(800, 10) == 300);
        CHECK(c.claim(800, 10) == 375);
        CHECK(b.claim(100, 10) == 100);
        Budget::Share d{budget};
        CHECK(d.claim(100, 50) == 0); // 37 are of no use to it
        CHECK_FALSE(d.outdated());
        CHECK(a.claim(600, 10) == 400);
        CHECK(d.outdated());
        CHECK(d.claim(100, 50) == 62);
        CHECK(budget.used() == 937);
        c.keep(300);
        CHECK(c.outdated());
        CHECK(budget.used() == 862);
    }
    CHECK(a.outdated());
    CHECK(a.claim(600, 10) == 600);
    CHECK(budget.used() == 600);
    CHECK(budget.warn_once());
    CHECK_FALSE(budget.warn_once());
}

TEST_CASE("pages grow for long vectors at random places") {
    const auto page_after = [](std::uint64_t vector_bytes, const PageCacheConfiguration& configuration) {
        Cached cached{{256U << 20}, configuration};
        std::mt19937_64 random{11};
        for (int round = 0; round < 400; ++round) {
            for (int i = 0; i < 100; ++i) {
                const std::uint64_t begin = random() % ((256U << 20) - vector_bytes) / 8 * 8;
                for (std::uint64_t at = 0; at < vector_bytes; at += 8) (void)cached.read<std::uint64_t>(0, begin + at);
            }
            cached.release();
            cached.acquire();
        }
        return cached.cache->page_bytes();
    };
    CHECK(page_after(4096, {}) > 1024);
    CHECK(page_after(4096, {.adapt = false}) == 1024);
    Cached changing{{256U << 20}, {}};
    CHECK(changing.cache->memory_bytes() < (3U << 20));
}

TEST_CASE("pages grow for streams") {
    const auto page_after = [](const PageCacheConfiguration& configuration) {
        Cached cached{{1U << 20}, configuration};
        number(cached.memory.part(0));
        for (int round = 0; round < 4; ++round) {
            for (std::uint64_t i = 0; i < 131072; ++i)
                if (cached.read<std::uint64_t>(0, 8 * i) != i) FAIL("element " << i);
            cached.release();
            cached.acquire();
        }
        return cached.cache->page_bytes();
    };
    CHECK(page_after({}) == 4096);
    CHECK(page_after({.adapt = false}) == 1024);
}

TEST_CASE("memory does not grow with the number of ranks") {
    SimulatedMemory memory{{64}, 1, 0};
    const std::atomic<std::uint64_t> epoch{0};
    std::atomic<std::uint32_t> dirty_pages{0};
    lapwing::detail::support::Statistics statistics;
    const auto bytes = [&](int ranks, CachePolicy policy) {
        return PageCache{
            {.policy = policy, .ranks = ranks, .largest_part = 1U << 30}, memory, epoch, dirty_pages, statistics}
            .memory_bytes();
    };
    CHECK(bytes(100000, CachePolicy::direct_mapped) == bytes(2, CachePolicy::direct_mapped));
    CHECK(bytes(100000, CachePolicy::two_queues) == bytes(2, CachePolicy::two_queues));
    CHECK(bytes(2, CachePolicy::two_queues) < (3U << 20)); // as in the paper
}
