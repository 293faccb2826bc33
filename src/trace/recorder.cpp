#include "src/trace/recorder.hpp"

#include "src/support/mutex.hpp"
#include "src/trace/interval_times.hpp"
#include "src/trace/recorded.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

namespace lapwing::detail::trace {
namespace {

support::Mutex mutex{support::LockRank::innermost};
/// Never destroyed: threads may note accesses while the process ends.
Recorded& recorded() {
    static auto& all = *new Recorded;
    return all;
}
std::atomic<std::uint32_t> current_interval{0};
/// Whether there are tools to tell of accesses; constant while something is recorded.
std::atomic<bool> telling{false};
std::chrono::steady_clock::time_point interval_begin; // with the mutex
std::atomic<bool> has_ranges{false};
std::atomic<std::uint64_t> ranges_version{1}; ///< changes with them

/// Counts the recordings, so that a thread does not go on with its records of an earlier one.
std::atomic<std::uint32_t> recording_number{0};
thread_local constinit ThreadRecords* mine = nullptr;
thread_local constinit std::uint32_t mine_is_of = 0;
thread_local constinit unsigned mine_is_of_thread = 0;
thread_local constinit bool at_barrier = false;
/// When the thread began to wait; none: it does not.
thread_local constinit std::chrono::steady_clock::time_point wait_begin{};

/// Null for threads beyond those that have numbers.
[[nodiscard]] ThreadRecords* records_of_thread() {
    const std::uint32_t number = recording_number.load(std::memory_order_relaxed);
    const unsigned thread = support::thread_number();
    if (mine == nullptr || mine_is_of != number || mine_is_of_thread != thread) [[unlikely]] {
        const std::lock_guard guard{mutex};
        mine = nullptr;
        Recorded& all = recorded();
        if (thread >= all.by_number.size()) return nullptr;
        if (all.by_number[thread] == nullptr)
            all.by_number[thread] = all.threads.emplace_back(std::make_unique<ThreadRecords>(all.threads.size())).get();
        mine = all.by_number[thread];
        mine_is_of = number;
        mine_is_of_thread = thread;
    }
    return mine;
}
/// Null for one that has recorded nothing, or only in an earlier recording.
[[nodiscard]] ThreadRecords* existing_records() noexcept {
    return mine_is_of == recording_number.load(std::memory_order_relaxed) ? mine : nullptr;
}

/// Counts a value among the most frequent ones (Misra and Gries, 1982): what has no room lowers all counts, so that a
/// value of more than a ninth of them stays.
/// Returns the value's entry; null: it has none.
template <class Entry>
Entry* count_value(std::array<Entry, Record::most_counts>& counts, std::uint64_t& others, std::int64_t value,
                   std::uint64_t amount) noexcept {
    Entry* free = nullptr;
    for (Entry& entry : counts) {
        if (entry.count != 0 && entry.value == value) {
            entry.count += amount;
            return &entry;
        }
        if (entry.count == 0 && free == nullptr) free = &entry;
    }
    if (free != nullptr) {
        *free = {value, amount};
        return free;
    }
    others += amount;
    for (Entry& entry : counts) {
        const std::uint64_t lost = std::min(entry.count, amount);
        entry.count -= lost;
        others += lost;
    }
    return nullptr;
}

void add_place(Record& record, const Access& access) noexcept {
    const bool same_owner = record.last.owner == access.owner;
    if (same_owner && access.offset == record.last.end) {
        record.last.run_bytes += access.bytes;
    } else {
        ++record.runs;
        record.last.run_bytes = access.bytes;
    }
    record.longest_run_bytes = std::max(record.longest_run_bytes, record.last.run_bytes);
    if (same_owner)
        count_value(record.strides, record.other_strides, static_cast<std::int64_t>(access.offset - record.last.offset),
                    1);
    else if (record.last.owner >= 0) ++record.owner_changes;
    if (auto* const owner = count_value(record.owners, record.other_owners, access.owner, access.accesses)) {
        owner->lowest = std::min(owner->lowest, access.offset);
        owner->highest = std::max(owner->highest, access.offset + access.bytes);
    }
    const auto number = static_cast<std::size_t>(access.owner) % Record::OwnersSeen::bits;
    record.seen.words[number / 64] |= std::uint64_t{1} << (number % 64);
    record.last.owner = access.owner;
    record.last.offset = access.offset;
    record.last.end = access.offset + access.bytes;
    record.lowest = std::min(record.lowest, access.offset);
    record.highest = std::max(record.highest, record.last.end);
}

[[nodiscard]] std::uint64_t slot_of(const RecordKey& key) noexcept {
    std::uint64_t hash = key.site ^ (std::uint64_t{key.object} << 32 | key.interval) * 0xbf58476d1ce4e5b9;
    hash ^= static_cast<std::uint64_t>(key.way) << 16 | static_cast<std::uint64_t>(key.operation) << 8 |
            static_cast<std::uint64_t>(key.affinity);
    hash *= 0x94d049bb133111eb;
    return hash ^ hash >> 32;
}

[[nodiscard]] RecordKey key_of(const Record& record) noexcept {
    return {record.site, record.object, record.interval, record.way, record.operation, record.affinity};
}
[[nodiscard]] Record empty_record(const RecordKey& key) noexcept {
    return {.site = key.site,
            .object = key.object,
            .interval = key.interval,
            .way = key.way,
            .operation = key.operation,
            .affinity = key.affinity};
}

} // namespace

Record& ThreadRecords::record_of(const Access& access, std::uint32_t interval) {
    RecordKey key{site_of_call(),   access.object,  interval, in_call_ ? way_ : access.way,
                  access.operation, access.affinity};
    if (key == last_key_ && last_record_ != no_record) [[likely]]
        return records_[last_record_];
    last_key_ = key;
    last_record_ = no_record; // those without room are counted each time
    constexpr std::size_t slots = 2 * most_records;
    if (table_.empty()) table_.resize(slots);
    for (int attempt = 0; attempt < 2; ++attempt) {
        std::size_t slot = slot_of(key) % slots;
        for (; table_[slot] != 0; slot = (slot + 1) % slots)
            if (key_of(records_[table_[slot] - 1]) == key) break;
        if (table_[slot] == 0 && (records_.size() < most_records || attempt == 1)) {
            records_.push_back(empty_record(key));
            table_[slot] = static_cast<std::uint32_t>(records_.size());
        }
        if (table_[slot] != 0) {
            if (attempt == 0) last_record_ = table_[slot] - 1;
            return records_[table_[slot] - 1];
        }
        // The call sites beyond share a few records.
        ++without_room_;
        key.site = 0;
        key.object = 0;
        key.interval = 0;
    }
    return records_.back(); // not reached
}

std::uint64_t ThreadRecords::site_of_call() {
    if (in_call_ && site_ != 0) return site_;
    if (in_call_ && address_ != nullptr && address_ == last_address_) return site_ = last_site_;
    const CallSite site = address_ != nullptr && in_call_ ? CallSite::at(address_) : CallSite::of_caller();
    const std::uint64_t key = site.key();
    if (in_call_) site_ = key;
    if (sites_.size() < most_records) sites_.try_emplace(key, site);
    if (in_call_ && address_ != nullptr) {
        last_address_ = address_;
        last_site_ = key;
    }
    return key;
}

void ThreadRecords::note(const Access& access, std::uint32_t interval) {
    Record& record = record_of(access, interval);
    add_part(static_cast<std::size_t>(&record - records_.data()), access.bytes);
    ++record.calls;
    record.accesses += access.accesses;
    record.bytes += access.bytes;
    constexpr unsigned page_bits = ReuseSample::page_bits;
    const std::uint64_t page = access.offset >> page_bits;
    if (access.affinity != Affinity::own && access.accesses == 1) {
        const bool follows = record.last.owner == access.owner && page == (record.last.offset >> page_bits) + 1;
        const std::uint64_t part = std::uint64_t{access.object} << 32 | static_cast<std::uint32_t>(access.owner);
        const ReuseSample::Distance distance = reuse_.touch(part, page, follows);
        if (distance.sampled) {
            add(record.within, distance, true);
            add(record.over, distance, false);
        }
    }
    add_place(record, access);
    if (telling.load(std::memory_order_relaxed)) tell(access, record);
}

void ThreadRecords::add_part(std::size_t record, std::uint64_t bytes) noexcept {
    if (!in_call_) part_count_ = 0; // a call of its own
    for (std::size_t k = 0; k < part_count_; ++k)
        if (parts_[k].record == record || k + 1 == most_parts) {
            parts_[k].bytes += bytes;
            return;
        }
    parts_[part_count_++] = {record, bytes};
    ++records_[record].program_calls;
}

void ThreadRecords::tell(const Access& access, const Record& record) {
    if (!in_call_) finish_call();
    ToolEvent event{.operation = access.operation,
                    .way = record.way,
                    .affinity = access.affinity,
                    .owner = access.owner,
                    .offset = access.offset,
                    .bytes = access.bytes,
                    .elements = access.accesses,
                    .thread = number_};
    if (access.object != 0) {
        const std::lock_guard guard{mutex};
        const Object& object = recorded().objects[access.object - 1];
        event.object_number = object.number;
        event.object_name = object.name;
        event.other_team = object.other_team;
    }
    if (const auto site = sites_.find(record.site); site != sites_.end())
        event.site = {site->second.frames.data(), site->second.size};
    tell_begin(event);
    if (!told_) {
        event_ = event;
        told_ = true;
        return;
    }
    event_.bytes += event.bytes;
    event_.elements += event.elements;
    ++event_.accesses;
}

void ThreadRecords::finish_call() noexcept {
    if (!told_) return;
    told_ = false;
    tell_end(event_);
}

void ThreadRecords::sequence_point(const CallSite& site) noexcept {
    reuse_.sequence_point();
    if (!telling.load(std::memory_order_relaxed)) return;
    finish_call();
    tell_sequence_point(site, number_);
}

bool ThreadRecords::begin_call(Way way, const void* site) {
    if (in_call_) return false;
    finish_call();
    way_ = way;
    address_ = site;
    site_ = 0;
    part_count_ = 0;
    // To look at the clock takes longer than many an access to an element: a sixteenth of them, at random.
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    timed_ = way != Way::element && way != Way::upc ? true : random_ >> 60 == 0;
    // Before the clock is looked at: it takes longer than many a call. For all calls, or those that are timed would
    // have other sites than the rest.
    if (site == nullptr) site_ = site_of_call();
    if (timed_) begin_ = std::chrono::steady_clock::now();
    in_call_ = true;
    return true;
}

void ThreadRecords::end_call() noexcept {
    in_call_ = false;
    if (timed_) add_time(begin_);
    part_count_ = 0;
    finish_call();
}

void ThreadRecords::add_time(std::chrono::steady_clock::time_point begin) noexcept {
    if (in_call_ || part_count_ == 0) return;
    const auto ns = static_cast<double>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count());
    double bytes = 0;
    for (std::size_t k = 0; k < part_count_; ++k) bytes += static_cast<double>(parts_[k].bytes);
    for (std::size_t k = 0; k < part_count_; ++k) {
        Record& record = records_[parts_[k].record];
        ++record.timed_calls;
        record.timed_ns += static_cast<std::uint64_t>(bytes > 0 ? ns * static_cast<double>(parts_[k].bytes) / bytes
                                                                : ns / static_cast<double>(part_count_));
    }
    part_count_ = 0; // its time is taken
}

