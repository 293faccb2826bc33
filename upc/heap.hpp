#pragma once

#include "upc/heap_books.hpp"
#include "upc/layout.hpp"
#include "upc/queue_lock.hpp"

#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::upc {

/// Where each thread's part has the heaps.
struct HeapRegions {
    Region blocks{};         ///< of all threads
    Region small{};          ///< small ones of these, a share for each group of threads
    Region local{};          ///< what a thread allocates alone
    int group = 1;           ///< threads to a share
    std::uint64_t share = 0; ///< bytes of one; 0: there are none

    [[nodiscard]] bool holds_group(int thread) const noexcept { return share != 0 && thread % group == 0; }
};

/// A heap, and the thread that keeps its books in its part: of all blocks thread 0, of a share of the small ones the
/// first thread of its group, and each of what it allocates alone.
struct HeapPlace {
    enum class Kind : std::uint32_t { blocks, small, local };
    Kind kind{};
    int keeper = 0;

    friend auto operator<=>(const HeapPlace&, const HeapPlace&) = default;
};

/// All heaps of a program, each with its HeapBooks. Any thread allocates and frees, in one of three ways:
/// - Threads of the keeper's node use the books where they are, as memory, one after the other.
/// - Others ask the keeper's engine: one message and its answer. It answers when the keeper makes progress, by its
///   progress thread; in progress mode `caller` when it calls the library.
/// - On the path rma in that mode, where such a message would wait for the keeper although puts and gets do not, others
///   use the books by puts and gets, under a lock: five round trips to allocate and at most seven to free. The lock is
///   an acquire, which forgets what is cached.
/// The first two are no synchronisation: what is cached stays.
class Heaps {
public:
    /// On all threads before a barrier behind which they may allocate. The part's header is zero.
    Heaps(Window& window, QueueLocks& locks, const HeapRegions& regions);
    Heaps(const Heaps&) = delete;
    Heaps& operator=(const Heaps&) = delete;
    ~Heaps();
    /// Behind a barrier, when nobody allocates any more.
    void withdraw();

    [[nodiscard]] const HeapRegions& regions() const noexcept { return regions_; }
    [[nodiscard]] Region region(const HeapPlace& place) const noexcept;

    // `call` is the name in messages. Throw UsageError where the books have been written over, PeerLeftError.

    /// `bytes` is above 0.
    [[nodiscard]] Allocated allocate(const char* call, const HeapPlace& place, std::uint64_t bytes);
    [[nodiscard]] Freed free(const char* call, const HeapPlace& place, std::uint64_t address);
    /// The memory of the allocated block whose memory begins at an address; empty where there is none.
    [[nodiscard]] Region object(const char* call, const HeapPlace& place, std::uint64_t begin);
    /// The memory of the allocated block that an address is in, its end included; empty where there is none. Cost:
    /// goes through all blocks before it, a message for each thousand.
    [[nodiscard]] Region find(const char* call, const HeapPlace& place, std::uint64_t address);

private:
    enum class Way : std::uint8_t { memory, questions, one_sided };
    enum class What : std::uint32_t { allocate, free, object, find };
    /// What is done with the books of a heap, here or at their keeper.
    struct Question {
        What what{};
        HeapPlace::Kind kind{};
        std::uint64_t value = 0; ///< bytes, or an address
        std::uint64_t from = 0;  ///< of find
    };
    struct Answer {
        std::uint64_t overwritten_at = 0; ///< 0: the books are well
        Allocated allocated{};
        std::uint64_t freed = 0; ///< a Freed
        FoundBlock found{};
    };

    [[nodiscard]] Way way(const HeapPlace& place) const;
    [[nodiscard]] Answer perform(const char* call, const HeapPlace& place, const Question& question);
    template <BooksMemory Memory>
    [[nodiscard]] Answer perform_in(Memory&& memory, const HeapPlace& place, const Question& question) const;
    [[nodiscard]] Answer ask(const char* call, int keeper, const Question& question);
    /// What the keeper's engine runs. False: a thread of the node has the books at the moment.
    [[nodiscard]] bool on_question(std::span<const std::byte> bytes, std::span<std::byte> answer) const;
    [[nodiscard]] static std::uint64_t root_of(HeapPlace::Kind kind) noexcept;

    Window& window_;
    QueueLocks& locks_;
    HeapRegions regions_;
    int own_thread_;
    bool asks_; ///< whether other nodes' threads ask the keeper
    bool registered_ = false;
};

} // namespace lapwing::upc
