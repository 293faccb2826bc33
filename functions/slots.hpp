#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::functions {

/// Objects that messages name by a number, which is used again once it is given back.
template <class T>
class Slots {
public:
    /// The number of a slot that is not in use. What was there before is left as it is.
    [[nodiscard]] std::uint32_t take() {
        if (free_.empty()) {
            slots_.emplace_back();
            free_.reserve(slots_.size()); // for give_back()
            free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
        }
        const std::uint32_t number = free_.back();
        free_.pop_back();
        return number;
    }
    void give_back(std::uint32_t number) noexcept { free_.push_back(number); }

    [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
    [[nodiscard]] T& operator[](std::uint32_t number) { return slots_[number]; }
    [[nodiscard]] auto begin() const noexcept { return slots_.begin(); }
    [[nodiscard]] auto end() const noexcept { return slots_.end(); }

private:
    std::vector<T> slots_;
    std::vector<std::uint32_t> free_;
};

} // namespace lapwing::detail::functions
