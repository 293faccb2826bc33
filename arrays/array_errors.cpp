// The texts of the errors that calls on arrays throw.
#include <lapwing/detail/array_errors.hpp>

#include "arrays/index_texts.hpp"
#include "src/team/membership.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>

namespace lapwing::detail::arrays {

namespace {

[[nodiscard]] std::string text_of_rebuild(const ArrayTitle& array, const Team& team, const char* call,
                                          std::string_view reason) {
    // The reason names the constructor, or the window, and the rank.
    for (const std::string& start :
         {constructor_text(team, array.name) + ": ", array.start(call) + ": ", array.who + ": "})
        if (reason.starts_with(start)) {
            reason.remove_prefix(start.size());
            break;
        }
    return fmt::format("{}: {}", array.start(call), reason);
}

} // namespace

std::string array_text(std::string_view name, std::uint64_t number) {
    if (!name.empty()) return fmt::format("GlobalArray(\"{}\")", name);
    return number == 0 ? "GlobalArray" : fmt::format("GlobalArray(#{})", number);
}

std::string constructor_text(const Team& team, std::string_view name) {
    return fmt::format("{}: {}", team.who(), array_text(name));
}

std::string ArrayTitle::start(std::string_view call) const { return fmt::format("{}: {}{}", who, text(), call); }

void throw_closed(const ArrayTitle& array, const char* call) {
    const std::string remedy = "the array was closed, moved from or never made; make a new one";
    if (array.who.empty()) throw UsageError{fmt::format("GlobalArray{}: {}", call, remedy)};
    throw UsageError{fmt::format("{}: {}", array.start(call), remedy)};
}

void throw_not_open(const ArrayTitle& array, bool closed, const char* call) {
    if (closed) throw_closed(array, call);
    team::throw_finalized(array.start(call));
}

void throw_old_halo(const char* call) {
    throw UsageError{fmt::format("Halo::{}: the array of the halo was closed, or got other extents or another "
                                 "distribution; make halos of it afterwards",
                                 call)};
}

void throw_outside(const ArrayTitle& array, const char* call, std::span<const std::int64_t> index,
                   std::span<const std::int64_t> extents, bool closed) {
    // A closed array has extents 0, so that every access to one comes here.
    if (closed) throw_closed(array, (call + text(index)).c_str());
    std::size_t d = 0;
    while (index[d] >= 0 && index[d] < extents[d]) ++d;
    throw RangeError{
        fmt::format("{}{}: index {} of dimension {} is outside [0, {}); the array's extents are {}, its indices "
                    "those of domain()",
                    array.start(call), text(index), index[d], d, extents[d], text(extents))};
}

void throw_not_stored(const ArrayTitle& array, const char* call, std::span<const std::int64_t> index) {
    throw RangeError{
        fmt::format("{}: the distribution stores no element at {}; use indices of the ranks' local_domains(), "
                    "or a distribution that stores all",
                    array.start(call), text(index))};
}

void throw_not_own(const ArrayTitle& array, const char* call, std::span<const std::int64_t> index, Rank owner) {
    throw RangeError{
        fmt::format("{}{}: the element is owned by rank {}; local access needs an index of local_domains(), "
                    "use a(…) for others",
                    array.start(call), text(index), owner.value)};
}

void throw_misplaced(const ArrayTitle& array, std::span<const std::int64_t> index, const Location& location, int ranks,
                     std::uint64_t capacity) {
    throw RangeError{fmt::format(
        "{}: the distribution puts index {} at rank {}, offset {}, with {} contiguous elements (at "
        "least 1), but there are {} ranks of {} elements; correct its locate() or local_capacity()",
        array.start(""), text(index), location.owner.value, location.offset, location.contiguous, ranks, capacity)};
}

void throw_wrong_domain(const ArrayTitle& array, std::span<const std::int64_t> index, Rank owner) {
    throw RangeError{fmt::format("{}: the distribution's domain() lists index {} for this rank, which {}; correct its "
                                 "domain() or its locate()",
                                 array.start(""), text(index),
                                 owner.value < 0 ? std::string{"is outside of the extents or not stored"}
                                                 : fmt::format("locate() puts at rank {}", owner.value))};
}

void throw_not_one_domain(const ArrayTitle& array, std::uint64_t domains) {
    throw UsageError{fmt::format("{}: the rank owns {} separate domains; go through local_domains()",
                                 array.start(".local_domain"), domains)};
}

void throw_no_view(const ArrayTitle& array, const char* call) {
    throw UsageError{fmt::format("{}: parts of a distribution of the program's own need not be rectangular; use "
                                 "for_each_local() or local()",
                                 array.start(call))};
}

void throw_gaps(const ArrayTitle& array, const char* call, std::int64_t halo, int ranks) {
    if (halo != 0)
        throw UsageError{fmt::format("{}: the rows of the array have room for a halo of {} elements at their ends; use "
                                     "local_view() and its strides, for_each_local(), or an array without a halo",
                                     array.start(call), halo)};
    throw UsageError{
        fmt::format("{}: the blocks of the distribution do not go round evenly over {} ranks, so that rows of some "
                    "parts have unused elements at their ends; use local_view() and its strides, "
                    "for_each_local(), or extents that the blocks of all processes divide",
                    array.start(call), ranks)};
}

void throw_no_home(const ArrayTitle& array, const char* call, std::span<const std::int64_t> index) {
    throw UsageError{
        fmt::format("{}{}.{}: every rank has a copy of the elements of a replicated array, so that none is "
                    "the place of an atomic; use Block or Cyclic",
                    array.start(""), text(index), call)};
}

void throw_not_here(const ArrayTitle& array, std::span<const std::int64_t> index) {
    throw RangeError{fmt::format(
        "{}{}: the element is neither the rank's own nor prefetched, nor of its node; prefetch a pattern that has "
        "it, or read it from the array",
        array.start(".block_at"), text(index))};
}

void throw_not_replicated(const ArrayTitle& array) {
    throw UsageError{fmt::format("{}: every element has one owner; broadcast is for arrays made with Replicated",
                                 array.start(".broadcast"))};
}

void throw_empty(const ArrayTitle& array, const char* call) {
    throw UsageError{
        fmt::format("{}: the array has no elements, so neither a smallest nor a largest one; ask for size() first",
                    array.start(call))};
}

void throw_nothing_compares(const ArrayTitle& array, const char* call) {
    throw UsageError{
        fmt::format("{}: no element is a number: all are NaN, or the distribution stores none", array.start(call))};
}

void throw_extents_differ(const ArrayTitle& array, std::span<const std::int64_t> extents,
                          std::span<const std::int64_t> others) {
    throw RangeError{
        fmt::format("{}: extents {} cannot take the elements of an array of extents {}; they must be equal",
                    array.start(".copy_from"), text(extents), text(others))};
}

void throw_ranks_differ(const ArrayTitle& array, int ranks, const ArrayTitle& other, int other_ranks) {
    throw UsageError{fmt::format(
        "{}: this array's team of {} ranks cannot copy from {} of another team, which has {} ranks, and others; both "
        "need the same ranks, in any order: make both over the larger team, the one of fewer ranks with "
        "OnRanks{{distribution, ranks}}, or copy with get() and put() of slices on ranks that are in both",
        array.start(".copy_from"), ranks, other.text(), other_ranks)};
}

void throw_list_lengths(const ArrayTitle& array, const char* call, std::size_t indices, std::size_t others) {
    throw RangeError{
        fmt::format("{}: {} indices with {} values; pass as many of each, and operands one for all or as many",
                    array.start(call), indices, others)};
}

void throw_from_rebuild(const ArrayTitle& array, const Team& team, const char* call,
                        const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const RangeError& error) {
        throw RangeError{text_of_rebuild(array, team, call, error.what())};
    } catch (const MismatchError& error) {
        throw MismatchError{text_of_rebuild(array, team, call, error.what())};
    }
}

} // namespace lapwing::detail::arrays
