#include "driver.hpp"

#include "lexer.hpp"
#include "own_names.hpp"
#include "prepass.hpp"
#include "preprocess.hpp"
#include "process.hpp"
#include "translate.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

namespace {

// What a signal handler may use.
char progress_line[512];
std::size_t progress_bytes = 0;
extern "C" void tell_progress(int) {
    if (write(STDERR_FILENO, progress_line, progress_bytes) < 0) progress_bytes = 0;
}

/// While it exists, a line names the source each time that so many seconds have passed.
class Progress {
public:
    Progress(const std::string& source, double seconds) {
        if (seconds <= 0) return;
        const std::string line = "lapwing-upcc: " + source + " is being compiled\n";
        progress_bytes = line.copy(progress_line, sizeof progress_line);
        std::signal(SIGALRM, tell_progress);
        every(seconds);
    }
    ~Progress() { every(0); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

private:
    static void every(double seconds) {
        timeval time{};
        time.tv_sec = static_cast<time_t>(seconds);
        time.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(time.tv_sec)) * 1e6);
        const itimerval timer{time, time};
        setitimer(ITIMER_REAL, &timer, nullptr);
    }
};

} // namespace

namespace upcc {

namespace fs = std::filesystem;

namespace {

[[nodiscard]] std::string contents(const fs::path& file) {
    std::ifstream stream{file, std::ios::binary};
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

/// C++ and assembly, which Clang compiles by itself.
[[nodiscard]] bool is_of_clang(const Input& input) {
    static constexpr std::array<std::string_view, 8> extensions{".cc", ".cpp", ".cxx", ".c++", ".C", ".s", ".S", ".sx"};
    return input.language == Input::Language::of_clang ||
           (input.language == Input::Language::by_name &&
            std::ranges::find(extensions, fs::path{input.name}.extension().string()) != extensions.end());
}

[[nodiscard]] bool can_be_written(const fs::path& file) {
    if (fs::exists(file)) return fs::is_regular_file(file) && ::access(file.c_str(), W_OK) == 0;
    const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path{"."};
    return ::access(directory.c_str(), W_OK) == 0;
}

/// By its name, unless -x says what it is; also after -x, objects and libraries are none.
[[nodiscard]] bool is_source(const Input& input) {
    const fs::path extension = fs::path{input.name}.extension();
    if (input.language != Input::Language::by_name)
        return extension != ".o" && extension != ".a" &&
               fs::path{input.name}.filename().string().find(".so") == std::string::npos;
    return is_of_clang(input) || extension == ".upc" || extension == ".c" || extension == ".i" || extension == ".h" ||
           input.name == "-";
}

[[nodiscard]] std::string directory_of(const Input& source) {
    const fs::path directory = fs::path{source.name}.parent_path();
    return directory.empty() ? "." : directory.string();
}

} // namespace

Configuration Configuration::of(const fs::path& program) {
    Configuration result;
    const fs::path self = fs::canonical("/proc/self/exe"), directory = self.parent_path();
    // Of several MPIs' compilers in one directory, lapwing-upcc.mpich has its file in share/lapwing.mpich.
    const fs::path data = directory.parent_path() / "share" / ("lapwing" + self.extension().string());
    for (const fs::path& file : {directory / "upcc.conf", data / "upcc.conf"}) {
        std::ifstream stream{file};
        if (!stream) continue;
        for (std::string line; std::getline(stream, line);) {
            const std::size_t equals = line.find('=');
            if (equals == line.npos || line[0] == '#') continue;
            std::string value = line.substr(equals + 1);
            // An installation may have been moved.
            for (std::size_t at; (at = value.find("@prefix@")) != value.npos;)
                value.replace(at, 8, directory.parent_path().string());
            result.values_[line.substr(0, equals)] = value;
        }
        return result;
    }
    throw BadOption{"there is no upcc.conf next to " + program.string() + ", nor in " + data.string() +
                    ": install it whole"};
}

std::string Configuration::value(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::string{} : found->second;
}

std::vector<std::string> Configuration::list(const std::string& key) const {
    std::vector<std::string> out;
    std::istringstream words{value(key)};
    for (std::string word; std::getline(words, word, ';');)
        if (!word.empty()) out.push_back(word);
    return out;
}

Driver::Driver(Options options, Configuration configuration)
    : options_{std::move(options)}, configuration_{std::move(configuration)} {
    std::string name = (fs::temp_directory_path() / "lapwing-upcc.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw BadOption{"no directory for temporary files can be made in " + fs::temp_directory_path().string() +
                        "; TMPDIR names another"};
    directory_ = name;
}

Driver::~Driver() {
    std::error_code none;
    fs::remove_all(directory_, none);
}

int Driver::command(const std::vector<std::string>& words, const std::string& output) {
    if (options_.verbose) std::cerr << in_one_line(words) << (output.empty() ? "" : " > " + output) << "\n";
    return run(words, output);
}

/// Those of UPC, also of sources in C that are not UPC: what they choose by them is the same in both.
void Driver::add_macros(std::vector<std::string>& words) const {
    words.insert(words.end(), {"-D__UPC__=1", "-D__UPC_VERSION__=201311L", "-D__LAPWING_UPC__=1",
                               "-DUPC_MAX_BLOCK_SIZE=2147483647"});
    for (const char* const library : {"COLLECTIVE", "TICK", "ATOMIC", "CASTABLE", "NB"})
        words.push_back(std::string{"-D__UPC_"} + library + "__=1");
    words.insert(words.end(), {"-D__UPC_IO__=2", "-D__UPC_PUPC__=1"});
    words.emplace_back(options_.threads > 0 ? "-D__UPC_STATIC_THREADS__=1" : "-D__UPC_DYNAMIC_THREADS__=1");
}

/// A command of Clang's preprocessor. `own`, if not empty, is where it looks for headers last, as other UPC compilers
/// do: `#include <own.h>`.
bool Driver::run_preprocessor(const std::vector<std::string>& words, const std::string& to, const std::string& own) {
    // With what else it is to write it runs by itself.
    const auto writes_more = [](const std::string& word) { return word.starts_with("-M") || word.starts_with("-d"); };
    if (to.empty() || std::any_of(words.begin(), words.end(), writes_more)) {
        std::vector<std::string> all = words;
        if (!own.empty()) all.insert(all.end(), {"-idirafter", own});
        return command(all, to) == 0;
    }
    if (options_.verbose) std::cerr << in_one_line(words) << " > " << to << "\n";
    return upcc::preprocess(words, to, own);
}

std::vector<std::string> Driver::includes() const {
    std::vector<std::string> out;
    for (const std::string& directory : configuration_.list("includes")) out.push_back("-I" + directory);
    return out;
}

std::string Driver::temporary(const std::string& source, const std::string& suffix) {
    const std::string name = fs::path{source}.stem().string() + suffix;
    return options_.save_temporaries ? name : (directory_ / (std::to_string(files_) + name)).string();
}

int Driver::assertion_level() const {
    int level = 0;
    std::string before;
    for (const std::string& word : options_.preprocessor) {
        const std::string name = before == "-D" || before == "-U" ? before + word : word;
        if (name.starts_with("-DLAPWING_ASSERTION_LEVEL=")) level = std::atoi(name.c_str() + name.find('=') + 1);
        if (name == "-ULAPWING_ASSERTION_LEVEL") level = 0;
        before = word;
    }
    return level;
}

/// The declarations of the translator's header, without its macros: the program's headers then follow as if it were not
/// there.
std::string Driver::prelude() {
    if (!prelude_.empty()) return prelude_;
    const std::string file = (directory_ / "prelude.i").string();
    std::vector<std::string> words{configuration_.value("clang"), "-E", "-P", "-x", "c", "-std=gnu99", "-w"};
    words.push_back("-I" + fs::path{configuration_.value("prelude")}.parent_path().string() + "/prelude");
    for (const std::string& word : includes()) words.push_back(word);
    words.push_back("-DLAPWING_ASSERTION_LEVEL=" + std::to_string(assertion_level()));
    words.push_back(configuration_.value("prelude"));
    if (!run_preprocessor(words, file, {})) return {};
    prelude_ = "# 1 \"/lapwing/upc/compiled.h\" 3\n" + contents(file);
    return prelude_;
}

/// As C compilers do, -MD and -MMD write FILE.d beside the result, with the object as the target.
std::vector<std::string> Driver::dependencies(const std::string& source) const {
    std::vector<std::string> words = options_.dependencies;
    const auto has = [&](std::string_view option) {
        return std::any_of(words.begin(), words.end(),
                           [&](const std::string& word) { return word.starts_with(option); });
    };
    const bool beside = has("-MD") || has("-MMD");
    if (!beside || options_.until == Options::Until::preprocess) return words;
    fs::path object = fs::path{source}.stem().string() + ".o", file = object;
    if (!options_.output.empty() && sources() == 1) file = options_.output;
    if (options_.until == Options::Until::compile) object = file;
    if (!has("-MF")) words.insert(words.end(), {"-MF", file.replace_extension(".d").string()});
    if (!has("-MT") && !has("-MQ")) words.insert(words.end(), {"-MQ", object.string()});
    return words;
}

std::vector<std::string> Driver::preprocessor_command(const Input& source) const {
    std::vector<std::string> words{configuration_.value("clang"), "-E", "-x", "c", "-std=" + options_.standard};
    if (is_of_clang(source)) {
        words = {configuration_.value("clang"), "-E"};
        if (!source.clang_name.empty()) words.insert(words.end(), {"-x", source.clang_name});
    }
    if (source.language != Input::Language::c && !is_of_clang(source)) {
        add_macros(words);
        if (options_.threads > 0) words.push_back("-DTHREADS=" + std::to_string(options_.threads));
        // The prelude has declared these.
        for (const char* const header : {"", "ATOMIC_", "COLLECTIVE_", "POINTER_", "RECORDING_", "TYPES_", "INLINE_"})
            words.push_back(std::string{"-DLAPWING_UPC_"} + header + "H");
    }
    words.insert(words.end(), options_.preprocessor.begin(), options_.preprocessor.end());
    for (const std::string& word : options_.compiler)
        if (word.rfind("-O", 0) == 0 || word.rfind("-m", 0) == 0 || word.rfind("-f", 0) == 0 || word == "-pthread")
            words.push_back(word);
    for (const std::string& word : options_.warnings)
        if (word == "-w") words.push_back(word);
    for (const std::string& word : includes()) words.push_back(word);
    return words;
}

bool Driver::preprocess(const Input& source, const std::string& to) {
    std::vector<std::string> words = preprocessor_command(source);
    for (const std::string& word : dependencies(source.name)) words.push_back(word);
    if (options_.until == Options::Until::preprocess)
        words.insert(words.end(), options_.preprocesses_alone.begin(), options_.preprocesses_alone.end());
    words.push_back(source.name);
    if (!run_preprocessor(words, to, is_of_clang(source) ? "" : directory_of(source))) return false;
    if (options_.until == Options::Until::preprocess || is_of_clang(source) || !options_.old_keywords) return true;
    const std::string text = with_old_keywords(contents(to));
    std::ofstream{to, std::ios::binary} << text;
    return true;
}

bool Driver::preprocess_with_missed_headers(const Input& source, const std::string& to) {
    if (!preprocess(source, to)) return false;
    if (source.language == Input::Language::c) return true;
    const std::vector<std::string> missed = headers_missed(contents(to));
    if (missed.empty()) return true;
    const std::vector<std::string> before = options_.preprocessor;
    std::vector<std::string> early{"-DLAPWING_UPCC_EARLY"};
    for (const std::string& header : missed) early.insert(early.end(), {"-include", header});
    early.insert(early.end(), {"-include", "lapwing_upcc_in_time.h"});
    options_.preprocessor.insert(options_.preprocessor.begin(), early.begin(), early.end());
    const bool good = preprocess(source, to);
    options_.preprocessor = before;
    return good;
}

bool Driver::compile(const Input& source, bool translated, const std::string& to) {
    std::vector<std::string> words{configuration_.value("clang"), "-fcommon"};
    const bool of_clang = is_of_clang(source);
    words.push_back(of_clang ? "-Qunused-arguments" : "-std=" + options_.standard);
    // The program's send, index or select are not those of the libraries that it is linked with, unless it asks for
    // that.
    const bool exports = linker_is_told("-rdynamic") || linker_is_told("-Wl,-E") || linker_is_told("export-dynamic");
    if (!exports) words.emplace_back("-fvisibility=hidden");
    words.insert(words.end(), not_of_library_.begin(), not_of_library_.end());
    if (translated) {
        // With lines, so that errors of the running program can name their place; -g… among the options comes later.
        words.insert(words.end(), {"-x", "cpp-output", "-w", "-gline-tables-only"});
        // The translator has already warned about these.
        for (const char* const old : {"implicit-function-declaration", "implicit-int", "int-conversion",
                                      "incompatible-function-pointer-types", "return-type"})
            words.push_back(std::string{"-Wno-error="} + old);
    } else {
        if (!of_clang && source.language != Input::Language::c) add_macros(words);
        words.insert(words.end(), options_.preprocessor.begin(), options_.preprocessor.end());
        words.insert(words.end(), options_.warnings.begin(), options_.warnings.end());
        if (!of_clang) words.emplace_back("-Wno-unknown-pragmas"); // #pragma upc c_code
        for (const std::string& word : includes()) words.push_back(word);
        if (!of_clang) words.insert(words.end(), {"-idirafter", directory_of(source)});
        if (of_clang)
            for (const std::string& word : dependencies(source.name)) words.push_back(word);
        if (!of_clang || !source.clang_name.empty())
            words.insert(words.end(), {"-x", of_clang ? source.clang_name : "c"});
    }
    words.insert(words.end(), options_.compiler.begin(), options_.compiler.end());
    if (options_.until == Options::Until::check) words.insert(words.end(), {"-fsyntax-only", source.name});
    else words.insert(words.end(), {options_.assembly ? "-S" : "-c", source.name, "-o", to});
    return command(words) == 0;
}

bool Driver::translate_file(const std::string& source, const std::string& preprocessed, const std::string& to) {
    Translation translation{without_digraphs(contents(preprocessed)), prelude(), source, options_.threads,
                            options_.warnings};
    translation.parser_options.insert(translation.parser_options.begin(), "-std=" + options_.standard);
    translation.parser_options.insert(translation.parser_options.end(), not_of_library_.begin(), not_of_library_.end());
    translation.optimisations = options_.optimisations;
    // Checked accesses and arithmetic are those of the source, one by one.
    if (assertion_level() >= 2) translation.optimisations = {.explain = options_.optimisations.explain};
    if (translation.prelude.empty()) return false;
    const std::optional<std::string> text = translate(translation);
    if (!text) return false;
    std::ofstream stream{to, std::ios::binary};
    stream << *text;
    stream.close();
    if (!stream) std::cerr << "lapwing-upcc: " << to << " cannot be written\n";
    return static_cast<bool>(stream);
}

std::string Driver::standard_input() {
    std::string file = (directory_ / "stdin.c").string();
    std::ofstream{file, std::ios::binary} << "# 1 \"<stdin>\"\n" << std::cin.rdbuf();
    // Beside the file in which it is kept there is nothing that it includes.
    options_.preprocessor.insert(options_.preprocessor.begin(), {"-iquote", "."});
    return file;
}

std::ptrdiff_t Driver::sources() const {
    return std::count_if(options_.inputs.begin(), options_.inputs.end(),
                         [](const Input& input) { return input.language != Input::Language::for_linker; });
}

bool Driver::linker_is_told(std::string_view option) const {
    const auto has = [&](const std::string& word) { return word.find(option) != word.npos; };
    return std::any_of(options_.linker.begin(), options_.linker.end(), has) ||
           std::any_of(options_.compiler.begin(), options_.compiler.end(), has) ||
           std::any_of(options_.inputs.begin(), options_.inputs.end(), [&](const Input& input) {
               return input.language == Input::Language::for_linker && has(input.name);
           });
}

bool Driver::uses_upc(const Input& input, const std::string& preprocessed) {
    if (is_upc(contents(preprocessed))) return true;
    if (options_.threads == 0) return false;
    // With -T, THREADS is a number in the preprocessed text.
    const std::string other = (directory_ / "any_threads.i").string();
    const auto quietly = [&](ThreadsMacro& threads) {
        std::vector<std::string> words = preprocessor_command(input);
        words.push_back(input.name);
        return preprocess_quietly(words, other, directory_of(input), threads);
    };
    ThreadsMacro with_number, without;
    const int threads = std::exchange(options_.threads, 0);
    const bool good = quietly(without);
    options_.threads = threads;
    if (good && is_upc(contents(other))) return true;
    if (without.defined) return false;
    static_cast<void>(quietly(with_number));
    return with_number.chosen_by;
}

std::string Driver::object_of(Input input) {
    ++files_;
    using Language = Input::Language;
    const bool links = options_.until == Options::Until::link, of_clang = is_of_clang(input);
    if (!is_source(input) && links) return input.name;
    const std::string shown = input.name == "-" ? "<stdin>" : input.name;
    if (input.name == "-") {
        if (input.language == Language::by_name && options_.until != Options::Until::preprocess)
            throw BadOption{"for standard input as a source, -x names its language, or -E only preprocesses it"};
        input.name = standard_input();
    } else if (!fs::exists(input.name)) {
        std::cerr << "lapwing-upcc: " << input.name << ": there is no such file\n";
        return {};
    }
    if (!is_source(input)) {
        std::cerr << "lapwing-upcc: " << input.name << " is for the linker, and not used here\n";
        return input.name;
    }
    const Progress progress{shown, options_.progress};
    const bool compiles = options_.until == Options::Until::compile;
    const char* const suffix = options_.assembly ? ".s" : ".o";
    const std::string stem = shown == "<stdin>" ? "-" : fs::path{input.name}.stem().string();
    std::string object = compiles ? (options_.output.empty() ? stem + suffix : options_.output)
                                  : (directory_ / (std::to_string(files_) + ".o")).string();
    if (options_.until == Options::Until::preprocess) return preprocess(input, options_.output) ? "-" : "";
    not_of_library_.clear();
    const auto compiled_by_clang = [&] { return compile(input, false, object) ? object : std::string{}; };
    if (of_clang) return options_.until == Options::Until::translate ? "-" : compiled_by_clang();
    const bool is_preprocessed = fs::path{input.name}.extension() == ".i";
    const std::string preprocessed = is_preprocessed ? input.name : temporary(input.name, ".i");
    if (!is_preprocessed && !preprocess_with_missed_headers(input, preprocessed)) return {};
    for (const std::string& name : library_names_taken(contents(preprocessed)))
        not_of_library_.push_back("-fno-builtin-" + name);
    const bool may_be_c = fs::path{input.name}.extension() == ".c" && input.language == Language::by_name;
    if (input.language == Language::c || (may_be_c && !uses_upc(input, preprocessed))) return compiled_by_clang();
    const bool stops = options_.until == Options::Until::translate;
    std::string translated =
        stops ? (options_.output.empty() ? stem + ".trans.i" : options_.output) : temporary(input.name, ".trans.i");
    if (!translate_file(shown, preprocessed, translated)) return {};
    if (stops || options_.until == Options::Until::check) return translated;
    if (compile({translated}, true, object)) return object;
    if (!can_be_written(object)) return {}; // which Clang has said
    std::cerr << "lapwing-upcc: " << shown
              << ": the C that it was translated to does not compile, which is an error in lapwing-upcc; --save-temps "
                 "keeps it\n";
    return {};
}

bool Driver::keep_apart_from_c_library(std::vector<std::string>& objects) {
    const auto is_object = [](const std::string& word) {
        return word[0] != '-' && (word.ends_with(".o") || word.ends_with(".a"));
    };
    const std::string symbols = (directory_ / "symbols").string();
    std::vector<std::string> list{"nm", "-P", "-g", "--defined-only"};
    std::copy_if(objects.begin(), objects.end(), std::back_inserter(list), is_object);
    // The linker is of the same package; where it is another one, programs are linked as they are.
    if (list.back()[0] == '-' || find_program("nm").empty() || find_program("objcopy").empty()) return true;
    if (command(list, symbols) != 0) return false;
    std::vector<std::string> rename{"objcopy"};
    for (const std::string& name : names_of_c_library(contents(symbols)))
        rename.insert(rename.end(), {"--redefine-sym", std::string{name}.append("=lapwing_program_").append(name)});
    if (rename.size() == 1) return true;
    for (std::string& object : objects) {
        if (!is_object(object)) continue;
        const std::string renamed =
            (directory_ / ("renamed_" + std::to_string(++files_) + fs::path{object}.extension().string())).string();
        std::vector<std::string> words = rename;
        words.insert(words.end(), {object, renamed});
        if (command(words) != 0) return false;
        object = renamed;
    }
    return true;
}

bool Driver::link(std::vector<std::string> objects) {
    if (options_.relocatable) {
        std::vector<std::string> words{configuration_.value("clang"), "-r"};
        words.insert(words.end(), options_.compiler.begin(), options_.compiler.end());
        words.insert(words.end(), options_.linker.begin(), options_.linker.end());
        words.insert(words.end(), objects.begin(), objects.end());
        words.insert(words.end(), {"-o", options_.output.empty() ? "a.out" : options_.output});
        return command(words) == 0;
    }
    if (!keep_apart_from_c_library(objects)) return false;
    std::vector<std::string> words{configuration_.value("clang")};
    words.insert(words.end(), options_.compiler.begin(), options_.compiler.end());
    words.insert(words.end(), options_.linker.begin(), options_.linker.end());
    words.insert(words.end(), objects.begin(), objects.end());
    if (!options_.heap.empty()) {
        const std::string source = (directory_ / "heap.c").string();
        std::ofstream{source} << "const char lapwing_upcc_heap[] = \"" << options_.heap << "\";\n";
        words.push_back(source);
    }
    words.emplace_back("-Wl,--wrap=main,--wrap=MPI_Init,--wrap=MPI_Init_thread,--wrap=MPI_Finalize");
    // Functions are at the same place in all threads, so that pointers to them can be in shared memory.
    const auto& linker = options_.linker;
    if (std::find(linker.begin(), linker.end(), "-pie") == linker.end()) words.emplace_back("-no-pie");
    for (const std::string& word : configuration_.list("link")) words.push_back(word);
    words.insert(words.end(), {"-o", options_.output.empty() ? "a.out" : options_.output});
    return command(words) == 0;
}

int Driver::work() {
    std::vector<std::string> objects;
    if (options_.until != Options::Until::link && !options_.output.empty() && sources() > 1)
        throw BadOption{"-o names one file, and there are several sources; leave out -o, or compile them one by one"};
    bool good = true;
    for (const Input& input : options_.inputs) {
        const std::string object = input.language == Input::Language::for_linker ? input.name : object_of(input);
        good = good && !object.empty();
        objects.push_back(object);
    }
    if (!good) return 1;
    return options_.until != Options::Until::link || link(objects) ? 0 : 1;
}

} // namespace upcc
