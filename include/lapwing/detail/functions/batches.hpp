// Room: functions
#pragma once

#include <lapwing/detail/functions/entry.hpp>
#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing {
class Team;
class Window;

namespace detail::functions {

/// The message to one rank that is being filled. Its last run is of one function on one window.
struct Batch {
    const FunctionEntry* function = nullptr;
    const Window* window = nullptr;
    Form form = Form::wide;
    std::byte* at = nullptr;           ///< where the next call's arguments go
    const std::byte* last = nullptr;   ///< where there is room for one more
    const std::byte* common = nullptr; ///< the arguments of Form::common
    std::byte* head = nullptr;         ///< of the run
    std::uint32_t count = 0;           ///< of its calls
    std::uint32_t argument_bytes = 0;  ///< of each of them, with its place
    void** destination = nullptr;      ///< where the next call's result goes is noted here; null: there are no results
    std::size_t number = 0;            ///< among all batches
};

/// Many small calls at many ranks, hundreds or thousands in a message. In a team of at most LAPWING_DIRECT_RANKS a
/// message goes to each rank; in larger ones over several hops (functions/relay.hpp). Memory is bounded, whatever the
/// number of ranks: 512 KiB of messages and of results, as much again for where results go, and a pointer for each rank
/// that they go to directly. For one thread.
class Batches {
public:
    enum class Results : std::uint8_t {
        none,
        asked,
        read ///< of functions that only read elements: those that can be loaded here need no message
    };
    /// `call`: of the program, for messages. `released`: a release by the calling thread is a finish(), too.
    Batches(Team& team, const char* call, Results results, bool released = false);
    /// Drops what was not sent, and results that are not here.
    ~Batches();
    Batches(const Batches&) = delete;
    Batches& operator=(const Batches&) = delete;

    /// What each call of one kind is.
    struct Kind {
        const FunctionEntry* function = nullptr;
        Window* window = nullptr;
        Form form = Form::wide;
        std::uint32_t argument_bytes = 0;
        std::uint32_t result_bytes = 0; ///< 0: none is asked for
    };
    /// Returns where the arguments of one more call are to be written. `result`: where its result is to be, by
    /// finish(); null where there is none.
    [[nodiscard, gnu::always_inline]] std::byte* add(Rank target, const Kind& kind, void* result = nullptr) {
        Batch* batch = open_[place_of(target)];
        if (batch == nullptr || batch->function != kind.function || batch->window != kind.window ||
            batch->form != kind.form || batch->argument_bytes != kind.argument_bytes || batch->at > batch->last)
            [[unlikely]]
            batch = next(target, kind, nullptr);
        if (result != nullptr) *batch->destination++ = result;
        return place_in(*batch, kind.argument_bytes);
    }
    /// Adds a call of a function on the element at `place` of the target's part, with at most one further argument.
    /// `may_repeat`: in 4 bytes as long as the argument stays the same; where there are results it then must.
    template <class... A>
    [[gnu::always_inline]] void add(Rank target, const FunctionEntry& function, Window& window, std::uint64_t place,
                                    void* result, std::uint32_t result_bytes, bool may_repeat, const A&... argument) {
        static_assert(sizeof...(A) <= 1);
        constexpr std::uint32_t bytes = (sizeof(A) + ... + 0);
        const auto short_place = static_cast<std::uint32_t>(place);
        Batch* batch = open_[place_of(target)];
        if (batch == nullptr || batch->function != &function || batch->window != &window || batch->at > batch->last ||
            !continues(*batch, argument...) || place != short_place) [[unlikely]] {
            Kind kind{.function = &function, .window = &window, .result_bytes = result_bytes};
            if (place != short_place) {
                kind.argument_bytes = sizeof place + bytes;
                return write(add(target, kind, result), place, argument...);
            }
            // One argument for all, until there is another.
            const bool differs = batch != nullptr && batch->function == &function && batch->window == &window &&
                                 batch->at <= batch->last;
            kind.form = may_repeat && !differs ? Form::common : Form::narrow;
            kind.argument_bytes = sizeof short_place + bytes;
            batch = next(target, kind, address_of(argument...));
        }
        if (result != nullptr) *batch->destination++ = result;
        if (batch->form == Form::common) write(place_in(*batch, sizeof short_place), short_place);
        else write(place_in(*batch, sizeof short_place + bytes), short_place, argument...);
    }
    /// Sends everything, and waits for all results. Throws what the first call threw that has failed, where results are
    /// asked for; failures of others are the next release's.
    void finish();
    /// Sends everything.
    void send();
    /// A call of it has not returned.
    [[nodiscard]] bool busy() const noexcept;
    /// Something has been gathered, and it is the same as when this was asked last.
    [[nodiscard]] bool is_idle() noexcept;
    /// The next release throws a FunctionError with this text.
    void leave_to_release(const char* problem) noexcept;

private:
    class State;
    /// `common`: the arguments, for Form::common.
    [[nodiscard, gnu::noinline]] Batch* next(Rank target, const Kind& kind, const void* common);

    [[nodiscard]] std::size_t place_of(Rank target) const {
        return static_cast<std::size_t>(target.value) & rank_mask_;
    }
    [[nodiscard]] static std::byte* place_in(Batch& batch, std::uint32_t bytes) {
        ++batch.count;
        return std::exchange(batch.at, batch.at + bytes);
    }
    /// Whether one more call with this argument fits the run's form.
    static bool continues(const Batch& batch) { return batch.form != Form::wide; }
    template <class A>
    static bool continues(const Batch& batch, const A& argument) {
        if (batch.form == Form::common) return std::memcmp(batch.common, &argument, sizeof argument) == 0;
        return batch.form == Form::narrow;
    }
    static const void* address_of() { return nullptr; }
    template <class A>
    static const void* address_of(const A& argument) {
        return &argument;
    }
    template <class... V>
    static void write(std::byte* place, const V&... values) {
        ((std::memcpy(place, &values, sizeof values), place += sizeof values), ...);
    }

    std::size_t rank_mask_;    ///< all bits; 0: there are several hops
    std::vector<Batch*> open_; ///< of each rank, or null; with several hops one that is null
    std::unique_ptr<State> state_;
};

/// Before a list of calls: what this rank has written to the window before is complete, where something is under way,
/// and its copies of what others have are read again. The same after it, where there may be copies that are older.
void begin_list(Window& window);
void end_list(Window& window);

} // namespace detail::functions
} // namespace lapwing
