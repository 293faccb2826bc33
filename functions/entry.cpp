#include <lapwing/detail/functions/entry.hpp>

#include "src/support/hash.hpp"
#include "src/support/mutex.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

namespace lapwing {

void ByteReader::throw_short(std::size_t bytes) const {
    throw Error{
        fmt::format("a message of a function has {} bytes left, and {} are to be read: what Serialise writes and "
                    "reads must be the same",
                    left(), bytes)};
}

namespace detail::functions {
namespace {

constexpr std::size_t most_lists = 256;

/// Entries are static variables, which are made known before main() and when libraries are loaded, and stay.
struct Entries {
    support::Mutex mutex{support::LockRank::leaf}; ///< of those that add
    std::array<std::atomic<FunctionEntry*>, most_lists> lists{};

    static Entries& instance() {
        static Entries* const entries = new Entries;
        return *entries;
    }
};

[[nodiscard]] std::atomic<FunctionEntry*>& list_of(std::uint64_t number) {
    return Entries::instance().lists[number % most_lists];
}

} // namespace

void FunctionEntry::make_known(const char* signature, const char* type) noexcept {
    const std::lock_guard guard{Entries::instance().mutex};
    if (number_ != 0) return;
    number_ = support::hash_of({support::checksum_of(signature)});
    type_ = type;
    // Types without linkage may share a name with one of another source: they are counted, in the order in which they
    // are entered, which is the same in one program.
    while (find(number_) != nullptr) number_ = support::hash_of({number_});
    add_to_list();
}

const FunctionEntry& FunctionEntry::enter(FunctionEntry& fresh) noexcept {
    const std::lock_guard guard{Entries::instance().mutex};
    if (const FunctionEntry* const other = find(fresh.number_)) return *other;
    fresh.add_to_list();
    return fresh;
}

void FunctionEntry::add_to_list() noexcept {
    std::atomic<FunctionEntry*>& list = list_of(number_);
    next_ = list.load(std::memory_order_relaxed);
    list.store(this, std::memory_order_release); // with what find() reads of it
}

const FunctionEntry* FunctionEntry::find(std::uint64_t number) noexcept {
    for (const FunctionEntry* entry = list_of(number).load(std::memory_order_acquire); entry != nullptr;
         entry = entry->next_)
        if (entry->number_ == number) return entry;
    return nullptr;
}

void Invocation::fail() {
    if (++failed != 1 && failed_calls == nullptr) return;
    std::string text;
    try {
        throw;
    } catch (const std::exception& error) {
        text = error.what();
    } catch (...) {
        text = "an exception other than std::exception";
    }
    if (failed_calls != nullptr) failed_calls->push_back({.index = at, .text = text});
    if (failed == 1) first_failure = std::move(text);
}

void Invocation::throw_outside(std::uint64_t index, std::size_t element_bytes) const {
    throw Error{fmt::format("element {} of {} bytes is outside of this rank's part of {} bytes", index, element_bytes,
                            part.size())};
}

} // namespace detail::functions
} // namespace lapwing
