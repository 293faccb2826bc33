#pragma once

#include "src/messages/remote_calls.hpp"

#include <lapwing/detail/functions/entry.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

/// What travels between the ranks for functions at the owner, as payloads of remote calls.
namespace lapwing::detail::functions {

// Numbers of handlers.
inline constexpr messages::HandlerNumber post_handler{0x66756e01};    ///< payload: runs
inline constexpr messages::HandlerNumber ask_handler{0x66756e02};     ///< payload: AskHead, arguments; answer: Answer
inline constexpr messages::HandlerNumber result_handler{0x66756e03};  ///< payload: ResultHead, the result or a text
inline constexpr messages::HandlerNumber fence_handler{0x66756e04};   ///< answer: FailedPosts
inline constexpr messages::HandlerNumber relay_handler{0x66756e05};   ///< payload: RelayHead, calls
inline constexpr messages::HandlerNumber relayed_handler{0x66756e06}; ///< payload: RelayedHead and what it says
inline constexpr messages::HandlerNumber deposit_handler{0x66756e07}; ///< payload: a token, arguments

/// Calls of one function without results; `bytes` of arguments follow, padded to 8.
struct RunHead {
    std::uint64_t function = 0; ///< FunctionEntry::number()
    std::uint64_t window = 0;   ///< that the calls are about; no_window: none
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;
    Form form = Form::wide;
    std::uint32_t reserved = 0;
};

struct AskHead {
    std::uint64_t function = 0;
    std::uint64_t window = 0;
    std::uint64_t token = 0; ///< of the caller, for ResultHead
    std::uint32_t count = 0;
    Form form = Form::wide;
    std::uint32_t for_program = 0; ///< 1: runs in a thread of the program
    std::uint32_t deposited = 0;   ///< 1: the arguments, which fit into no packet, have come before, with the token
};

/// No window has this number.
inline constexpr std::uint64_t no_window = ~std::uint64_t{0};

/// The answer to an AskHead begins with it; the result follows where it is here.
struct Answer {
    enum Kind : std::uint32_t {
        none, ///< as the engine leaves it where nothing was done
        here,
        late ///< comes in a message of its own, which may overtake this one
    };
    std::uint32_t kind = none;
    std::uint32_t bytes = 0; ///< of the result
};

/// A result that no answer could hold, or a failure.
struct ResultHead {
    std::uint64_t token = 0;
    std::uint64_t failed = 0;  ///< 1: the text of an exception follows
    std::uint64_t unknown = 0; ///< number of the function if it is not known there
};

/// Calls at several ranks, in runs of one kind.
struct RelayHead {
    std::uint64_t token = 0;        ///< for RelayedHead
    std::uint32_t count = 0;        ///< of all calls
    std::uint32_t result_bytes = 0; ///< of each call; 0: none is asked for
    std::uint32_t step = 0;         ///< of its way: 0, 1, …
    std::uint32_t reserved = 0;
};

/// Each call follows as its target's rank, in 4 bytes, and its arguments.
struct RelayRun {
    std::uint64_t function = 0;
    std::uint64_t window = 0;
    std::uint32_t argument_bytes = 0; ///< of one call
    Form form = Form::wide;
    std::uint32_t count = 0;
    std::uint32_t reserved = 0;

    [[nodiscard]] bool is_like(const RelayRun& other) const noexcept {
        return function == other.function && window == other.window && argument_bytes == other.argument_bytes &&
               form == other.form;
    }
};

/// The calls of a RelayHead have run. Their results follow, and `failed` times a RelayedFailure and its text.
struct RelayedHead {
    std::uint64_t token = 0;
    std::uint32_t failed = 0;
    std::uint32_t reserved = 0;
};
struct RelayedFailure {
    std::uint64_t unknown = 0; ///< see ResultHead
    std::uint32_t index = 0;   ///< of the call
    std::uint32_t text_bytes = 0;
};

/// What has become of the posts of one rank since it last asked.
struct FailedPosts {
    std::uint64_t count = 0;
    std::uint64_t unknown = 0; ///< number of the first function that is not known there; 0: none
    std::array<char, 496> text{};
};

} // namespace lapwing::detail::functions
