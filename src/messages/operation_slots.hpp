#pragma once

#include "src/messages/operation.hpp"
#include "src/messages/peer.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::messages {

/// This rank's operations that wait for an answer or bulk data: a fixed number of slots, whose names are in requests
/// and replies.
class OperationSlots {
public:
    struct Slot {
        Operation* operation = nullptr; ///< null: nobody waits for it
        Peer* peer = nullptr;
        std::uint32_t generation = 0;
        std::uint32_t pieces = 0; ///< MPI requests under way
        std::uint32_t tag = 0;    ///< number of its bulk data's tag: another one after each transfer that was abandoned
        std::uint64_t bulk_number = 0; ///< of a bulk transfer, among those to its peer; 0: it is none
        std::uint64_t bytes = 0;       ///< of a bulk transfer, or of the answer that it awaits
        std::uint64_t arrived = 0;     ///< of the bytes of a bulk get
        bool awaits_reply = false;
        bool in_use = false;

        [[nodiscard]] bool bulk() const noexcept { return bulk_number != 0; }
    };
    /// What requests call a slot.
    struct Name {
        std::uint32_t index = 0;
        std::uint32_t tag = 0;
        std::uint64_t token = 0;
    };

    /// `last_tag_number`: of those that MPI's tags can express.
    OperationSlots(std::uint64_t count, std::uint32_t last_tag_number);

    [[nodiscard]] bool full() const noexcept { return free_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
    /// Bulk transfers under way.
    [[nodiscard]] std::size_t bulk() const noexcept { return bulk_; }
    [[nodiscard]] Slot& operator[](std::uint32_t index) { return slots_[index]; }
    /// Null where the operation of that name is over.
    [[nodiscard]] Slot* named(std::uint64_t token);
    [[nodiscard]] std::uint64_t name_of(const Slot& slot) const noexcept {
        return static_cast<std::uint64_t>(slot.generation) << 32 | index_of(slot);
    }
    /// Whether there was an operation of that name, or is one.
    [[nodiscard]] bool was_given(std::uint64_t token) const noexcept;
    /// Null where it is over.
    [[nodiscard]] Slot* of(const Operation& operation);
    [[nodiscard]] std::uint32_t index_of(const Slot& slot) const noexcept {
        return static_cast<std::uint32_t>(&slot - slots_.data());
    }

    /// The name of the next free slot, which take() fills.
    [[nodiscard]] Name next() const;
    Slot& take(Operation& operation, Peer& peer);
    /// Makes it a bulk transfer, whose pieces are messages of their own.
    void make_bulk(Slot& slot, std::uint64_t bytes);

    /// The reply that it awaits is here.
    void replied(Slot& slot);
    /// Its target does not carry it out: a wait for it throws. Nothing is received for it any more.
    void drop(Slot& slot);
    /// A piece of its bulk data has moved.
    void moved(Slot& slot);
    /// Its owner no longer waits, and answers that still come are discarded.
    void forget(Slot& slot);

    /// Ends the process where an invariant does not hold; for builds with internal assertions.
    void validate() const;

private:
    void finish_part(Slot& slot);
    void release_if_complete(Slot& slot);

    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    std::size_t bulk_ = 0;
    std::uint32_t last_tag_number_;
};

} // namespace lapwing::detail::messages
