#pragma once

#include "optimisations.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace upcc {

/// An error in the command line; the text says what to do.
struct BadOption : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The command line.
struct Options {
    enum class Until { preprocess, translate, compile, link };
    Until until = Until::link;
    std::vector<std::string> inputs;  ///< sources, objects and libraries, in their order
    std::string output;               ///< empty: the C compiler's default
    int threads = 0;                  ///< -T; 0: any number
    std::string heap;                 ///< -shared-heap
    std::string standard = "gnu11";   ///< -std=
    Optimisations optimisations = {}; ///< -O1 and above, or -opt; -fno-upc-…
    double progress = 5;              ///< seconds after which a step that is under way is named; 0: never
    bool save_temporaries = false;
    bool verbose = false;
    bool all_are_upc = false; ///< -x upc
    bool help = false;
    bool version = false;
    bool prints_includes = false;                ///< the directory of bupc_extern.h
    std::string answer;                          ///< to be printed instead of compiling
    std::string asks_clang;                      ///< the same, to be answered by Clang
    std::vector<std::string> preprocessor;       ///< -D, -U, -I, -include, …
    std::vector<std::string> dependencies;       ///< -M…
    std::vector<std::string> preprocesses_alone; ///< -dM, -P, …: without effect but with -E
    std::vector<std::string> warnings;           ///< -W…, -w
    std::vector<std::string> compiler;           ///< -O, -g, -f…, -m…
    std::vector<std::string> linker;             ///< -L, -Wl,…, -s, …
};

/// Throws BadOption.
[[nodiscard]] Options read_options(const std::vector<std::string>& arguments);

[[nodiscard]] std::string help();

} // namespace upcc
