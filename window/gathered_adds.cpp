#include "window/gathered_adds.hpp"

#include "src/mpi/atomics.hpp"
#include "src/support/first_problem.hpp"

#include <lapwing/error.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/unordered_set.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace lapwing::detail::support::settings_in {
void window_gathered_adds() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::window {
namespace {

namespace intrusive = boost::intrusive;

[[gnu::init_priority(support::before_programs)]] const support::NumberSetting memory_setting{
    {.name = "LAPWING_ADD_BUFFER",
     .default_value = "1m",
     .unit = "bytes",
     .help = "memory of one window for adds without a result that wait for others to "
             "travel with",
     .choices = {}},
    1024,
    std::uint64_t{1} << 30};

constexpr std::uint32_t none = 0xffffffff;
/// With less room for each rank that has adds, messages are hardly worth while, and the ranks' records take most of the
/// memory.
constexpr std::size_t least_adds_a_batch = 2;

} // namespace

std::uint64_t add_memory(const Settings& settings) { return memory_setting.get(settings); }

/// The adds that wait for one rank.
struct GatheredAdds::Batch : intrusive::list_base_hook<>, intrusive::unordered_set_base_hook<> {
    Rank target = -1;
    transport::AddKind kind;
    std::uint32_t count = 0;
    std::uint32_t first = none; ///< the adds are a chain, in program order
    std::uint32_t last = none;
    std::uint64_t begin = 0; ///< what they touch lies in [begin, end)
    std::uint64_t end = 0;
};

/// The adds of all ranks, and the order in which the ranks have been waiting.
class GatheredAdds::Pool {
    struct Entry {
        messages::AddPayload add;
        std::uint32_t next = none;
    };
    /// Neighbouring ranks have neighbouring buckets.
    struct Hash {
        std::size_t operator()(Rank target) const noexcept { return static_cast<std::size_t>(target.value); }
        std::size_t operator()(const Batch& batch) const noexcept {
            return static_cast<std::size_t>(batch.target.value);
        }
    };
    struct SameTarget {
        bool operator()(Rank target, const Batch& batch) const noexcept { return target == batch.target; }
        bool operator()(const Batch& a, const Batch& b) const noexcept { return a.target == b.target; }
    };
    using ByTarget = intrusive::unordered_set<Batch, intrusive::hash<Hash>, intrusive::equal<SameTarget>,
                                              intrusive::power_2_buckets<true>>;

public:
    explicit Pool(const AddSender::Limits& limits)
        : most_{limits.bytes /
                (sizeof(Entry) + (sizeof(Batch) + 2 * sizeof(ByTarget::bucket_type)) / least_adds_a_batch)},
          most_in_message_{std::max<std::size_t>(1, limits.message)},
          batches_(std::clamp<std::size_t>(most_ / least_adds_a_batch, 1, std::max<std::size_t>(1, limits.ranks))),
          buckets_(std::bit_ceil(batches_.size())),
          by_target_{{buckets_.data(), buckets_.size()}} {
        entries_.reserve(most_); // reserves addresses; memory is used as it is written
        message_.reserve(most_in_message_);
        for (Batch& batch : batches_) free_batches_.push_back(batch);
    }

    /// Null if nothing waits for this rank.
    [[nodiscard]] Batch* find(Rank target) {
        const auto found = by_target_.find(target, Hash{}, SameTarget{});
        return found == by_target_.end() ? nullptr : &*found;
    }
    [[nodiscard]] bool fills_message(const Batch& batch) const noexcept { return batch.count >= most_in_message_; }
    [[nodiscard]] bool has_room_for_add() const noexcept { return free_entry_ != none || entries_.size() < most_; }
    [[nodiscard]] bool has_room_for_batch() const noexcept { return !free_batches_.empty(); }
    /// The batch that has waited longest, or null.
    [[nodiscard]] Batch* oldest() { return in_use_.empty() ? nullptr : &in_use_.front(); }

    /// May end the batch that it is called with.
    template <class Visit>
    void for_each_batch(Visit&& visit) {
        for (auto at = in_use_.begin(); at != in_use_.end();) visit(*at++);
    }

    [[nodiscard]] Batch& begin_batch(Rank target, transport::AddKind kind) {
        Batch& batch = free_batches_.front();
        free_batches_.pop_front();
        batch.target = target;
        batch.kind = kind;
        in_use_.push_back(batch);
        by_target_.insert(batch);
        return batch;
    }

    void append(Batch& batch, const messages::AddPayload& add, std::uint64_t end) {
        std::uint32_t entry = free_entry_;
        if (entry != none) {
            free_entry_ = entries_[entry].next;
            entries_[entry] = {add, none};
        } else {
            entry = static_cast<std::uint32_t>(entries_.size());
            entries_.push_back({add, none});
        }
        if (batch.count == 0) {
            batch.first = entry;
            batch.begin = add.offset;
            batch.end = end;
        } else {
            entries_[batch.last].next = entry;
            batch.begin = std::min(batch.begin, add.offset);
            batch.end = std::max(batch.end, end);
        }
        batch.last = entry;
        ++batch.count;
    }

    /// The adds of a batch, until the next call.
    [[nodiscard]] std::span<const messages::AddPayload> adds_of(const Batch& batch) {
        message_.clear();
        for (std::uint32_t entry = batch.first; entry != none; entry = entries_[entry].next)
            message_.push_back(entries_[entry].add);
        return message_;
    }

    /// Nothing waits for its rank any more.
    void end_batch(Batch& batch) {
        entries_[batch.last].next = free_entry_;
        free_entry_ = batch.first;
        batch.first = batch.last = none;
        batch.count = 0;
        by_target_.erase(by_target_.iterator_to(batch));
        in_use_.erase(in_use_.iterator_to(batch));
        free_batches_.push_front(batch);
    }

private:
    std::size_t most_; ///< adds, of all ranks
    std::size_t most_in_message_;
    std::vector<Entry> entries_;
    std::uint32_t free_entry_ = none;
    std::vector<Batch> batches_;
    std::vector<ByTarget::bucket_type> buckets_;
    ByTarget by_target_;
    intrusive::list<Batch> in_use_; ///< in the order in which they were begun
    intrusive::list<Batch> free_batches_;
    std::vector<messages::AddPayload> message_;
};

GatheredAdds::GatheredAdds(AddSender& sender) noexcept : sender_{sender} {}
GatheredAdds::~GatheredAdds() = default;

void GatheredAdds::add(Rank target, Offset offset, transport::AddKind kind, const void* operand) {
    const support::BiasedMutex::Guard guard{mutex_};
    if (pool_ == nullptr) pool_ = std::make_unique<Pool>(sender_.add_limits());
    Batch* batch = pool_->find(target);
    if (batch != nullptr && batch->kind != kind) {
        send(*batch);
        batch = nullptr;
    }
    while (!pool_->has_room_for_add() || (batch == nullptr && !pool_->has_room_for_batch())) {
        if (pool_->oldest() == batch) batch = nullptr;
        send(*pool_->oldest());
    }
    if (batch == nullptr) {
        batch = &pool_->begin_batch(target, kind);
        waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    messages::AddPayload added{.offset = offset.bytes};
    std::memcpy(&added.operand, operand, mpi::size_of(kind.type));
    added_.store(added_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    pool_->append(*batch, added, offset.bytes + mpi::size_of(kind.type));
    if (pool_->fills_message(*batch)) send(*batch);
}

void GatheredAdds::before(Rank target, Offset offset, std::uint64_t bytes) {
    const support::BiasedMutex::Guard guard{mutex_};
    if (pool_ == nullptr) return;
    Batch* const batch = pool_->find(target);
    if (batch != nullptr && offset.bytes < batch->end && batch->begin < offset.bytes + bytes) send(*batch);
}

void GatheredAdds::send() {
    const support::BiasedMutex::Guard guard{mutex_};
    if (pool_ == nullptr) return;
    support::FirstProblem problem;
    pool_->for_each_batch([&](Batch& batch) { problem.attempt([&] { send(batch); }); });
    problem.rethrow();
}

void GatheredAdds::send(Rank target) {
    const support::BiasedMutex::Guard guard{mutex_};
    if (pool_ == nullptr) return;
    if (Batch* const batch = pool_->find(target)) send(*batch);
}

void GatheredAdds::send(Batch& batch) {
    try {
        sender_.send_adds(batch.target, batch.kind, batch.begin, batch.end, pool_->adds_of(batch));
    } catch (const PeerLeftError&) {
        if (!sender_.has_left(batch.target)) throw;
        auto lost = std::ranges::find(lost_, batch.target, &Lost::target);
        if (lost == lost_.end()) lost = lost_.insert(lost, {batch.target, 0});
        lost->adds += batch.count;
        any_lost_.store(true, std::memory_order_relaxed);
    }
    pool_->end_batch(batch);
    waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
}

std::string GatheredAdds::take_lost() {
    const support::BiasedMutex::Guard guard{mutex_};
    std::string text;
    for (const Lost& lost : lost_)
        text += fmt::format("{}{} {} to rank {}", text.empty() ? "" : ", ", lost.adds, lost.adds == 1 ? "add" : "adds",
                            lost.target.value);
    lost_.clear();
    any_lost_.store(false, std::memory_order_relaxed);
    return text;
}

} // namespace lapwing::detail::window
