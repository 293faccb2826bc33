#pragma once

#include "options.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace upcc {

/// Where the compiler, the headers and the libraries are: the file upcc.conf of the build or the installation.
class Configuration {
public:
    /// Next to the program, or in ../share/lapwing. Throws BadOption if there is none.
    [[nodiscard]] static Configuration of(const std::filesystem::path& program);
    [[nodiscard]] std::string value(const std::string& key) const;
    [[nodiscard]] std::vector<std::string> list(const std::string& key) const;

private:
    std::map<std::string, std::string> values_;
};

/// Preprocesses, translates, compiles and links according to the command line.
class Driver {
public:
    Driver(Options options, Configuration configuration);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    /// The exit code.
    [[nodiscard]] int work();

private:
    /// The object of a source, or the input itself if it is none; empty after an error.
    [[nodiscard]] std::string object_of(Input input);
    void add_macros(std::vector<std::string>& words) const;
    [[nodiscard]] bool run_preprocessor(const std::vector<std::string>& words, const std::string& to,
                                        const std::string& own);
    /// Without the source's name, and what else the preprocessor is to write.
    [[nodiscard]] std::vector<std::string> preprocessor_command(const Input& source) const;
    [[nodiscard]] bool preprocess(const Input& source, const std::string& to);
    /// Berkeley's compiler declares its extensions without a header; types of libraries that are announced by a macro,
    /// such as __UPC_ATOMIC__, are used before their headers are included.
    [[nodiscard]] bool preprocess_with_missed_headers(const Input& source, const std::string& to);
    /// Whether a source that may be C is UPC.
    [[nodiscard]] bool uses_upc(const Input& input, const std::string& preprocessed);
    [[nodiscard]] bool compile(const Input& source, bool translated, const std::string& to);
    [[nodiscard]] bool translate_file(const std::string& source, const std::string& preprocessed,
                                      const std::string& to);
    [[nodiscard]] bool link(std::vector<std::string> objects);
    /// What the program defines under names of the C library, such as read or close, gets other names: the runtime
    /// calls the library's. False after an error.
    [[nodiscard]] bool keep_apart_from_c_library(std::vector<std::string>& objects);
    [[nodiscard]] std::string prelude();
    /// LAPWING_ASSERTION_LEVEL among the options; 0 without it.
    [[nodiscard]] int assertion_level() const;
    [[nodiscard]] std::string temporary(const std::string& source, const std::string& suffix);
    [[nodiscard]] std::vector<std::string> includes() const;
    /// Standard input as a file, whose messages name <stdin>.
    [[nodiscard]] std::string standard_input();
    [[nodiscard]] std::ptrdiff_t sources() const; ///< how many files are not for the linker alone
    [[nodiscard]] bool linker_is_told(std::string_view option) const;
    /// -M… for the preprocessor.
    [[nodiscard]] std::vector<std::string> dependencies(const std::string& source) const;
    [[nodiscard]] int command(const std::vector<std::string>& words, const std::string& output = {});

    Options options_;
    Configuration configuration_;
    std::filesystem::path directory_; ///< for temporary files
    std::string prelude_;
    int files_ = 0;
    std::vector<std::string> not_of_library_; ///< -fno-builtin-… for the source that is being worked on
};

} // namespace upcc
