#pragma once

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace lapwing::detail::trace {

/// A word of a line: blanks and what is not printed are written as %20, and no text as -.
[[nodiscard]] inline std::string escaped(std::string_view text) {
    if (text.empty()) return "-";
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= 0x20 || byte == '%' || byte == 0x7f) result += fmt::format("%{:02x}", byte);
        else result += c;
    }
    return result;
}

/// The words of one line, as they are read. What is not as expected throws UsageError.
class Words {
public:
    explicit Words(std::string_view line) : rest_{line} {}

    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }
    std::string_view next() {
        const std::string_view found = rest_.substr(0, rest_.find(' '));
        rest_.remove_prefix(std::min(found.size() + 1, rest_.size()));
        return found;
    }
    /// The value of `key=…`, which comes next.
    std::string_view value(std::string_view key) {
        const std::string_view word = next();
        if (!word.starts_with(key) || word.size() == key.size() || word[key.size()] != '=')
            throw UsageError{fmt::format("'{}=' was expected, and '{}' found", key, word)};
        return word.substr(key.size() + 1);
    }
    template <class Number = std::uint64_t>
    static Number number(std::string_view text, int base = 10) {
        Number value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
        if (error != std::errc{} || end != text.data() + text.size())
            throw UsageError{fmt::format("'{}' is not a number", text)};
        return value;
    }
    template <class Number = std::uint64_t>
    Number number_of(std::string_view key) {
        return number<Number>(value(key));
    }

private:
    std::string_view rest_;
};

[[nodiscard]] inline std::string unescaped(std::string_view text) {
    if (text == "-") return {};
    std::string result;
    for (std::size_t k = 0; k < text.size(); ++k) {
        if (text[k] == '%' && k + 2 < text.size()) {
            result += static_cast<char>(Words::number<unsigned>(text.substr(k + 1, 2), 16));
            k += 2;
        } else {
            result += text[k];
        }
    }
    return result;
}

/// Calls `take(key, text)` for each of `key:text,…`.
template <class Take>
void for_each_item(std::string_view list, Take take) {
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(','));
        list.remove_prefix(std::min(item.size() + 1, list.size()));
        const auto colon = item.find(':');
        if (colon == item.npos) throw UsageError{fmt::format("'{}' has no ':'", item)};
        take(item.substr(0, colon), item.substr(colon + 1));
    }
}

} // namespace lapwing::detail::trace
