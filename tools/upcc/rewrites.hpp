#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace upcc {

/// What the pre-pass makes of the tokens of a source: what replaces them, and what comes before them.
class Rewrites {
public:
    explicit Rewrites(std::size_t tokens) : replaced_(tokens), is_replaced_(tokens), before_(tokens + 1) {}

    void replace(std::size_t token, std::string text) {
        replaced_[token] = std::move(text);
        is_replaced_[token] = true;
    }
    [[nodiscard]] bool is_replaced(std::size_t token) const { return is_replaced_[token]; }
    [[nodiscard]] const std::string& replacement(std::size_t token) const { return replaced_[token]; }
    /// What is before a token, or after the last one.
    [[nodiscard]] std::string& before(std::size_t token) { return before_[token]; }
    [[nodiscard]] const std::string& before(std::size_t token) const { return before_[token]; }

private:
    std::vector<std::string> replaced_;
    std::vector<bool> is_replaced_;
    std::vector<std::string> before_;
};

} // namespace upcc
