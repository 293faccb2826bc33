// Atomics on integers of 1 and 2 bytes: neither MPI nor messages have them, so the word that contains the value is
// compared and swapped.
#include <lapwing/detail/atomic_place.hpp>

#include "src/mpi/atomics.hpp"
#include "window/window_atomics.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lapwing::detail::window {
namespace {

using mpi::AtomicOperation;

/// The aligned 4 bytes that a value of 1 or 2 bytes lies in.
class Word {
public:
    /// Throws RangeError.
    Word(Window& window, SmallInteger type, Rank target, Offset offset, const char* call)
        : window_{window},
          type_{type},
          target_{target},
          offset_{offset.bytes & ~std::uint64_t{3}},
          place_{offset.bytes & 3} {
        const std::uint64_t size = window.size(target); // says if the window is closed, or the rank none
        if (offset.bytes % type.bytes != 0)
            throw RangeError{
                fmt::format("{}: offset {} is not a multiple of the {} bytes of the value; atomics need aligned values",
                            who(call), offset.bytes, type.bytes)};
        if (size < 4 || offset_.bytes > size - 4)
            throw RangeError{fmt::format(
                "{}: the value of {} bytes at offset {} lies in the 4 bytes from offset {} on, which leave rank {}'s "
                "part of "
                "{} bytes; atomics of 1 and 2 bytes change the 4 around them: make the part a multiple of 4 bytes",
                who(call), type.bytes, offset.bytes, offset_.bytes, target.value, size)};
        atomics().check(mpi::AtomicType::uint32, target.value, offset_.bytes, call);
    }

    [[nodiscard]] std::uint32_t read(std::memory_order order) {
        const std::uint32_t none = 0;
        std::uint32_t word = 0;
        atomics().fetch(AtomicOperation::read, mpi::AtomicType::uint32, target_.value, offset_.bytes, &none, &word,
                        order);
        return word;
    }
    /// What the word was before.
    [[nodiscard]] std::uint32_t compare_swap(std::uint32_t expected, std::uint32_t desired, std::memory_order order) {
        std::uint32_t before = 0;
        atomics().compare_swap(mpi::AtomicType::uint32, target_.value, offset_.bytes, &expected, &desired, &before,
                               order, {place_, type_.bytes});
        return before;
    }
    /// The value is `before`, and stays so.
    void look(const void* before, const char* call) {
        std::uint64_t value = 0;
        std::memcpy(&value, before, type_.bytes);
        atomics().look(target_.value, offset_.bytes + place_, value, call);
    }

    void take(std::uint32_t word, void* value) const {
        std::memcpy(value, reinterpret_cast<const std::byte*>(&word) + place_, type_.bytes);
    }
    [[nodiscard]] std::uint32_t with(std::uint32_t word, const void* value) const {
        std::memcpy(reinterpret_cast<std::byte*>(&word) + place_, value, type_.bytes);
        return word;
    }

private:
    [[nodiscard]] std::string who(const char* call) const { return window_.state().who(call); }
    [[nodiscard]] WindowAtomics& atomics() const { return window_.state().atomics(); }

    Window& window_;
    SmallInteger type_;
    Rank target_;
    Offset offset_;
    std::uint64_t place_;
};

/// As a number of 32 bits, which holds each of the smaller ones.
[[nodiscard]] std::int32_t number(SmallInteger type, const void* value) {
    const auto as = [value]<class T>(T zero) {
        std::memcpy(&zero, value, sizeof zero);
        return static_cast<std::int32_t>(zero);
    };
    if (type.bytes == 1) return type.is_signed ? as(std::int8_t{}) : as(std::uint8_t{});
    return type.is_signed ? as(std::int16_t{}) : as(std::uint16_t{});
}

[[nodiscard]] std::uint32_t result_of(AtomicOperation operation, std::int32_t before, std::int32_t operand) {
    const auto bits = static_cast<std::uint32_t>(before);
    const auto others = static_cast<std::uint32_t>(operand);
    switch (operation) {
    case AtomicOperation::add: return bits + others; // modulo the size, of which the rest is cut off
    case AtomicOperation::bit_and: return bits & others;
    case AtomicOperation::bit_or: return bits | others;
    case AtomicOperation::bit_xor: return bits ^ others;
    case AtomicOperation::min: return static_cast<std::uint32_t>(std::min(before, operand));
    case AtomicOperation::max: return static_cast<std::uint32_t>(std::max(before, operand));
    case AtomicOperation::replace: return others;
    case AtomicOperation::read: return bits;
    }
    return bits;
}

} // namespace

void AtomicPlace::fetch(AtomicOperation operation, SmallInteger type, const void* operand, void* before,
                        std::memory_order order) const {
    Word word{*window_, type, target_, offset_, mpi::fetch_name(operation)};
    std::uint32_t seen = word.read(order);
    while (operation != AtomicOperation::read) {
        word.take(seen, before);
        const std::uint32_t after = result_of(operation, number(type, before), number(type, operand));
        const auto byte = static_cast<std::uint8_t>(after);
        const auto two = static_cast<std::uint16_t>(after);
        const std::uint32_t desired = word.with(seen, type.bytes == 1 ? static_cast<const void*>(&byte) : &two);
        const std::uint32_t found = word.compare_swap(seen, desired, order);
        if (found == seen) {
            if (desired == seen) word.look(before, mpi::fetch_name(operation));
            return;
        }
        seen = found; // another atomic came between, on this value or beside it
    }
    word.take(seen, before);
    word.look(before, mpi::fetch_name(operation));
}

void AtomicPlace::compare_swap(SmallInteger type, const void* expected, const void* desired, void* before,
                               std::memory_order order) const {
    Word word{*window_, type, target_, offset_, "compare_swap"};
    for (std::uint32_t seen = word.read(order);;) {
        word.take(seen, before);
        if (std::memcmp(before, expected, type.bytes) != 0) return word.look(before, "compare_swap");
        const std::uint32_t found = word.compare_swap(seen, word.with(seen, desired), order);
        if (found == seen) return;
        seen = found;
    }
}

} // namespace lapwing::detail::window
