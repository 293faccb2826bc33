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

/// A source, an object or a library; or what the linker is told between them.
struct Input {
    enum class Language { by_name, upc, c, of_clang, for_linker };
    std::string name;
    Language language = Language::by_name;
    std::string clang_name = {}; ///< what Clang calls the language, after -x, where it compiles by itself
};

/// The command line.
struct Options {
    enum class Until { preprocess, check, translate, compile, link };
    Until until = Until::link;
    std::vector<Input> inputs;        ///< in their order
    std::string output;               ///< empty: the C compiler's default
    int threads = 0;                  ///< -T; 0: any number
    std::string heap;                 ///< -shared-heap
    std::string standard = "gnu11";   ///< -std=
    Optimisations optimisations = {}; ///< -O1 and above, or -opt; -fno-upc-…
    double progress = 5;              ///< seconds after which a step that is under way is named; 0: never
    bool old_keywords = false;        ///< --upc-1.0
    bool save_temporaries = false;
    bool verbose = false;
    bool assembly = false;    ///< -S
    bool relocatable = false; ///< -r
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
    std::vector<std::string> linker;             ///< -L, -s, … at any place
};

/// Words of the form @FILE stand for the words in that file. Throws BadOption.
[[nodiscard]] Options read_options(const std::vector<std::string>& arguments);

[[nodiscard]] std::string help();

} // namespace upcc
