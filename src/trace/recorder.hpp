#pragma once

#include "src/trace/call_sites.hpp"
#include "src/trace/reuse.hpp"

#include <lapwing/detail/trace.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::trace {

enum class Operation : std::uint8_t { read, write, atomic, update, notify };
/// Whose memory it was: this rank's, another one's of its node, or that of a rank on another node.
enum class Affinity : std::uint8_t { own, node, far };

inline constexpr std::array<std::string_view, 7> way_words{"element", "window",   "patch", "list",
                                                           "slice",   "prefetch", "upc"};
inline constexpr std::array<std::string_view, 5> operation_words{"read", "write", "atomic", "update", "notify"};
inline constexpr std::array<std::string_view, 3> affinity_words{"own", "node", "far"};
/// Whether an object is of the runtime that is recorded.
inline constexpr std::array<std::string_view, 2> team_words{"runtime", "other"};

/// The first line of a trace: that it is one, and the number of its format.
inline constexpr std::string_view trace_word = "lapwing trace ";
inline constexpr std::string_view first_line_of_trace = "lapwing trace 4\n";

/// Numbers windows that are traced; 0: none.
using ObjectNumber = std::uint32_t;

/// What is noted of one access, or of one transfer that moves many elements.
struct Access {
    ObjectNumber object = 0;
    Operation operation = Operation::read;
    Affinity affinity = Affinity::own;
    int owner = 0;
    std::uint64_t offset = 0;   ///< in the owner's part
    std::uint64_t bytes = 0;    ///< that move
    std::uint64_t accesses = 1; ///< elements of them
    /// What no CallScope says.
    Way way = Way::window;
};

/// All accesses of one call site to one object, by way, operation and affinity, between two sequence points of the same
/// places in the program.
struct Record {
    // What it is of.
    std::uint64_t site = 0; ///< CallSite::key(); 0: sites that had no room
    ObjectNumber object = 0;
    std::uint32_t interval = 0;
    Way way = Way::element;
    Operation operation = Operation::read;
    Affinity affinity = Affinity::own;

    std::uint64_t calls = 0; ///< transfers: a call of the program may make many, to many places
    std::uint64_t accesses = 0;
    std::uint64_t bytes = 0;
    std::uint64_t program_calls = 0; ///< that made them
    std::uint64_t timed_calls = 0;   ///< a sample of those
    std::uint64_t timed_ns = 0;      ///< with this record's share of their time, by bytes
    std::uint64_t runs = 0;          ///< of calls that each begin where the one before ended
    std::uint64_t longest_run_bytes = 0;
    std::uint64_t lowest = UINT64_MAX; ///< offset in any part
    std::uint64_t highest = 0;         ///< end
    std::uint64_t owner_changes = 0;
    /// Distances between a call and the one before it, to the same owner: those that were most frequent.
    struct Count {
        std::int64_t value = 0;
        std::uint64_t count = 0;
    };
    static constexpr std::size_t most_counts = 8;
    std::array<Count, most_counts> strides{};
    /// Accesses to the parts of the ranks with most, and between which offsets.
    struct OwnerCount {
        std::int64_t value = 0; ///< the rank
        std::uint64_t count = 0;
        std::uint64_t lowest = UINT64_MAX;
        std::uint64_t highest = 0; ///< end
    };
    std::array<OwnerCount, most_counts> owners{};
    std::uint64_t other_strides = 0;
    std::uint64_t other_owners = 0; ///< accesses to others than those, or not known to which
    /// How many owners there are, whether they have room above or not: by their numbers modulo the bits.
    struct OwnersSeen {
        static constexpr std::size_t bits = 512;
        std::array<std::uint64_t, bits / 64> words{};
        std::uint64_t distinct = 0; ///< bits that are set, once it has ended; 0: not known
    };
    OwnersSeen seen = {};
    ReuseCounts within = {}; ///< caches that sequence points empty
    ReuseCounts over = {};   ///< those that keep what they have

    /// The last call.
    struct Last {
        int owner = -1;
        std::uint64_t offset = 0;
        std::uint64_t end = 0;
        std::uint64_t run_bytes = 0;
    };
    Last last = {};

