// Remote memory for tests of the cache, without MPI: operations are carried out late, and in any order that the rules
// allow; any of them may fail.
#pragma once

#include "cache/backend.hpp"

#include <lapwing/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

namespace test {

/// What calls throw that SimulatedMemory lets fail.
struct Unreachable : std::runtime_error {
    Unreachable() : std::runtime_error{"unreachable"} {}
};

class SimulatedMemory final : public lapwing::detail::cache::Backend {
public:
    /// `laziness` in [0, 100]: how often an operation stays when it could be carried out.
    SimulatedMemory(std::vector<std::uint64_t> part_bytes, std::uint64_t seed, unsigned laziness)
        : random_{seed}, laziness_{laziness} {
        for (const std::uint64_t bytes : part_bytes) parts_.emplace_back(bytes);
    }
    ~SimulatedMemory() override = default;

    [[nodiscard]] std::vector<std::byte>& part(int rank) { return parts_[static_cast<std::size_t>(rank)]; }
    /// Carries out everything, as a flush does.
    void complete_all() {
        while (!operations_.empty()) carry_out(random_() % operations_.size());
    }
    [[nodiscard]] std::size_t under_way() const { return operations_.size(); }

    std::uint64_t gets = 0; ///< messages: a call of start_get_runs is one
    std::uint64_t get_bytes = 0;
    std::uint64_t puts = 0; ///< messages: a call of put_runs is one
    std::uint64_t waits = 0;
    int unreachable = -1;  ///< a rank that runs cannot be put to
    unsigned failures = 0; ///< of 1000 calls so many throw Unreachable, and start nothing, or half of several runs;
                           ///< waits for puts never do
    int calls_until_failure = -1; ///< the call after so many throws, once; -1: none
    int left = -1; ///< a rank that has left: what is under way to it may end in time, and all else throws PeerLeftError
    std::uint64_t lost = 0; ///< bytes noted

    Token start_get(lapwing::Rank rank, lapwing::Offset offset, std::span<std::byte> destination) override {
        check_left(rank);
        may_fail();
        ++gets;
        get_bytes += destination.size();
        return start({.rank = rank.value, .offset = offset.bytes, .destination = destination});
    }
    Token start_get_runs(lapwing::Rank rank, std::span<const lapwing::detail::cache::WantedRun> runs) override {
        check_left(rank);
        may_fail();
        ++gets;
        std::uint64_t bytes = 0;
        for (const lapwing::detail::cache::WantedRun& run : runs) bytes += run.bytes;
        if (runs.size() < 2 || bytes > most_bytes_of_runs) throw std::logic_error{"not a get of many small runs"};
        get_bytes += bytes;
        const Token token = ++last_token_;
        for (const lapwing::detail::cache::WantedRun& run : runs)
            start({.token = token,
                   .rank = rank.value,
                   .offset = run.offset.bytes,
                   .destination = {run.destination, run.bytes}});
        return token;
    }
    Token start_put(lapwing::Rank rank, lapwing::Offset offset, std::span<const std::byte> source) override {
        check_left(rank);
        may_fail();
        ++puts;
        return start(
            {.rank = rank.value, .offset = offset.bytes, .source = source, .snapshot = {source.begin(), source.end()}});
    }
    bool test(Token token) override {
        end_by_failure(token);
        some_progress();
        return std::ranges::none_of(operations_, [&](const Operation& operation) { return operation.token == token; });
    }
    void wait(Token token) override {
        ++waits;
        end_by_failure(token);
        for (std::size_t i = operations_.size(); i-- > 0;)
            if (operations_[i].token == token) carry_out(i);
        some_progress();
    }
    void get(lapwing::Rank rank, lapwing::Offset offset, std::span<std::byte> destination) override {
        wait(start_get(rank, offset, destination));
    }
    void put(lapwing::Rank rank, lapwing::Offset offset, std::span<const std::byte> source) override {
        check_left(rank);
        may_fail();
        ++puts;
        (void)start(
            {.rank = rank.value, .offset = offset.bytes, .snapshot = {source.begin(), source.end()}, .copied = true});
    }
    void put_runs(lapwing::Rank rank, std::span<const lapwing::detail::cache::DirtyRun> runs) override {
        check_left(rank);
        if (rank == unreachable) throw Unreachable{};
        may_fail();
        ++puts;
        for (std::size_t k = 0; k < runs.size(); ++k) {
            if (k == (runs.size() + 1) / 2) may_fail(); // in a second message
            const lapwing::detail::cache::DirtyRun& run = runs[k];
            (void)start({.rank = rank.value,
                         .offset = run.offset.bytes,
                         .snapshot = {run.source, run.source + run.bytes},
                         .copied = true});
        }
    }
    std::uint64_t part_bytes(lapwing::Rank rank) const override {
        return parts_[static_cast<std::size_t>(rank.value)].size();
    }
    bool has_left(lapwing::Rank rank) override { return rank == left; }
    void note_lost(lapwing::Rank rank, std::uint64_t bytes) override {
        if (rank != left) throw std::logic_error{"bytes of a rank that has not left are lost"};
        lost += bytes;
    }

private:
    struct Operation {
        Token token = 0;
        int rank = 0;
        std::uint64_t offset = 0;
        std::span<std::byte> destination = {}; ///< of a get
        std::span<const std::byte> source = {};
        std::vector<std::byte> snapshot = {}; ///< of a put's source
        bool copied = false;
        [[nodiscard]] std::uint64_t bytes() const { return destination.empty() ? snapshot.size() : destination.size(); }
    };

