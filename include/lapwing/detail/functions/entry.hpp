// Room: functions
#pragma once

#include <lapwing/serialise.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// What a rank runs for others: each function, with the types of its arguments, has an entry, made before main() by a
/// variable of the program's, and a number that is made of its name, so that all ranks of one program have the same.
namespace lapwing::detail::functions {

class FunctionEntry;

/// How a message's calls of one function lie in it.
enum class Form : std::uint32_t {
    wide,   ///< the arguments of one after those of the other; an element's place has 8 bytes
    narrow, ///< the same, but an element's place, which comes first, has 4 bytes
    common  ///< the other arguments, which are the same for all; then the elements' places, of 4 bytes each
};

/// A call that has thrown, by its index, and what.
struct FailedCall {
    std::uint32_t index = 0;
    std::string text{};
    std::uint64_t unknown = 0; ///< number of the function if it is not known at the owner
};

/// A message's calls of one function, as they are carried out: `count` times its arguments.
struct Invocation {
    ByteReader arguments;
    std::uint32_t count = 1;
    Form form = Form::wide;
    std::span<std::byte> part;     ///< of the window that the calls are about; empty: about none
    ByteWriter* results = nullptr; ///< null: nobody asks for them
    const FunctionEntry* function = nullptr;

    std::uint32_t at = 0; ///< index of the call that runs; those before it have run
    std::uint64_t failed = 0;
    std::string first_failure{};                     ///< its text
    std::vector<FailedCall>* failed_calls = nullptr; ///< where somebody wants to know which

    /// In a handler of an exception: the call that runs has thrown it.
    void fail();
    [[noreturn]] void throw_outside(std::uint64_t index, std::size_t element_bytes) const;
};
using Stub = void (*)(Invocation&);

/// A function that others may ask for.
class FunctionEntry {
public:
    /// `signature`: names it, with its arguments; `type`: the function, for messages. Both stay.
    FunctionEntry(const char* signature, const char* type, Stub stub) noexcept;
    FunctionEntry(const FunctionEntry&) = delete;
    FunctionEntry& operator=(const FunctionEntry&) = delete;

    /// The same on all ranks that run the same program.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    [[nodiscard]] const char* type() const noexcept { return type_; }
    [[nodiscard]] bool is(Stub stub) const noexcept { return stub_ == stub; }
    void run(Invocation& call) const {
        call.function = this;
        stub_(call);
    }

    /// Null: there is none of that number here.
    [[nodiscard]] static const FunctionEntry* find(std::uint64_t number) noexcept;

protected:
    /// Of a function whose number is made in another way, and which enter() makes known. `text`: for messages; it
    /// stays.
    FunctionEntry(std::uint64_t number, const char* text, Stub stub) noexcept
        : number_{number}, type_{text}, stub_{stub} {}
    /// Returns `fresh`, or the one that has its number already.
    [[nodiscard]] static const FunctionEntry& enter(FunctionEntry& fresh) noexcept;

private:
    void add_to_list() noexcept;

    std::uint64_t number_;
    const char* type_;
    Stub stub_;
    FunctionEntry* next_ = nullptr; ///< of those with the same low bits
};

/// As an argument: the element of the owner's part that a call is about, by its place there.
template <class T>
struct ElementAt {
    std::uint64_t place = 0; ///< in elements
};

/// What a function gets for an argument of type A: `View` where the message has it already, else `Owner`.
template <class A>
struct Received {
    using View = A;
    using Owner = A;
};
template <Sequence A>
struct Received<A> {
    using Element = typename SequenceOf<A>::Element;
    using Owner = std::vector<Element>;
    using View = std::conditional_t<(alignof(Element) <= message_alignment), std::span<const Element>, Owner>;
};
template <Text A>
struct Received<A> {
    using View = std::string_view;
    using Owner = std::string;
};
template <class T>
struct Received<ElementAt<T>> {
    using View = T&;
    using Owner = T&;
};

template <class R>
[[nodiscard]] R receive(Invocation& call) {
    if constexpr (std::is_lvalue_reference_v<R>) {
        using T = std::remove_reference_t<R>;
        const auto place = call.arguments.template read<std::uint64_t>();
        if (place >= call.part.size() / sizeof(T)) [[unlikely]]
            call.throw_outside(place, sizeof(T));
        return reinterpret_cast<T*>(call.part.data())[place];
    } else {
        return call.arguments.template read<R>();
    }
}

/// A function without members on an element, with arguments that are plain: its calls are of known size.
template <class F, class... A>
struct OnElement : std::false_type {};
template <class F, class T, class... A>
    requires(std::is_empty_v<F> && (Plain<A> && ...))
struct OnElement<F, ElementAt<T>, A...> : std::true_type {
    static constexpr std::size_t argument_bytes = (sizeof(A) + ... + 0);
    using Element = T;
    using Arguments = std::tuple<A...>;
    /// One after the other, in their order.
    [[nodiscard]] static Arguments arguments_at(const std::byte* place) {
        return Arguments{value_at<A>(std::exchange(place, place + sizeof(A)))...};
    }
};

/// Function F with arguments that were passed as A.
template <class F, class... A>
struct Signature {
    static constexpr bool takes_views = std::is_invocable_v<F&, typename Received<A>::View...>;
    static constexpr bool takes_owners = std::is_invocable_v<F&, typename Received<A>::Owner...>;
    template <class One>
    using Got = std::conditional_t<takes_views, typename Received<One>::View, typename Received<One>::Owner>;

