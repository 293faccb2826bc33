#pragma once

#include "token_list.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace upcc {

/// A definition of main that Clang refuses, or whose status is not defined: `main(int, char*)`, `void main()`,
/// `static int main()`. It becomes a function with another name, which a main of the translator's calls.
struct OddMain {
    std::vector<std::size_t> names; ///< its tokens
    std::size_t end;                ///< the last brace
    bool returns;                   ///< its status, instead of 0
};
[[nodiscard]] std::optional<OddMain> odd_main(const TokenList& tokens);

inline constexpr const char* odd_main_name = "lapwing_upcc_main";
/// The main that calls it.
[[nodiscard]] std::string caller_of(const OddMain& odd);

} // namespace upcc