void TimeOfLast::end() const noexcept {
    ThreadRecords* const records = existing_records();
    if (records == nullptr) return;
    records->add_time(begin_);
    records->finish_outside_call();
}

bool CallScope::begin(Way way, const void* site) noexcept {
    try {
        ThreadRecords* const records = records_of_thread();
        return records != nullptr && records->begin_call(way, site);
    } catch (const std::exception&) { // no memory: the call is not recorded
        return false;
    }
}

NotTimed::~NotTimed() {
    if (ThreadRecords* const records = existing_records()) records->leave_out(begin_);
}

void CallScope::end() noexcept {
    if (ThreadRecords* const records = existing_records()) records->end_call();
}

namespace {

[[nodiscard]] bool begin_recording(std::atomic<bool>& flag) {
    const std::lock_guard guard{mutex};
    if (has_intervals()) return false;
    Recorded& all = recorded();
    all.threads.clear();
    all.by_number.fill(nullptr);
    all.objects.clear();
    all.alike.clear();
    all.ranges.clear();
    ranges_version.fetch_add(1, std::memory_order_relaxed);
    all.lost = {};
    all.intervals.assign(1, Interval{.times = 1});
    all.begin = interval_begin = std::chrono::steady_clock::now();
    current_interval.store(0, std::memory_order_relaxed);
    recording_number.fetch_add(1, std::memory_order_relaxed);
    telling.store(any_listener() || probes_used(), std::memory_order_relaxed);
    flag.store(true, std::memory_order_relaxed);
    return true;
}

[[nodiscard]] std::uint64_t ns_since(std::chrono::steady_clock::time_point begin,
                                     std::chrono::steady_clock::time_point end) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
}

} // namespace