    static consteval bool check() {
        static_assert(std::is_empty_v<F> || Plain<F>,
                      "lapwing: this function object cannot travel to another rank: what it captures must be trivially "
                      "copyable, and no pointer; pass a function as lapwing::fn<&f>");
        static_assert(!std::is_empty_v<F> || std::is_default_constructible_v<F>,
                      "lapwing: a function object without members needs a default constructor, as a lambda has that "
                      "captures nothing");
        static_assert(takes_views || takes_owners,
                      "lapwing: the function cannot be called with these arguments: spans and vectors arrive as "
                      "std::span<const T> or std::vector<T>, strings as std::string_view or std::string, all by value "
                      "or const reference");
        return true;
    }
    static_assert(check());

    using Result =
        std::decay_t<typename std::conditional_t<takes_views, std::invoke_result<F&, typename Received<A>::View...>,
                                                 std::invoke_result<F&, typename Received<A>::Owner...>>::type>;
    /// Bytes of a result; 0: they vary.
    static constexpr std::size_t result_bytes = [] {
        if constexpr (std::is_void_v<Result>) return std::size_t{0};
        else if constexpr (Plain<Result>) return sizeof(Result);
        else return std::size_t{0};
    }();

    static void write(ByteWriter& out, const F& function, const A&... arguments) {
        if constexpr (!std::is_empty_v<F>) out.write(function);
        (write_one(out, arguments), ...);
    }

    static void run(Invocation& call) {
        if constexpr (OnElement<F, A...>::value) {
            if (call.form == Form::wide) run_on_elements<std::uint64_t, false>(call);
            else if (call.form == Form::narrow) run_on_elements<std::uint32_t, false>(call);
            else run_on_elements<std::uint32_t, true>(call);
        } else {
            for (call.at = 0; call.at < call.count; ++call.at) {
                F function = read_function(call);
                std::tuple<Got<A>...> arguments{receive<Got<A>>(call)...}; // in their order
                try {
                    std::apply([&](auto&... each) { call_one(call, function, std::forward<Got<A>>(each)...); },
                               arguments);
                } catch (...) {
                    call.fail();
                    if constexpr (result_bytes != 0) // the next one's place is after it
                        if (call.results != nullptr) std::memset(call.results->grow(result_bytes), 0, result_bytes);
                }
            }
        }
    }

private:
    /// Sizes are checked once, for all calls, and elements are on their way some calls before they are used: what they
    /// cost is then mostly the time of the memory, many at once. Their places are not known to be theirs until then.
    template <class Place, bool common>
    static void run_on_elements(Invocation& call) {
        using On = OnElement<F, A...>;
        using T = typename On::Element;
        constexpr std::size_t stride = sizeof(Place) + (common ? 0 : On::argument_bytes);
        constexpr std::size_t ahead = 16 * stride;
        const std::byte* const shared = call.arguments.take(common ? On::argument_bytes : 0);
        const std::size_t bytes = std::size_t{call.count} * stride;
        const std::byte* at = call.arguments.take(bytes);
        const std::byte* const begin = at;
        const std::byte* const end = at + bytes;
        T* const elements = reinterpret_cast<T*>(call.part.data());
        const std::size_t count = call.part.size() / sizeof(T);
        std::byte* result = nullptr;
        if constexpr (result_bytes != 0)
            if (call.results != nullptr) result = call.results->grow(call.count * result_bytes);
        for (; at != end; at += stride) {
            if (static_cast<std::size_t>(end - at) > ahead)
                __builtin_prefetch(elements + std::min<std::size_t>(value_at<Place>(at + ahead), count));
            const Place place = value_at<Place>(at);
            F function{};
            auto arguments = On::arguments_at(common ? shared : at + sizeof(Place));
            const auto run_one = [&](auto&... each) {
                if constexpr (result_bytes != 0) {
                    const Result one = function(elements[place], std::move(each)...);
                    if (result != nullptr) std::memcpy(result, &one, result_bytes);
                } else {
                    call_one(call, function, elements[place], std::move(each)...);
                }
            };
            try {
                if (place >= count) [[unlikely]]
                    call.throw_outside(place, sizeof(T));
                std::apply(run_one, arguments);
            } catch (...) {
                call.at = static_cast<std::uint32_t>(static_cast<std::size_t>(at - begin) / stride);
                call.fail();
                if (result != nullptr) std::memset(result, 0, result_bytes);
            }
            if (result != nullptr) result += result_bytes;
        }
        call.at = call.count;
    }

    template <class One>
    static void write_one(ByteWriter& out, const One& argument) {
        out.write(argument);
    }
    template <class T>
    static void write_one(ByteWriter& out, const ElementAt<T>& element) {
        out.write(element.place);
    }
    [[nodiscard]] static F read_function(Invocation& call) {
        if constexpr (std::is_empty_v<F>) return F{};
        else return call.arguments.template read<F>();
    }
    template <class... Each>
    static void call_one(Invocation& call, F& function, Each&&... each) {
        if constexpr (std::is_void_v<Result>) {
            function(std::forward<Each>(each)...);
        } else if (call.results == nullptr) {
            (void)function(std::forward<Each>(each)...);
        } else {
            const Result result = function(std::forward<Each>(each)...);
            call.results->write(result);
        }
    }
};

/// The function's entry; a function that uses it has one. A runtime that is a static object finds it there.
template <class S, class F>
[[gnu::init_priority(support::before_programs)]] inline const FunctionEntry entry_of{typeid(S).name(), typeid(F).name(),
                                                                                     &S::run};

/// What the type of an argument of a call becomes: arrays of characters are text.
template <class A>
using Passed = std::decay_t<const A&>;

} // namespace lapwing::detail::functions
