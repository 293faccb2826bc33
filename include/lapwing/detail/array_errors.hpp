// Room: arrays
#pragma once

#include <lapwing/location.hpp>
#include <lapwing/range.hpp>
#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::detail::arrays {

/// "GlobalArray("name")", or with the number of its window, which is 0 before there is one.
[[nodiscard]] std::string array_text(std::string_view name, std::uint64_t number = 0);
/// The start of a constructor's messages, before there is an array; `name` is the array's.
[[nodiscard]] std::string constructor_text(const Team& team, std::string_view name);

/// What messages say of an array.
struct ArrayTitle {
    std::string name = {};
    std::string who = {};     ///< "rank 2 of 4", kept for messages after the team is gone
    std::uint64_t number = 0; ///< of the window, printed if there is no name
    std::string other = {};   ///< in place of GlobalArray and its name

    [[nodiscard]] std::string text() const { return other.empty() ? array_text(name, number) : other; }
    /// The start of a message; `call`: for example ".get".
    [[nodiscard]] std::string start(std::string_view call) const;
};

// Errors, out of line so that the callers stay small.

[[noreturn]] void throw_closed(const ArrayTitle& array, const char* call);
/// Of an array that is `closed`, or else one that MPI_Finalize has outlived.
[[noreturn]] void throw_not_open(const ArrayTitle& array, bool closed, const char* call);
/// Of a halo whose array was closed, resized or redistributed.
[[noreturn]] void throw_old_halo(const char* call);
/// A closed array has no indices at all: the text then says that it is `closed`.
[[noreturn]] void throw_outside(const ArrayTitle& array, const char* call, std::span<const std::int64_t> index,
                                std::span<const std::int64_t> extents, bool closed);
[[noreturn]] void throw_not_stored(const ArrayTitle& array, const char* call, std::span<const std::int64_t> index);
[[noreturn]] void throw_not_own(const ArrayTitle& array, const char* call, std::span<const std::int64_t> index,
                                Rank owner);
[[noreturn]] void throw_misplaced(const ArrayTitle& array, std::span<const std::int64_t> index,
                                  const Location& location, int ranks, std::uint64_t capacity);
[[noreturn]] void throw_wrong_domain(const ArrayTitle& array, std::span<const std::int64_t> index, Rank owner);
[[noreturn]] void throw_not_one_domain(const ArrayTitle& array, std::uint64_t domains);
[[noreturn]] void throw_no_view(const ArrayTitle& array, const char* call);
[[noreturn]] void throw_gaps(const ArrayTitle& array, const char* call, std::int64_t halo, int ranks);
[[noreturn]] void throw_no_home(const ArrayTitle& array, const char* call, std::span<const std::int64_t> index);
[[noreturn]] void throw_not_here(const ArrayTitle& array, std::span<const std::int64_t> index);
[[noreturn]] void throw_not_replicated(const ArrayTitle& array);
[[noreturn]] void throw_empty(const ArrayTitle& array, const char* call);
[[noreturn]] void throw_nothing_compares(const ArrayTitle& array, const char* call);
[[noreturn]] void throw_extents_differ(const ArrayTitle& array, std::span<const std::int64_t> extents,
                                       std::span<const std::int64_t> others);
[[noreturn]] void throw_ranks_differ(const ArrayTitle& array, int ranks, const ArrayTitle& other, int other_ranks);
[[noreturn]] void throw_list_lengths(const ArrayTitle& array, const char* call, std::size_t indices,
                                     std::size_t others);
/// Throws `failure`, a constructor's error, with a text that names the call.
[[noreturn]] void throw_from_rebuild(const ArrayTitle& array, const Team& team, const char* call,
                                     const std::exception_ptr& failure);

} // namespace lapwing::detail::arrays