    void check_left(lapwing::Rank rank) const {
        if (rank == left) throw lapwing::PeerLeftError{"it has left"};
    }
    /// A get may fail, and all that is under way to a rank that has left does.
    void end_by_failure(Token token) {
        const auto at = std::ranges::find(operations_, token, &Operation::token);
        if (at == operations_.end()) return;
        const bool gone = at->rank == left;
        if (!gone && (at->destination.empty() || !fails())) return;
        std::erase_if(operations_, [token](const Operation& operation) {
            if (operation.token != token) return false;
            std::ranges::fill(operation.destination, std::byte{0xDD}); // what a get that failed leaves: nothing to read
            return true;
        });
        if (gone) throw lapwing::PeerLeftError{"it has left"};
        throw Unreachable{};
    }
    [[nodiscard]] bool fails() {
        if (calls_until_failure >= 0 && calls_until_failure-- == 0) return true;
        return failures != 0 && random_() % 1000 < failures;
    }
    void may_fail() {
        if (fails()) throw Unreachable{};
    }

    Token start(Operation operation) {
        const std::uint64_t size = parts_[static_cast<std::size_t>(operation.rank)].size();
        if (operation.bytes() == 0 || operation.bytes() > size || operation.offset > size - operation.bytes())
            throw std::logic_error{"the operation leaves the part"};
        // Operations on common bytes keep their order.
        for (std::size_t i = 0; i < operations_.size();) {
            const Operation& other = operations_[i];
            const bool overlap = other.rank == operation.rank && other.offset < operation.offset + operation.bytes() &&
                                 operation.offset < other.offset + other.bytes();
            if (overlap) carry_out(i);
            else ++i;
        }
        if (operation.token == complete) operation.token = ++last_token_;
        const Token token = operation.token;
        operations_.push_back(std::move(operation));
        some_progress();
        return token;
    }
    void some_progress() {
        while (!operations_.empty() && random_() % 100 >= laziness_) carry_out(random_() % operations_.size());
    }
    void carry_out(std::size_t index) {
        const Operation operation = std::move(operations_[index]);
        operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(index));
        std::byte* const place = part(operation.rank).data() + operation.offset;
        if (!operation.destination.empty()) {
            std::memcpy(operation.destination.data(), place, operation.destination.size());
            return;
        }
        if (!operation.copied && !std::ranges::equal(operation.source, operation.snapshot))
            throw std::logic_error{"the source of a put under way was written"};
        std::memcpy(place, operation.snapshot.data(), operation.snapshot.size());
    }

    std::mt19937_64 random_;
    unsigned laziness_;
    std::vector<std::vector<std::byte>> parts_;
    std::vector<Operation> operations_;
    Token last_token_ = 0;
};

} // namespace test