bool start() { return begin_recording(recording); }
bool start_timing() { return begin_recording(timing_intervals); }

void stop() {
    const std::lock_guard guard{mutex};
    if (!has_intervals()) return;
    recording.store(false, std::memory_order_relaxed);
    timing_intervals.store(false, std::memory_order_relaxed);
    Recorded& all = recorded();
    all.end = std::chrono::steady_clock::now();
    all.intervals[current_interval.load(std::memory_order_relaxed)].ns += ns_since(interval_begin, all.end);
}

std::string take_text(int rank) {
    const std::lock_guard guard{mutex};
    return to_text(recorded(), rank);
}

const Recorded& stopped_recording() {
    const std::lock_guard guard{mutex}; // with what stop() has written
    return recorded();
}

Losses losses() {
    const std::lock_guard guard{mutex};
    Losses lost = recorded().lost;
    for (const auto& thread : recorded().threads) lost.accesses += static_cast<std::int64_t>(thread->without_room());
    return lost;
}

ObjectNumber add_object(std::string_view kind, std::string_view name, std::uint64_t number, std::uint64_t bytes,
                        bool other_team) {
    const std::lock_guard guard{mutex};
    const CallSite made = CallSite::of_caller();
    Recorded& all = recorded();
    const auto known = all.alike.find({std::string{kind}, std::string{name}, made.key(), other_team});
    if (known != all.alike.end() && known->second.count == most_alike) return known->second.last;
    std::deque<Object>& objects = all.objects;
    if (objects.size() + 1 >= most_objects) {
        ++all.lost.objects;
        if (objects.size() + 1 == most_objects) objects.push_back({.kind = "several"});
        return static_cast<ObjectNumber>(objects.size());
    }
    objects.push_back({std::string{kind}, std::string{name}, number, bytes, made, other_team});
    Recorded::Alike& alike = all.alike[{std::string{kind}, std::string{name}, made.key(), other_team}];
    ++alike.count;
    return alike.last = static_cast<ObjectNumber>(objects.size());
}

