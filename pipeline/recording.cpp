#include <lapwing/recording.hpp>

#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace lapwing {
namespace detail::pipeline {

/// Bytes of a rank's part, and where their source is.
struct RecordedPut {
    std::uint64_t offset = 0;
    const std::byte* source = nullptr;
    std::uint64_t bytes = 0;

    friend bool operator==(const RecordedPut&, const RecordedPut&) = default;
};

namespace {

/// The same bytes, each once: what was put last. In the order of the target; puts that are adjacent on both sides are
/// joined.
[[nodiscard]] std::vector<RecordedPut> block_set(std::span<const RecordedPut> puts) {
    std::vector<RecordedPut> set;
    const auto append = [&set](const RecordedPut& put) {
        if (!set.empty() && set.back().offset + set.back().bytes == put.offset &&
            set.back().source + set.back().bytes == put.source)
            set.back().bytes += put.bytes;
        else set.push_back(put);
    };
    const auto ascending = [](const RecordedPut& a, const RecordedPut& b) { return b.offset < a.offset + a.bytes; };
    if (std::ranges::adjacent_find(puts, ascending) == puts.end()) { // as most loops go
        for (const RecordedPut& put : puts) append(put);
        return set;
    }
    std::vector<RecordedPut> sorted{puts.begin(), puts.end()};
    std::ranges::stable_sort(sorted, {}, &RecordedPut::offset);
    if (std::ranges::adjacent_find(sorted, ascending) == sorted.end()) {
        for (const RecordedPut& put : sorted) append(put);
        return set;
    }
    // Some overlap: each put cuts what was put before it.
    std::map<std::uint64_t, RecordedPut> fragments; // by offset
    for (const RecordedPut& put : puts) {
        const std::uint64_t end = put.offset + put.bytes;
        auto at = fragments.upper_bound(put.offset);
        if (at != fragments.begin()) --at;
        while (at != fragments.end() && at->first < end) {
            const RecordedPut old = at->second;
            const std::uint64_t old_end = old.offset + old.bytes;
            if (old_end <= put.offset) {
                ++at;
                continue;
            }
            at = fragments.erase(at);
            if (old.offset < put.offset) fragments[old.offset] = {old.offset, old.source, put.offset - old.offset};
            if (old_end > end) fragments[end] = {end, old.source + (end - old.offset), old_end - end};
        }
        fragments[put.offset] = put;
    }
    for (const auto& [offset, fragment] : fragments) append(fragment);
    return set;
}

} // namespace

class RecordingState {
public:
    explicit RecordingState(Window& window) : window_{window}, life_{window.state().facts().life} {}

    void put(Rank target, Offset offset, std::span<const std::byte> source) {
        require_open("put");
        Target& to = target_of(target);
        if (offset.bytes > to.part_bytes || source.size() > to.part_bytes - offset.bytes)
            throw RangeError{fmt::format("{}: bytes [{}, {} + {}) are outside of the part of rank {}, which has {}",
                                         window_.state().who("Recording::put"), offset.bytes, offset.bytes,
                                         source.size(), target.value, to.part_bytes)};
        if (source.empty()) return;
        const RecordedPut put{offset.bytes, source.data(), source.size()};
        ++puts_;
        if (to.next < to.puts.size() && to.puts[to.next] == put) [[likely]] {
            ++to.next;
            return;
        }
        to.puts.resize(to.next); // another loop than the last one
        to.puts.push_back(put);
        to.next = to.puts.size();
        to.plan.reset();
    }

    void run() {
        require_open("run");
        for (auto& [rank, to] : targets_) {
            if (to.next != to.puts.size()) { // it made fewer puts this time
                to.puts.resize(to.next);
                to.plan.reset();
            }
            if (to.puts.empty() || to.plan) continue;
            make_plan(rank, to);
        }
        // All are started before the first is waited for.
        std::vector<Completion> under_way;
        for (auto& [rank, to] : targets_)
            if (!to.puts.empty()) under_way.push_back(to.plan->start(static_cast<const void*>(to.base)));
        for (Completion& completion : under_way) completion.wait();
        for (auto& [rank, to] : targets_) to.next = 0;
        puts_ = 0;
    }

    [[nodiscard]] std::uint64_t puts() const noexcept { return puts_; }
    [[nodiscard]] std::uint64_t plans_made() const noexcept { return plans_made_; }
    [[nodiscard]] std::uint64_t blocks(Rank target) const {
        require_open("blocks");
        (void)window_.size(target); // says if there is no such rank
        const auto found = targets_.find(target.value);
        return found != targets_.end() ? found->second.blocks : 0;
    }

private:
    void require_open(const char* call) const {
        if (life_.expired())
            throw UsageError{fmt::format("Recording::{}: the window of the recording is closed; make a recording for "
                                         "one that is open",
                                         call)};
        window_.state().require_memory(call);
    }

    struct Target {
        std::uint64_t part_bytes = 0;
        std::vector<RecordedPut> puts;
        std::size_t next = 0;     ///< puts made since the last run
        std::optional<Plan> plan; ///< of all of them
        const std::byte* base = nullptr;
        std::uint64_t blocks = 0;
    };

    Target& target_of(Rank target) {
        if (last_ != nullptr && last_rank_ == target.value) return *last_;
        const auto found = targets_.find(target.value);
        if (found != targets_.end()) {
            last_ = &found->second;
        } else {
            const std::uint64_t bytes = window_.size(target);
            last_ = &targets_[target.value];
            last_->part_bytes = bytes;
        }
        last_rank_ = target.value;
        return *last_;
    }

    void make_plan(int rank, Target& to) {
        const std::vector<RecordedPut> set = block_set(to.puts);
        to.base = std::ranges::min(set, std::less<>{}, &RecordedPut::source).source;
        std::vector<ByteBlock> here;
        std::vector<ByteBlock> there;
        for (const RecordedPut& put : set) {
            here.push_back({put.source - to.base, put.bytes});
            there.push_back({static_cast<std::int64_t>(put.offset), put.bytes});
        }
        to.plan.emplace(Plan::put(window_, Layout::list(here), Rank{rank}, Offset{0}, Layout::list(there)));
        to.blocks = set.size();
        ++plans_made_;
    }

    Window& window_;
    std::weak_ptr<const void> life_; ///< of the window
    std::map<int, Target> targets_;  ///< by rank
    Target* last_ = nullptr;
    int last_rank_ = 0;
    std::uint64_t puts_ = 0;
    std::uint64_t plans_made_ = 0;
};

} // namespace detail::pipeline

Recording::Recording(Window& window) : state_{std::make_unique<detail::pipeline::RecordingState>(window)} {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

void Recording::put_bytes(Rank target, Offset offset, std::span<const std::byte> source) {
    state_->put(target, offset, source);
}
void Recording::run() { state_->run(); }
std::uint64_t Recording::puts() const noexcept { return state_->puts(); }
std::uint64_t Recording::blocks(Rank target) const { return state_->blocks(target); }
std::uint64_t Recording::plans_made() const noexcept { return state_->plans_made(); }

} // namespace lapwing
