#pragma once

#include "optimisations.hpp"

#include <optional>
#include <string>
#include <vector>

namespace upcc {

struct Translation {
    std::string preprocessed;
    std::string prelude;                     ///< the declarations of lapwing_upcc.h, preprocessed
    std::string file;                        ///< as the programmer names it
    int threads = 0;                         ///< 0: any number
    std::vector<std::string> parser_options; ///< -W…, -std=…
    Optimisations optimisations = {};
};

/// Translates UPC to C; nullopt after errors, which it has printed.
[[nodiscard]] std::optional<std::string> translate(const Translation& translation);

} // namespace upcc