namespace {

/// Offsets in an object around the last access of the thread, of which all are in the same range, or in none.
struct KnownOffsets {
    std::uint64_t version = 0; ///< of the ranges
    ObjectNumber of = 0;
    ObjectNumber object = 0; ///< the range's, or `of`
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};
thread_local constinit KnownOffsets known_offsets;

/// The object that an access is to: the range that was added last, of those that it is in.
[[nodiscard]] KnownOffsets offsets_around(const Access& access) {
    const std::lock_guard guard{mutex};
    KnownOffsets around{.version = ranges_version.load(std::memory_order_relaxed),
                        .of = access.object,
                        .object = access.object,
                        .end = UINT64_MAX};
    const std::vector<Recorded::Range>& ranges = recorded().ranges;
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        if (range->of != access.object) continue;
        if (range->end <= access.offset) {
            around.begin = std::max(around.begin, range->end);
        } else if (range->begin > access.offset) {
            around.end = std::min(around.end, range->begin);
        } else {
            around.object = range->object;
            around.begin = std::max(around.begin, range->begin);
            around.end = std::min(around.end, range->end);
            break;
        }
    }
    return around;
}
[[nodiscard]] Access in_range(Access access) {
    KnownOffsets& known = known_offsets;
    if (known.version != ranges_version.load(std::memory_order_relaxed) || known.of != access.object ||
        access.offset < known.begin || access.offset >= known.end)
        known = offsets_around(access);
    access.object = known.object;
    return access;
}

} // namespace

