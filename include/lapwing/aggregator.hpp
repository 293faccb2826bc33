// Room: arrays
#pragma once

#include <lapwing/detail/functions/batches.hpp>
#include <lapwing/detail/functions/element_functions.hpp>
#include <lapwing/element_reference.hpp>
#include <lapwing/functions.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/team.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <type_traits>
#include <vector>

namespace lapwing {

/// Makes loops that access one element after the other as fast as loops over lists: what they read, write, add and call
/// is gathered, hundreds in a message to each rank, and sent when a message is full, by flush(), by a release of the
/// same thread, when this waits for other ranks' programs, and at the end of the scope.
///
/// ```cpp
/// lapwing::Aggregator aggregator{runtime};
/// for (const std::int64_t i : indices) aggregator.add.copy(histogram, i, 1); // or (histogram(i), 1)
/// for (std::size_t k = 0; k < n; ++k) aggregator.get.copy(values[k], table, indices[k]);
/// aggregator.flush(); // the values are here
/// ```
///
/// Local, for one thread. Before flush() nothing is known: a get may see what is written after it, and accesses to an
/// element that do not go through the aggregator may pass those that do. On return of flush() values that were read are
/// there; what was written, added and posted is complete at the next release, as a put. Memory: 512 KiB of messages for
/// what is sent, 1 MiB for what is read, and 16 bytes for each rank of the team, whatever is sent. In a team of more
/// than LAPWING_DIRECT_RANKS that has progress threads, what is gathered goes over other ranks, in two or three hops. A
/// rank keeps at most 1 MiB of its own and others' then, except of what functions gather, which cannot wait.
class Aggregator {
public:
    /// Local call. For the arrays and ranks of this team, which must be open as long as it is used.
    explicit Aggregator(Team& team)
        : get{*this},
          put{*this},
          add{*this},
          team_{team},
          calls_{team, "Aggregator", detail::functions::Batches::Results::none, true},
          gets_{team, "Aggregator::get", detail::functions::Batches::Results::read, true} {}
    Aggregator(const Aggregator&) = delete;
    Aggregator& operator=(const Aggregator&) = delete;
    /// As flush(); what that would throw, the next release of the team throws as a FunctionError. Drops everything when
    /// the stack unwinds from an exception.
    ~Aggregator() {
        if (std::uncaught_exceptions() != exceptions_at_start_ || team_.closed()) return;
        try {
            flush();
        } catch (const std::exception& error) {
            calls_.leave_to_release(error.what());
        }
    }

    /// Sends everything, and waits for what is read. Throws PeerLeftError; in a large team whichever rank has left.
    void flush() {
        calls_.send();
        gets_.finish();
        for (Window* const window : windows_) detail::functions::end_list(*window);
        windows_.clear();
        last_window_ = nullptr;
    }

    /// The same as Team::post(). Arguments that are not trivially copyable are sent in a message of their own.
    template <class F, class... A>
    void post(Rank target, F function, const A&... arguments) {
        namespace functions = detail::functions;
        if constexpr (std::is_empty_v<F> && (functions::Plain<functions::Passed<A>> && ...)) {
            using S = functions::Signature<F, functions::Passed<A>...>;
            if (static_cast<unsigned>(target.value) >= static_cast<unsigned>(team_.size())) [[unlikely]]
                functions::require_rank(team_, target, "Aggregator::post");
            std::byte* place =
                calls_.add(target, {.function = &functions::entry_of<S, F>,
                                    .argument_bytes = std::max<std::uint32_t>((sizeof(A) + ... + 0), 1)});
            ((std::memcpy(place, &arguments, sizeof arguments), place += sizeof arguments), ...);
        } else {
            calls_.send(); // in their order
            team_.post(target, function, arguments...);
        }
    }

    /// What `get` is.
    class Get {
    public:
        /// `value` becomes the element's, on return of flush(), and must exist until then.
        template <class T, std::size_t N>
        [[gnu::always_inline]] void copy(T& value, const ElementReference<T, N>& element) {
            owner_.template gather<detail::functions::ReadElement<T>, T>(owner_.gets_, element.home("Aggregator::get"),
                                                                         &value);
        }
        /// The same of element `index` of an array. Loops over elements of all ranks in no order take it: where `a(i)`
        /// also finds out whether the element can be loaded here, which a processor cannot guess.
        template <class T, std::size_t N>
        [[gnu::always_inline]] void copy(T& value, const GlobalArray<T, N>& array,
                                         const std::type_identity_t<Index<N>>& index) {
            copy(value, ElementReference<T, N>{array, nullptr, index});
        }
        template <class T>
        [[gnu::always_inline]] void copy(T& value, const GlobalArray<T, 1>& array, std::int64_t index) {
            copy(value, array, Index<1>{index});
        }

    private:
        friend class Aggregator;
        explicit Get(Aggregator& owner) noexcept : owner_{owner} {}
        Aggregator& owner_;
    };
    /// What `put` and `add` are: both have the owner run a function on the element.
    template <template <class> class Function>
    class Change {
    public:
        /// Put: the element becomes `value`. Add: `value` is added to it by the owner, as by a function at the owner:
        /// what aggregators and functions at owners add at the same time is not lost.
        template <class T, std::size_t N>
        [[gnu::always_inline]] void copy(const ElementReference<T, N>& element, const std::type_identity_t<T>& value) {
            owner_.template gather<Function<T>, T>(owner_.calls_, element.home("Aggregator"), nullptr, value);
        }
        /// The same of element `index` of an array: see Get.
        template <class T, std::size_t N>
        [[gnu::always_inline]] void copy(const GlobalArray<T, N>& array, const std::type_identity_t<Index<N>>& index,
                                         const std::type_identity_t<T>& value) {
            copy(ElementReference<T, N>{array, nullptr, index}, value);
        }
        template <class T>
        [[gnu::always_inline]] void copy(const GlobalArray<T, 1>& array, std::int64_t index,
                                         const std::type_identity_t<T>& value) {
            copy(array, Index<1>{index}, value);
        }

    private:
        friend class Aggregator;
        explicit Change(Aggregator& owner) noexcept : owner_{owner} {}
        Aggregator& owner_;
    };

    Get get;                                     ///< `aggregator.get.copy(x, a(i))`, or `…(x, a, i)`
    Change<detail::functions::WriteElement> put; ///< `aggregator.put.copy(a(i), x)`, or `…(a, i, x)`
    Change<detail::functions::AddToElement> add; ///< `aggregator.add.copy(a(i), x)`, or `…(a, i, x)`

private:
    template <class F, class T, class... A>
    [[gnu::always_inline]] void gather(detail::functions::Batches& batches, const detail::arrays::Home& home,
                                       void* result, const A&... arguments) {
        namespace functions = detail::functions;
        using S = functions::Signature<F, functions::ElementAt<T>, A...>;
        if (&home.window != last_window_) begin(home.window);
        batches.add(home.owner, functions::entry_of<S, F>, home.window, home.offset.bytes / sizeof(T), result,
                    static_cast<std::uint32_t>(S::result_bytes), true, arguments...);
    }
    /// The first access to a window, or after one to another.
    [[gnu::noinline]] void begin(Window& window) {
        last_window_ = &window;
        if (std::ranges::find(windows_, &window) != windows_.end()) return;
        detail::functions::begin_list(window);
        windows_.push_back(&window);
    }

    Team& team_;
    detail::functions::Batches calls_;
    detail::functions::Batches gets_;
    std::vector<Window*> windows_; ///< that it has accessed since the last flush
    const Window* last_window_ = nullptr;
    int exceptions_at_start_ = std::uncaught_exceptions();
};

} // namespace lapwing
