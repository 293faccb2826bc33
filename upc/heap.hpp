#pragma once

#include "upc/heap_layout.hpp"
#include "upc/heap_metadata.hpp"
#include "upc/queue_lock.hpp"

#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::upc {

/// Where the heaps are in each thread's part.
struct HeapRegions {
    Region blocks{};         ///< for blocks of all threads
    Region small{};          ///< for small ones of these, a share for each group of threads
    Region local{};          ///< for what a thread allocates alone
    int group = 1;           ///< threads per share
    std::uint64_t share = 0; ///< bytes per share; 0: there are none

    [[nodiscard]] bool holds_group(int thread) const noexcept { return share != 0 && thread % group == 0; }
};

/// A heap, and the thread that keeps its metadata in its part: thread 0 for blocks of all threads, the first thread of
/// a group for its share of the small ones, and each thread for what it allocates alone.
struct HeapPlace {
    enum class Kind : std::uint32_t { blocks, small, local };
    Kind kind{};
    int keeper = 0;

    friend auto operator<=>(const HeapPlace&, const HeapPlace&) = default;
};

/// All heaps of a program, each with its HeapMetadata. Any thread allocates and frees, in one of three ways:
/// - Threads on the keeper's node use the metadata in place, as memory, one at a time.
/// - Others ask the keeper's engine: one message and its reply. It replies when the keeper makes progress, by its
///   progress thread; in progress mode `caller` when it calls the library.
/// - On the path rma in that mode, where such a message would wait for the keeper although puts and gets do not, others
///   access the metadata by puts and gets, under a lock: five round trips to allocate and at most seven to free. The
///   lock is an acquire, which invalidates what is cached.
/// The first two do not synchronise: what is cached remains valid.
class Heaps {
public:
    /// On all threads, before a barrier after which they may allocate. The part's header is zero.
    Heaps(Window& window, QueueLocks& locks, const HeapRegions& regions);
    Heaps(const Heaps&) = delete;
    Heaps& operator=(const Heaps&) = delete;
    ~Heaps();
    /// After a barrier, when no thread allocates any more.
    void withdraw();

    [[nodiscard]] const HeapRegions& regions() const noexcept { return regions_; }
    [[nodiscard]] Region region(const HeapPlace& place) const noexcept;

    // `call` is the name in messages. Throw UsageError if the metadata have been overwritten, PeerLeftError.

    /// `bytes` must be positive.
    [[nodiscard]] Allocated allocate(const char* call, const HeapPlace& place, std::uint64_t bytes);
    [[nodiscard]] Freed free(const char* call, const HeapPlace& place, std::uint64_t address);
    /// The memory of the allocated block whose memory begins at an address; empty if there is none.
    [[nodiscard]] Region object(const char* call, const HeapPlace& place, std::uint64_t begin);
    /// The memory of the allocated block that contains an address, its end included; empty if there is none. Cost:
    /// visits all blocks before it, one message per thousand.
    [[nodiscard]] Region find(const char* call, const HeapPlace& place, std::uint64_t address);

private:
    enum class Way : std::uint8_t { memory, questions, one_sided };
    enum class What : std::uint32_t { allocate, free, object, find };
    /// An operation on a heap's metadata, here or at their keeper.
    struct Question {
        What what{};
        HeapPlace::Kind kind{};
        std::uint64_t value = 0; ///< bytes, or an address
        std::uint64_t from = 0;  ///< for find
    };
    struct Answer {
        std::uint64_t overwritten_at = 0; ///< 0: the metadata are intact
        Allocated allocated{};
        std::uint64_t freed = 0; ///< a Freed
        FoundBlock found{};
    };

    [[nodiscard]] Way way(const HeapPlace& place) const;
    [[nodiscard]] Answer perform(const char* call, const HeapPlace& place, const Question& question);
    template <MetadataMemory Memory>
    [[nodiscard]] Answer perform_in(Memory&& memory, const HeapPlace& place, const Question& question) const;
    [[nodiscard]] Answer ask(const char* call, int keeper, const Question& question);
    /// Runs in the keeper's engine. False: a thread of the node holds the lock of the metadata at the moment.
    [[nodiscard]] bool on_question(std::span<const std::byte> bytes, std::span<std::byte> answer) const;
    [[nodiscard]] static std::uint64_t root_of(HeapPlace::Kind kind) noexcept;

    Window& window_;
    QueueLocks& locks_;
    HeapRegions regions_;
    int own_thread_;
    bool asks_; ///< whether threads of other nodes ask the keeper
    bool registered_ = false;
};

} // namespace lapwing::upc