void add_range(ObjectNumber of, std::string_view kind, std::uint64_t begin, std::uint64_t end) {
    if (of == 0 || begin == end) return;
    bool other_team = false;
    {
        const std::lock_guard guard{mutex};
        Recorded& all = recorded();
        if (all.ranges.size() >= most_ranges) {
            ++all.lost.ranges;
            return;
        }
        other_team = all.objects[of - 1].other_team;
    }
    const ObjectNumber object = add_object(kind, {}, begin, end - begin, other_team);
    const std::lock_guard guard{mutex};
    recorded().ranges.push_back({of, object, begin, end});
    ranges_version.fetch_add(1, std::memory_order_relaxed);
    has_ranges.store(true, std::memory_order_relaxed);
}

void note(const Access& access) noexcept {
    try {
        if (ThreadRecords* const records = records_of_thread()) {
            records->note(has_ranges.load(std::memory_order_relaxed) ? in_range(access) : access,
                          current_interval.load(std::memory_order_relaxed));
            return;
        }
        const std::lock_guard guard{mutex};
        ++recorded().lost.threads;
    } catch (const std::exception&) { // no memory
    }
}

void sequence_point() noexcept {
    try {
        const CallSite site = CallSite::of_caller();
        if (ThreadRecords* const records = on() ? records_of_thread() : nullptr) records->sequence_point(site);
        const auto now = std::chrono::steady_clock::now();
        const auto end = std::exchange(wait_begin, {});
        const std::lock_guard guard{mutex};
        if (!has_intervals()) return;
        std::vector<Interval>& intervals = recorded().intervals;
        Interval& ended = intervals[current_interval.load(std::memory_order_relaxed)];
        ended.ns += ns_since(interval_begin, end < interval_begin ? now : end);
        if (at_barrier) ++ended.barriers;
        interval_begin = now;
        auto found = std::ranges::find(intervals, site.key(), &Interval::key);
        if (found == intervals.end()) {
            constexpr std::size_t most_intervals = 256;
            if (intervals.size() < most_intervals)
                found = intervals.insert(found, Interval{.site = site, .key = site.key()});
            else found = intervals.end() - 1; // the last one takes the rest
        }
        ++found->times;
        current_interval.store(static_cast<std::uint32_t>(found - intervals.begin()), std::memory_order_relaxed);
    } catch (const std::exception&) { // no memory
    }
}

void begin_wait() noexcept {
    if (timing_intervals.load(std::memory_order_relaxed)) wait_begin = std::chrono::steady_clock::now();
}

AtBarrier::AtBarrier(bool barrier) noexcept { at_barrier = barrier; }
AtBarrier::~AtBarrier() { at_barrier = false; }

} // namespace lapwing::detail::trace
