#pragma once

#include "src/trace/recorder.hpp"
#include "src/trace/tool_events.hpp"

#include <lapwing/statistics.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace lapwing::detail::trace {

/// What a record is of.
struct RecordKey {
    std::uint64_t site = 0;
    ObjectNumber object = 0;
    std::uint32_t interval = 0;
    Way way = Way::element;
    Operation operation = Operation::read;
    Affinity affinity = Affinity::own;
    friend bool operator==(const RecordKey&, const RecordKey&) = default;
};

/// What one thread has recorded.
class ThreadRecords {
public:
    explicit ThreadRecords(std::size_t number) noexcept : number_{number} {}

    void note(const Access& access, std::uint32_t interval);
    [[nodiscard]] bool begin_call(Way way, const void* site);
    void end_call() noexcept;
    /// Of the call that has ended, or of what was noted last outside of one.
    void add_time(std::chrono::steady_clock::time_point begin) noexcept;
    /// The time since then is not the call's.
    void leave_out(std::chrono::steady_clock::time_point begin) noexcept {
        if (in_call_) begin_ += std::chrono::steady_clock::now() - begin;
    }
    void sequence_point(const CallSite& site) noexcept;
    /// Tells tools that the last call has returned, if they are to know and it has begun anything.
    void finish_call() noexcept;
    void finish_outside_call() noexcept {
        if (!in_call_) finish_call();
    }

    [[nodiscard]] const std::vector<Record>& records() const noexcept { return records_; }
    [[nodiscard]] const std::map<std::uint64_t, CallSite>& sites() const noexcept { return sites_; }
    /// Accesses of call sites that had no room.
    [[nodiscard]] std::uint64_t without_room() const noexcept { return without_room_; }

private:
    [[nodiscard]] Record& record_of(const Access& access, std::uint32_t interval);
    [[nodiscard]] std::uint64_t site_of_call();
    void tell(const Access& access, const Record& record);
    void add_part(std::size_t record, std::uint64_t bytes) noexcept;

    /// What a call has accessed of one record.
    struct Part {
        std::size_t record = 0;
        std::uint64_t bytes = 0;
    };
    static constexpr std::size_t most_parts = 8;
    static constexpr std::size_t no_record = SIZE_MAX;

    std::vector<Record> records_;
    std::vector<std::uint32_t> table_; ///< by hash: the number of a record plus one
    std::map<std::uint64_t, CallSite> sites_;
    std::uint64_t without_room_ = 0;
    // The last access's: the next one is often of the same.
    RecordKey last_key_ = {};
    std::size_t last_record_ = no_record;
    const void* last_address_ = nullptr;
    std::uint64_t last_site_ = 0; ///< of last_address_
    ReuseSample reuse_;
    // The call that is going on.
    bool in_call_ = false;
    Way way_ = Way::window;
    const void* address_ = nullptr; ///< null: not known yet, or site_ says it
    std::uint64_t site_ = 0;
    std::array<Part, most_parts> parts_{}; ///< the last one takes what has no room
    std::size_t part_count_ = 0;
    bool timed_ = false;
    std::chrono::steady_clock::time_point begin_;
    std::uint64_t random_ = 0x2545f4914f6cdd1d;
    // What has been reported to tools.
    std::size_t number_;
    bool told_ = false;
    ToolEvent event_;
};

/// What the process has recorded.
struct Recorded {
    std::vector<std::unique_ptr<ThreadRecords>> threads = {};
    /// By support::thread_number(): one that has ended leaves its records to the next thread with its number.
    std::array<ThreadRecords*, support::numbered_threads> by_number = {};
    std::deque<Object> objects = {}; ///< which stay where they are
    /// Those of the same kind, name and place.
    struct Alike {
        std::size_t count = 0;
        ObjectNumber last = 0;
    };
    std::map<std::tuple<std::string, std::string, std::uint64_t, bool>, Alike> alike = {};
    Losses lost = {}; ///< without those that the threads count
    /// Ranges that are objects of their own, the latest last.
    struct Range {
        ObjectNumber of = 0;
        ObjectNumber object = 0;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    std::vector<Range> ranges = {};
    std::vector<Interval> intervals = {};
    std::chrono::steady_clock::time_point begin = {};
    std::chrono::steady_clock::time_point end = {};
};

/// After stop(), until the next start().
[[nodiscard]] const Recorded& stopped_recording();
[[nodiscard]] std::string to_text(const Recorded& recorded, int rank);

} // namespace lapwing::detail::trace