    /// The time of all its program calls, as the timed ones took; some must be.
    [[nodiscard]] double seconds() const noexcept {
        return 1e-9 * static_cast<double>(timed_ns) * static_cast<double>(program_calls) /
               static_cast<double>(timed_calls);
    }
};

/// A place where intervals between sequence points begin, in the order of their first.
struct Interval {
    CallSite site = {};    ///< of the sequence point; none: the start of the recording
    std::uint64_t key = 0; ///< the site's
    std::uint64_t times = 0;
    std::uint64_t barriers = 0; ///< ended so many of them
    std::uint64_t ns = 0;
};

/// An object that is accessed.
struct Object {
    std::string kind = {}; ///< a word: window, upc, cached, or several: all that have no room
    std::string name = {}; ///< empty: none
    std::uint64_t number = 0;
    std::uint64_t bytes = 0; ///< of this rank's part
    CallSite made = {};      ///< where the program makes it
    bool other_team = false; ///< not of the runtime that is recorded: its ranks have other numbers
};

/// Most records of a thread. Accesses of further call sites are counted together. With their sites and the sample of
/// pages a thread's records take at most 5 MiB.
inline constexpr std::size_t most_records = 4096;
/// Most objects of a process; those beyond are one. Of those with the same name that are made at the same place of the
/// program, so many have records of their own, and the last one has those of all that follow.
inline constexpr std::size_t most_objects = 4096;
inline constexpr std::size_t most_alike = 64;

/// What a recording had no room for, in this process.
struct Losses {
    std::int64_t accesses = 0; ///< of call sites beyond most_records, which are counted together
    std::int64_t objects = 0;  ///< beyond most_objects, which are counted together
    std::int64_t ranges = 0;   ///< which are counted as the object that they are in
    std::int64_t threads = 0;  ///< accesses of threads beyond numbered_threads at a time, which are not recorded
};
/// After stop(), until the next start().
[[nodiscard]] Losses losses();

/// Most ranges that are objects of their own, at a time.
inline constexpr std::size_t most_ranges = 1024;

/// Starts recording, for the whole process. Returns whether nobody had.
[[nodiscard]] bool start();
/// Ends it: what was recorded stays until it is taken.
void stop();
/// As text, for this rank: see docs/advice.md. Forgets it.
[[nodiscard]] std::string take_text(int rank);

[[nodiscard]] ObjectNumber add_object(std::string_view kind, std::string_view name, std::uint64_t number,
                                      std::uint64_t bytes, bool other_team = false);
/// A range of offsets in an object's parts that is an object of its own, the same on all ranks. One that has been freed
/// gives way to those that are added later.
void add_range(ObjectNumber of, std::string_view kind, std::uint64_t begin, std::uint64_t end);
/// Called while something is recorded, by any thread; what goes wrong (no memory) is as if it were not called.
void note(const Access& access) noexcept;
/// Adds the time of a scope to what the calling thread noted last, if it is in no CallScope, which takes the time
/// itself.
class TimeOfLast {
public:
    TimeOfLast() noexcept : begin_{on() ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{}} {}
    ~TimeOfLast() {
        if (begin_ != std::chrono::steady_clock::time_point{}) [[unlikely]]
            end();
    }
    TimeOfLast(const TimeOfLast&) = delete;
    TimeOfLast& operator=(const TimeOfLast&) = delete;

private:
    void end() const noexcept;
    std::chrono::steady_clock::time_point begin_;
};

/// What a scope does is the recording's own work: the call around it takes no longer.
class NotTimed {
public:
    NotTimed() noexcept = default;
    ~NotTimed();
    NotTimed(const NotTimed&) = delete;
    NotTimed& operator=(const NotTimed&) = delete;

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The calling thread has come to a point that its accesses do not pass: the next interval begins.
void sequence_point() noexcept;
/// The calling thread's sequence points in its scope are barriers of the program.
class AtBarrier {
public:
    explicit AtBarrier(bool barrier) noexcept;
    ~AtBarrier();
    AtBarrier(const AtBarrier&) = delete;
    AtBarrier& operator=(const AtBarrier&) = delete;
};

} // namespace lapwing::detail::trace
