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
#include <typeinfo>
#include <utility>
#include <vector>

/// What a rank runs for others: each function, with the types of its arguments, has an entry, which is known before the
/// program's objects are constructed, and a number that is made of its name, so that all ranks of one program have the
/// same.
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
    /// To be made known by `early`, which is passed so that it is a part of the program.
    constexpr FunctionEntry(Stub stub, [[maybe_unused]] void (*early)()) noexcept : stub_{stub} {}
    FunctionEntry(const char* signature, const char* type, Stub stub) noexcept : stub_{stub} {
        make_known(signature, type);
    }
    FunctionEntry(const FunctionEntry&) = delete;
    FunctionEntry& operator=(const FunctionEntry&) = delete;

    /// The first time. `signature`: names it, with its arguments; `type`: the function, for messages. Both stay.
    void make_known(const char* signature, const char* type) noexcept;

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

    std::uint64_t number_ = 0;
    const char* type_ = nullptr;
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

/// A function without members whose arguments are plain, about an element or about none: its calls are of known size.
template <class F, class... A>
struct KnownSize : std::bool_constant<std::is_empty_v<F> && (Plain<A> && ...)> {
    using Element = void;
    static constexpr std::size_t argument_bytes = (sizeof(A) + ... + 0);
    /// One after the other, in their order.
    [[nodiscard]] static std::tuple<A...> arguments_at([[maybe_unused]] const std::byte* place) {
        return {value_at<A>(std::exchange(place, place + sizeof(A)))...};
    }
};
template <class F, class T, class... A>
struct KnownSize<F, ElementAt<T>, A...> : KnownSize<F, A...> {
    using Element = T;
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
        using Known = KnownSize<F, A...>;
        if constexpr (!Known::value) run_one_by_one(call);
        else if constexpr (std::is_void_v<typename Known::Element>) run_all<void, false>(call);
        else if (call.form == Form::wide) run_all<std::uint64_t, false>(call);
        else if (call.form == Form::narrow) run_all<std::uint32_t, false>(call);
        else run_all<std::uint32_t, true>(call);
    }

private:
    static void run_one_by_one(Invocation& call) {
        for (call.at = 0; call.at < call.count; ++call.at) {
            F function = read_function(call);
            std::tuple<Got<A>...> arguments{receive<Got<A>>(call)...}; // in their order
            try {
                std::apply([&](auto&... each) { call_one(call, function, std::forward<Got<A>>(each)...); }, arguments);
            } catch (...) {
                call.fail();
                if constexpr (result_bytes != 0) // the next one's place is after it
                    if (call.results != nullptr) std::memset(call.results->grow(result_bytes), 0, result_bytes);
            }
        }
    }

    /// Calls of known size, about elements whose places are given as Place, or about none. Sizes are checked once, for
    /// all calls, and elements are on their way some calls before they are used: what they cost is then mostly the time
    /// of the memory, many at once. Their places are not known to be theirs until then.
    template <class Place, bool common>
    static void run_all(Invocation& call) {
        using Known = KnownSize<F, A...>;
        constexpr bool on_element = !std::is_void_v<Place>;
        constexpr std::size_t place_bytes = sizeof(std::conditional_t<on_element, Place, std::byte>) * on_element;
        constexpr std::size_t stride = place_bytes + (common ? 0 : Known::argument_bytes);
        constexpr std::uint32_t ahead = 16; // calls
        const std::byte* const shared = call.arguments.take(common ? Known::argument_bytes : 0);
        const std::byte* at = call.arguments.take(call.count * stride);
        // In registers: functions may change anything else.
        const std::uint32_t calls = call.count;
        const std::span<std::byte> part = call.part;
        std::byte* result = nullptr;
        if constexpr (result_bytes != 0)
            if (call.results != nullptr) result = call.results->grow(call.count * result_bytes);
        for (std::uint32_t k = 0; k < calls; ++k, at += stride) {
            F function{};
            const auto run_one = [&](auto&&... each) {
                if constexpr (result_bytes != 0) {
                    const Result one = function(std::forward<decltype(each)>(each)...);
                    if (result != nullptr) std::memcpy(result, &one, result_bytes);
                } else {
                    call_one(call, function, std::forward<decltype(each)>(each)...);
                }
            };
            auto arguments = Known::arguments_at(common ? shared : at + place_bytes);
            try {
                if constexpr (on_element) {
                    using T = typename Known::Element;
                    T* const elements = reinterpret_cast<T*>(part.data());
                    const std::size_t count = part.size() / sizeof(T);
                    if (calls - k > ahead)
                        __builtin_prefetch(elements +
                                           std::min<std::size_t>(value_at<Place>(at + ahead * stride), count));
                    const Place place = value_at<Place>(at);
                    if (place >= count) [[unlikely]]
                        call.throw_outside(place, sizeof(T));
                    std::apply([&](auto&... each) { run_one(elements[place], std::move(each)...); }, arguments);
                } else {
                    std::apply([&](auto&... each) { run_one(std::move(each)...); }, arguments);
                }
            } catch (...) {
                call.at = k;
                call.fail();
                if (result != nullptr) std::memset(result, 0, result_bytes);
            }
            if (result != nullptr) result += result_bytes;
        }
        call.at = calls;
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

// GCC's precompiled headers break if a template in them has a priority that does not depend on its arguments, which is
// all that Clang takes.
#ifdef __clang__
#define LAPWING_EARLY(S) support::before_programs
#else
template <class S>
inline constexpr int early_priority = support::before_programs;
#define LAPWING_EARLY(S) early_priority<S>
#endif

/// Makes the entry of S known before the program's objects are constructed: a runtime may be one of them.
template <class S, class F>
struct Early {
    [[gnu::constructor(LAPWING_EARLY(S)), gnu::used]] static void make_known() noexcept;
};
#undef LAPWING_EARLY

/// The function's entry; a function that uses it has one.
template <class S, class F>
inline constinit FunctionEntry entry_of{&S::run, &Early<S, F>::make_known};

template <class S, class F>
void Early<S, F>::make_known() noexcept {
    entry_of<S, F>.make_known(typeid(S).name(), typeid(F).name());
}

/// What the type of an argument of a call becomes: arrays of characters are text.
template <class A>
using Passed = std::decay_t<const A&>;

} // namespace lapwing::detail::functions
