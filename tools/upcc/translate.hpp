#pragma once

#include "optimisations.hpp"

#include <optional>
#include <string>
#include <vector>

namespace upcc {

struct Translation {
    std::string preprocessed;
    std::string prelude;                     ///< what lapwing_upcc.h declares, preprocessed
    std::string file;                        ///< as the programmer names it
    int threads = 0;                         ///< 0: any number
    std::vector<std::string> parser_options; ///< -W…, -std=…
    Optimisations optimisations = {};
};

/// UPC to C, or nothing after errors, which it has printed.
[[nodiscard]] std::optional<std::string> translate(const Translation& translation);

} // namespace upcc
