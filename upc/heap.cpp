#include "upc/heap.hpp"

#include "src/support/assert.hpp"
#include "src/support/backoff.hpp"
#include "src/team/team_state.hpp"
#include "window/private_parts.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <type_traits>
#include <utility>

namespace lapwing::upc {

namespace {

constexpr lapwing::detail::messages::HandlerNumber question_handler{0x757068};
/// Blocks that one request searches: others are served between two requests.
constexpr std::uint64_t blocks_of_a_question = 1000;

/// A part that this process can load and store.
class MappedPart {
public:
    explicit MappedPart(std::byte* base) noexcept : base_{base} {}
    template <class T>
    [[nodiscard]] T get(std::uint64_t at) const noexcept {
        T value;
        std::memcpy(&value, base_ + at, sizeof value);
        return value;
    }
    template <class T>
    void put(std::uint64_t at, const T& value) const noexcept {
        std::memcpy(base_ + at, &value, sizeof value);
    }

private:
    std::byte* base_;
};

/// A part accessed by puts and gets, while its lock is held: one get reads the root, and what is written is complete
/// when the lock is unlocked.
class FarPart {
public:
    FarPart(Window& window, int thread, std::uint64_t root) : window_{window}, rank_{thread}, root_{root + skipped} {
        window_.get(rank_, Offset{root_}, std::as_writable_bytes(std::span{&copy_, 1}).subspan(skipped));
    }
    template <class T>
    [[nodiscard]] T get(std::uint64_t at) {
        if (!in_root(at)) return window_.get<T>(rank_, Offset{at});
        T value;
        std::memcpy(&value, copied(at), sizeof value);
        return value;
    }
    template <class T>
    void put(std::uint64_t at, const T& value) {
        if (in_root(at)) std::memcpy(copied(at), &value, sizeof value);
        window_.put(rank_, Offset{at}, value);
    }

private:
    static constexpr std::uint64_t skipped = offsetof(HeapRoot, free_bytes); ///< excludes the lock's words

    [[nodiscard]] bool in_root(std::uint64_t at) const noexcept {
        return at >= root_ && at - root_ < sizeof(HeapRoot) - skipped;
    }
    [[nodiscard]] std::byte* copied(std::uint64_t at) noexcept {
        return reinterpret_cast<std::byte*>(&copy_) + skipped + (at - root_);
    }

