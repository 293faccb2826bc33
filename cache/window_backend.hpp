#pragma once

#include "cache/backend.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/transport/pending_transfer.hpp"
#include "window/window_state.hpp"

#include <lapwing/rank.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lapwing::detail::cache {

/// A window's transports, below its cache.
class WindowBackend final : public Backend {
public:
    explicit WindowBackend(window::WindowState& window) : window_{window} {}

    Token start_get(Rank rank, Offset offset, std::span<std::byte> destination) override;
    Token start_get_runs(Rank rank, std::span<const WantedRun> runs) override;
    Token start_put(Rank rank, Offset offset, std::span<const std::byte> source) override;
    bool test(Token token) override {
        try {
            if (!transfers_[token - 1]->test()) return false;
        } catch (...) {
            drop(token);
            throw;
        }
        drop(token);
        return true;
    }
    void wait(Token token) override {
        if (token == complete) return;
        const std::unique_ptr<transport::PendingTransfer> transfer = drop(token); // not waited for again if it throws
        transfer->wait();
    }
    void get(Rank rank, Offset offset, std::span<std::byte> destination) override;
    void put(Rank rank, Offset offset, std::span<const std::byte> source) override;
    void put_runs(Rank rank, std::span<const DirtyRun> runs) override;
    std::uint64_t part_bytes(Rank rank) const override { return window_.map().bytes(rank); }
    bool has_left(Rank rank) override {
        team::Membership& membership = window_.team_state().membership();
        return membership.broken() && membership.has_left(rank);
    }
    void note_lost(Rank rank, std::uint64_t bytes) override { window_.order().lost_writes().note(rank, bytes); }

    /// Where the bytes of a get of many runs arrive, packed.
    struct Stage {
        support::AlignedMemory memory; ///< allocated when it is used first
        std::vector<WantedRun> runs;   ///< in the order of the bytes
        bool in_use = false;
    };

private:
    /// Copies beside the cache are not notified: they were when the program wrote what is put.
    [[nodiscard]] transport::BegunAccess begin(const transport::Access& access) {
        return window_.order().begin_for_cache(access);
    }
    [[nodiscard]] transport::BegunAccess begin_place(Rank rank, const transport::Place& place, bool continues);
    /// Completes what conflicts with the places of the runs.
    void begin_places(Rank rank, std::span<const DirtyRun> runs);
    Token keep(std::unique_ptr<transport::PendingTransfer> transfer) {
        if (transfer == nullptr) return complete;
        if (free_.empty()) {
            free_.reserve(transfers_.size() + 1); // so that freeing one cannot fail
            transfers_.emplace_back();
            free_.push_back(static_cast<Token>(transfers_.size()));
        }
        const Token token = free_.back();
        free_.pop_back();
        transfers_[token - 1] = std::move(transfer);
        return token;
    }
    std::unique_ptr<transport::PendingTransfer> drop(Token token) {
        free_.push_back(token);
        return std::move(transfers_[token - 1]);
    }

    /// Null if all are in use, or the path has no messages for it.
    [[nodiscard]] Stage* free_stage();

    window::WindowState& window_;
    /// More gets of many runs at a time are gets of one run each.
    std::array<Stage, 4> stages_;                                        // transfers use them
    std::vector<std::unique_ptr<transport::PendingTransfer>> transfers_; ///< of token t at t - 1
    std::vector<Token> free_;
};

} // namespace lapwing::detail::cache