    Window& window_;
    Rank rank_;
    std::uint64_t root_; ///< after the lock's words
    HeapRoot copy_{};
};

/// Mutual exclusion for metadata in memory that several processes, and this one's progress thread, use. Its holder
/// never waits.
class MetadataLock {
public:
    explicit MetadataLock(std::byte* part, std::uint64_t root) noexcept
        : word_{*reinterpret_cast<std::int64_t*>(part + root + offsetof(HeapRoot, lock))} {}
    MetadataLock(const MetadataLock&) = delete;
    MetadataLock& operator=(const MetadataLock&) = delete;
    ~MetadataLock() {
        if (mine_) word_.store(0, std::memory_order_release); // the next holder sees what was written
    }
    [[nodiscard]] bool attempt() noexcept {
        mine_ = word_.exchange(1, std::memory_order_acquire) == 0; // sees what the previous holder has written
        return mine_;
    }
    void wait(lapwing::detail::support::ProcessorShare share) noexcept {
        for (lapwing::detail::support::Backoff backoff{share}; !attempt();) backoff.pause();
    }

private:
    std::atomic_ref<std::int64_t> word_;
    bool mine_ = false;
};

} // namespace

Heaps::Heaps(Window& window, QueueLocks& locks, const HeapRegions& regions)
    : window_{window},
      locks_{locks},
      regions_{regions},
      own_thread_{window.team().rank().value},
      asks_{window.team().nodes() == 1 || window.team().network_path() != Path::rma ||
            window.team().progress_mode() == ProgressMode::thread ||
            lapwing::detail::window::parts_are_private(window.team().settings())} {
    static_assert(std::is_trivially_copyable_v<Question> && std::is_trivially_copyable_v<Answer>);
    MappedPart part{window_.local().data()};
    for (const HeapPlace::Kind kind : {HeapPlace::Kind::blocks, HeapPlace::Kind::small, HeapPlace::Kind::local}) {
        if (kind == HeapPlace::Kind::blocks && own_thread_ != 0) continue;
        if (kind == HeapPlace::Kind::small && !regions_.holds_group(own_thread_)) continue;
        HeapMetadata{part, root_of(kind), region({kind, own_thread_})}.make();
    }
    window_.team().state().engine().register_handler(
        question_handler, [this](int, std::span<const std::byte> bytes, std::span<std::byte> answer) {
            return on_question(bytes, answer);
        });
    registered_ = true;
}

Heaps::~Heaps() {
    try {
        withdraw();
    } catch (const std::exception&) { // the team has been left
    }
}

void Heaps::withdraw() {
    if (std::exchange(registered_, false)) window_.team().state().engine().withdraw_handler(question_handler);
}

Region Heaps::region(const HeapPlace& place) const noexcept {
    switch (place.kind) {
    case HeapPlace::Kind::blocks: return regions_.blocks;
    case HeapPlace::Kind::local: return regions_.local;
    case HeapPlace::Kind::small: break;
    }
    const std::uint64_t begin =
        regions_.small.begin + static_cast<std::uint64_t>(place.keeper / regions_.group) * regions_.share;
    return {begin, begin + regions_.share};
}

std::uint64_t Heaps::root_of(HeapPlace::Kind kind) noexcept {
    switch (kind) {
    case HeapPlace::Kind::blocks: return offsetof(PartHeader, blocks_root);
    case HeapPlace::Kind::small: return offsetof(PartHeader, small_blocks_root);
    case HeapPlace::Kind::local: break;
    }
    return offsetof(PartHeader, own_root);
}

Heaps::Way Heaps::way(const HeapPlace& place) const {
    // The metadata are those of all threads also where a thread's own part stands for all others'.
    if (lapwing::detail::window::own_part_stands_for(window_.map(), Rank{place.keeper})) return Way::questions;
    if (!asks_) return Way::one_sided;
    return window_.reachable(Rank{place.keeper}).empty() ? Way::questions : Way::memory;
}

template <MetadataMemory Memory>
Heaps::Answer Heaps::perform_in(Memory&& memory, const HeapPlace& place, const Question& question) const {
    Answer answer;
    HeapMetadata metadata{memory, root_of(place.kind), region(place)};
    try {
        switch (question.what) {
        case What::allocate: answer.allocated = metadata.allocate(question.value); break;
        case What::free: answer.freed = static_cast<std::uint64_t>(metadata.free(question.value)); break;
        case What::object: answer.found.object = metadata.object(question.value); break;
        case What::find: answer.found = metadata.find(question.value, question.from, blocks_of_a_question); break;
        }
        if constexpr (lapwing::detail::support::internal_assertions &&
                      std::is_same_v<std::remove_cvref_t<Memory>, MappedPart>)
            metadata.validate();
    } catch (const MetadataOverwritten& problem) {
        answer.overwritten_at = problem.at;
    }
    return answer;
}

Heaps::Answer Heaps::perform(const char* call, const HeapPlace& place, const Question& question) {
    Answer answer;
    switch (way(place)) {
    case Way::questions: answer = ask(call, place.keeper, question); break;
    case Way::memory: {
        std::byte* const part = window_.reachable(Rank{place.keeper}).data();
        MetadataLock lock{part, root_of(place.kind)};
        lock.wait(window_.team().state().topology().processors().share());
        answer = perform_in(MappedPart{part}, place, question);
        break;
    }
    case Way::one_sided:
        answer = under_lock(locks_, {place.keeper, root_of(place.kind) + offsetof(HeapRoot, lock)}, [&] {
            return perform_in(FarPart{window_, place.keeper, root_of(place.kind)}, place, question);
        });
    }
    if (answer.overwritten_at != 0)
        throw UsageError{fmt::format(
            "{}: the metadata of the shared heap at thread {} are overwritten at {:#x}: a write went past the end of "
            "the preceding object, or before the start of the following one; assertion level 2 finds it",
            call, place.keeper, answer.overwritten_at)};
    return answer;
}

Heaps::Answer Heaps::ask(const char* call, int keeper, const Question& question) {
    lapwing::detail::team::TeamState& team = window_.team().state();
    Answer answer;
    lapwing::detail::messages::Operation operation;
    operation.destination = reinterpret_cast<std::byte*>(&answer);
    team.wait_until(
        [&] {
            return team.engine().try_ask(operation, keeper, question_handler, std::as_bytes(std::span{&question, 1}),
                                         sizeof answer);
        },
        call, keeper);
    team.statistics().add(Counter::answered_calls);
    try {
        team.wait_until([&] { return operation.done(); }, call, keeper);
    } catch (...) {
        team.engine().abandon(operation);
        throw;
    }
    return answer;
}

bool Heaps::on_question(std::span<const std::byte> bytes, std::span<std::byte> answer) const {
    Question question;
    if (bytes.size() != sizeof question || answer.size() != sizeof(Answer)) return true;
    std::memcpy(&question, bytes.data(), sizeof question);
    if (question.what > What::find || question.kind > HeapPlace::Kind::local) return true;
    std::byte* const part = window_.local().data();
    MetadataLock lock{part, root_of(question.kind)};
    if (!lock.attempt()) return false;
    const Answer found = perform_in(MappedPart{part}, {question.kind, own_thread_}, question);
    std::memcpy(answer.data(), &found, sizeof found);
    return true;
}

Allocated Heaps::allocate(const char* call, const HeapPlace& place, std::uint64_t bytes) {
    return perform(call, place, {.what = What::allocate, .kind = place.kind, .value = bytes}).allocated;
}

Freed Heaps::free(const char* call, const HeapPlace& place, std::uint64_t address) {
    // What this thread has written there must not arrive when the memory belongs to another object.
    window_.release();
    return static_cast<Freed>(perform(call, place, {.what = What::free, .kind = place.kind, .value = address}).freed);
}

Region Heaps::object(const char* call, const HeapPlace& place, std::uint64_t begin) {
    return perform(call, place, {.what = What::object, .kind = place.kind, .value = begin}).found.object;
}

Region Heaps::find(const char* call, const HeapPlace& place, std::uint64_t address) {
    Question question{.what = What::find, .kind = place.kind, .value = address, .from = region(place).begin};
    for (;;) {
        const FoundBlock found = perform(call, place, question).found;
        if (found.go_on == 0) return found.object;
        question.from = found.go_on;
    }
}

} // namespace lapwing::upc
