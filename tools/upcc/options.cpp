#include "options.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace upcc {

std::string help() {
    return R"(usage: lapwing-upcc [option…] file…
Compiles and links UPC programs, with their C sources. Files: .upc, .c (UPC where it uses UPC, else C), .i (preprocessed
UPC), .cc and the like, .s, .o, .a, .so.

  -T N, -T=N, -fupc-threads-N
                         the program is for N threads: THREADS is a constant, and the program is refused another number
  -c  -E  -S  -trans     only compile; preprocess; compile to assembly; translate to C (FILE.trans.i)
  -o FILE                the result
  -D… -U… -I… -include FILE -isystem DIRECTORY -M… -dM -P -C
                         as for a C compiler; -MD and -MMD write FILE.d beside the object
  -O… -g -f… -m… -std=… -pthread
                         as for Clang, which compiles what is translated
  -fno-upc-own-loops     at -O1 and above: leaves upc_forall as it is; else it goes through the thread's own iterations
                         alone where it can, and loads and stores own elements
  -fno-upc-block-reads   at -O1 and above: leaves loops as they are; else those that read consecutive elements of
                         blocks, and wait for nothing, read them in blocks
  -fno-upc-block-writes  the same of loops that write consecutive elements of blocks, after the iterations
  -fno-upc-list-reads    the same of what such a loop finds by an index that is known before, or in blocks of one: it
                         is read as lists, or copied as a whole if it is read often
  -fno-upc-near-loops    the same of innermost loops that leave the pointers alone by which they access shared memory:
                         where what these point to can be loaded, they are loops of loads and stores
  -fno-upc-merged-reads  the same of what such a loop reads again and again without writing it: it is read once
  -explain               tells what was done with each upc_forall and each loop that reads shared elements, or why not
  -W… -w                 warnings, of the UPC source
  -l… -L… -Wl,… -s -static -rdynamic -r
                         for the linker
  -fsyntax-only          only finds errors
  -Wc,… -Wp,…            more options for the C compiler, the preprocessor
  -shared-heap=SIZE      the default of LAPWING_UPC_HEAP and LAPWING_UPC_LOCAL_HEAP: of each thread, with k, m or g;
                         without a unit in megabytes
  --upc-1.0              forall, barrier, notify, wait and fence are keywords, too, as in UPC 1.0
  -x LANGUAGE            the files that follow are upc, c, c++, assembler, …; -x none: by their names
  -progress=SECONDS      names the source that is being worked on, each time so many seconds have passed; 5 by default,
                         0: never
  --save-temps           keeps FILE.i and FILE.trans.i beside the result
  -v                     prints the commands; alone the version
  --version  --help
Accepted without effect, for makefiles of other compilers: -network=… (Lapwing chooses by itself), -pthreads (a UPC
thread is a process of MPI, and there are as many as lapwing-upcrun -n says), -lines, -uses-mpi, -norc, -q, -gupc,
-extern-main (main may be in any source, of C too; bupc_init does nothing more), -opt-enable=…, -inst, -trace and
-stats (LAPWING_TRACE, LAPWING_STATS), -Wu,… and -Ww,…, -h…, -q…. -print-…, -dumpmachine and the like ask Clang.
Refused: -shared: shared objects are made at the start of the program, of the program's objects and archives.
)";
}

namespace {

[[nodiscard]] bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

/// The words of a file, which quotes and backslashes keep together as in a shell.
[[nodiscard]] std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    bool inside = false; // of a word
    char quote = '\0';
    for (std::size_t k = 0; k < text.size(); ++k) {
        const char c = text[k];
        if (quote == '\0' && (c == ' ' || (c >= '\t' && c <= '\r'))) {
            inside = false;
            continue;
        }
        if (!inside) words.emplace_back();
        inside = true;
        if (c == '\\' && quote != '\'' && k + 1 < text.size()) words.back() += text[++k];
        else if (c == quote) quote = '\0';
        else if (quote == '\0' && (c == '"' || c == '\'')) quote = c;
        else words.back() += c;
    }
    return words;
}

/// As GCC has it, a word @FILE without such a file is itself.
void expand(const std::vector<std::string>& words, int depth, std::vector<std::string>& to) {
    constexpr int most_files_in_files = 100;
    for (const std::string& word : words) {
        std::ifstream file;
        if (word.size() > 1 && word[0] == '@') file.open(word.substr(1), std::ios::binary);
        if (!file.is_open()) to.push_back(word);
        else if (depth == most_files_in_files) throw BadOption{word + " names itself, by itself or by other files"};
        else expand(words_of({std::istreambuf_iterator<char>{file}, {}}), depth + 1, to);
    }
}

class Reader {
public:
    explicit Reader(std::vector<std::string> arguments) : arguments_{std::move(arguments)} {}

    [[nodiscard]] Options read() {
        for (at_ = 0; at_ < arguments_.size(); ++at_) one();
        if (options_.help || options_.version || options_.prints_includes || !options_.answer.empty() ||
            !options_.asks_clang.empty())
            return options_;
        for (const std::string& word_of : options_.compiler)
            if (begins(word_of, "-O")) optimises_ = word_of != "-O0";
        options_.optimisations.own_loops = optimises_ && !no_own_loops_;
        options_.optimisations.block_reads = optimises_ && !no_block_reads_;
        options_.optimisations.block_writes = optimises_ && !no_block_writes_;
        options_.optimisations.list_reads = optimises_ && !no_list_reads_;
        options_.optimisations.near_loops = optimises_ && !no_near_loops_;
        options_.optimisations.merged_reads = optimises_ && !no_merged_reads_;
        if (options_.assembly && options_.until == Options::Until::link) options_.until = Options::Until::compile;
        if (options_.inputs.empty() && options_.verbose) options_.version = true;
        else if (options_.inputs.empty()) throw BadOption{"no files; lapwing-upcc --help"};
        return options_;
    }

private:
    /// The value of an option: in the same word, or the next one.
    [[nodiscard]] std::string value(const std::string& name) {
        const std::string& word = arguments_[at_];
        if (word.size() > name.size()) return word.substr(name.size() + (word[name.size()] == '=' ? 1 : 0));
        if (at_ + 1 >= arguments_.size()) throw BadOption{name + " needs a value; lapwing-upcc --help"};
        return arguments_[++at_];
    }
    [[nodiscard]] bool is(const std::string& name) const {
        return arguments_[at_] == name || arguments_[at_] == "-" + name;
    }
    [[nodiscard]] bool has_value(const std::string& name) const {
        return arguments_[at_] == name || begins(arguments_[at_], name + "=");
    }

    [[nodiscard]] static bool is_number(const std::string& text) {
        return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    }

    /// GNU's -fupc-threads=0 is any number.
    void threads_of_others(const std::string& text) {
        if (text != "0") return threads(text);
        options_.threads = 0;
    }
    void threads(const std::string& text) {
        char* end = nullptr;
        const long number = std::strtol(text.c_str(), &end, 10);
        if (text.empty() || *end != '\0' || number < 1 || number > 1000000)
            throw BadOption{"-T is '" + text + "'; it must be a number of threads, from 1 to 1000000"};
        options_.threads = static_cast<int>(number);
    }

    /// Berkeley's sizes end in MB or GB, and are megabytes without a unit.
    void heap(std::string text) {
        if (text.ends_with('B') || text.ends_with('b')) text.pop_back();
        if (!text.empty() && text.back() >= '0' && text.back() <= '9') text += 'm';
        options_.heap = std::move(text);
    }

    void progress(const std::string& text) {
        char* end = nullptr;
        options_.progress = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != '\0' || !(options_.progress >= 0 && options_.progress <= 3600))
            throw BadOption{"-progress is '" + text + "'; it must be a number of seconds, from 0 to 3600"};
    }

    /// Passes a word on, with its value if that is in the next word.
    void pass(std::vector<std::string>& to, const std::string& name) {
        const bool separate = arguments_[at_] == name;
        to.push_back(arguments_[at_]);
        if (separate) to.push_back(value(name));
    }
    static void split(const std::string& text, std::vector<std::string>& to) {
        for (std::size_t begin = 4; begin <= text.size();) {
            const std::size_t end = std::min(text.find(',', begin), text.size());
            to.push_back(text.substr(begin, end - begin));
            begin = end + 1;
        }
    }

    /// What is answered, without a source being compiled.
    [[nodiscard]] bool of_questions() {
        const std::string& word = arguments_[at_];
        if (is("-help") || word == "-h" || word == "-?") return options_.help = true;
        if (is("-version") || word == "-V") return options_.version = true;
        // What makefiles that mix C++ with UPC ask Berkeley's compiler.
        if (is("-print-include-dir")) return options_.prints_includes = true;
        if (is("-echo-var")) {
            if (const std::string name = value(word); name != "CXX")
                throw BadOption{"-echo-var " + name + ": only CXX is known"};
            return options_.answer = "c++", true;
        }
        // What configure scripts ask.
        if (word == "-dumpfullversion") return options_.asks_clang = "-dumpversion", true;
        if (begins(word, "-print-") || begins(word, "--print-") || word == "-dumpmachine" || word == "-dumpversion")
            return options_.asks_clang = word, true;
        return false;
    }

    [[nodiscard]] bool of_optimisations() {
        if (is("-explain")) return options_.optimisations.explain = true;
        if (is("-opt")) return optimises_ = true;
        const auto is_of = [&](const std::string& name, bool& off) {
            const std::string& word = arguments_[at_];
            if (word != "-fupc-" + name && word != "-fno-upc-" + name) return false;
            off = word[2] == 'n';
            return true;
        };
        return is_of("block-reads", no_block_reads_) || is_of("block-writes", no_block_writes_) ||
               is_of("list-reads", no_list_reads_) || is_of("near-loops", no_near_loops_) ||
               is_of("merged-reads", no_merged_reads_) || is_of("own-loops", no_own_loops_);
    }

    [[nodiscard]] bool of_threads() {
        const std::string& word = arguments_[at_];
        for (const std::string name : {"-fupc-threads", "-fthreads"}) {
            if (begins(word, name + "-")) return threads_of_others(word.substr(name.size() + 1)), true;
            if (has_value(name)) return threads_of_others(value(name)), true;
        }
        if (word == "-X" || (begins(word, "-X") && is_number(word.substr(2)))) return threads(value("-X")), true;
        // IBM's.
        if (begins(word, "-qupc=threads=")) return threads(word.substr(14)), true;
        if (has_value("-THREADS")) return threads(value("-THREADS")), true;
        if (word == "-T" || begins(word, "-T=") ||
            (begins(word, "-T") && word.size() > 2 && word[2] >= '0' && word[2] <= '9'))
            return threads(value("-T")), true;
        if (has_value("-pthreads") || has_value("--pthreads")) {
            // Berkeley's number may be missing, or be the next word.
            if (at_ + 1 < arguments_.size() && is("-pthreads") && is_number(arguments_[at_ + 1])) ++at_;
            return true;
        }
        return false;
    }

    [[nodiscard]] bool of_upcc() {
        const std::string& word = arguments_[at_];
        // Cray's compiler is told so that it is UPC, or what C.
        if (word == "-h" && at_ + 1 < arguments_.size() && arguments_[at_ + 1].find_first_of("-./") == word.npos)
            return ++at_, true;
        if (of_questions() || of_optimisations() || of_threads()) return true;
        if (is("-upc-1.0")) return options_.old_keywords = true;
        if (has_value("-progress")) return progress(value("-progress")), true;
        if (has_value("-save-temps") || has_value("--save-temps") || is("-save-all-temps"))
            return options_.save_temporaries = true;
        if (word == "-v" || is("-verbose") || word == "-vv") return options_.verbose = true;
        if (has_value("-shared-heap")) return heap(value("-shared-heap")), true;
        if (word == "-shared")
            throw BadOption{"-shared: the shared objects of a shared library would not be made; link its objects, or "
                            "an archive of them, into the program"};
        if (begins(word, "-x")) return language(value("-x")), true;
        return accepted();
    }
    /// Of the files that follow.
    void language(const std::string& name) {
        static constexpr std::array known{"c++", "assembler", "assembler-with-cpp", "cpp-output", "c++-cpp-output"};
        next_ = {};
        if (name == "upc") next_.language = Input::Language::upc;
        else if (name == "c") next_.language = Input::Language::c;
        else if (std::find(known.begin(), known.end(), name) != known.end()) {
            next_.language = Input::Language::of_clang;
            next_.clang_name = name;
        } else if (name != "none")
            throw BadOption{"-x " + name +
                            ": the languages are upc, c, c++, assembler, assembler-with-cpp, cpp-output "
                            "and c++-cpp-output, and none of them: by the names of the files"};
    }
    void input(const std::string& name) {
        options_.inputs.push_back(next_);
        options_.inputs.back().name = name;
    }
    /// What affects the libraries and objects that follow it.
    void for_linker(const std::string& word) { options_.inputs.push_back({word, Input::Language::for_linker}); }

    [[nodiscard]] bool accepted() {
        static constexpr std::array with_value{"-network",    "-shared-heap-max", "-heap-offset", "-conf",
                                               "-opt-enable", "-opt-disable",     "-translator",  "-compress",
                                               "-http-proxy", "-link-with",       "-thrille"};
        static constexpr std::array alone{
            "-nopthreads", "-noopt", "-lines", "-nolines", "-norc", "-q", "-uses-mpi", "-nouses-mpi", "-uses-threads",
            "-size-warn", "-nosize-warn", "-inst", "-noinst", "-tv", "-extern-main", "-trace", "-stats", "-inst-local",
            "-inst-functions", "-checks", "-nochecks", "-fast-symptr", "-nofast-symptr", "-link-cache", "-nolink-cache",
            "-require-size", "-norequire-size", "-allow-deprecated", "-nightly", "-stable", "-yesterday",
            "-nosave-temps", "-thrille-local",
            // Which translator Berkeley's driver calls; Cray's -h upc in one word.
            "-bupc", "-gupc", "-cupc", "-cupc2c", "-hupc"};
        const std::string& word = arguments_[at_];
        // Options for Berkeley's translators; of GNU's and Clang's UPC.
        if (begins(word, "-Wu,") || begins(word, "-Ww,") || begins(word, "-Wb,")) return true;
        // Of Cray's and IBM's compilers; of gcc's for reports.
        if ((begins(word, "-h") && !begins(word, "-heap")) || (begins(word, "-q") && word.size() > 2)) return true;
        for (const char* const report : {"-ftree-vectorizer-verbose", "-fopt-info", "-fdump-"})
            if (begins(word, report)) return true;
        if (begins(word, "-fupc") || begins(word, "-fno-upc-")) {
            static constexpr std::array of_others{"",           "-inline-lib", "-pre-include", "-debug", "-instrument",
                                                  "-pthreads-", "-packed",     "-struct",      "-pts",   "-tld"};
            const std::string rest = word.substr(begins(word, "-fno-upc") ? 8 : 5);
            for (const std::string name : of_others)
                if (name.empty() ? rest.empty() : begins(rest, name)) return true;
        }
        for (const char* const name : with_value)
            if (has_value(name) || has_value(std::string{"-"} + name))
                return static_cast<void>(value(has_value(name) ? name : std::string{"-"} + name)), true;
        for (const char* const name : alone)
            if (is(name)) return true;
        return false;
    }

    void one() {
        const std::string& word = arguments_[at_];
        if (word.empty()) return;
        if (word[0] != '-' || word == "-") return input(word);
        if (of_upcc() || of_result() || of_preprocessor() || of_linker() || of_warnings() || of_compiler()) return;
        throw BadOption{"unknown option " + word + "; lapwing-upcc --help"};
    }

    /// What is made, and of which language.
    [[nodiscard]] bool of_result() {
        const std::string& word = arguments_[at_];
        if (word == "-c") options_.until = Options::Until::compile;
        else if (word == "-E") options_.until = Options::Until::preprocess;
        else if (word == "-trans" || word == "--trans") options_.until = Options::Until::translate;
        else if (word == "-S") options_.assembly = true;
        else if (word == "-fsyntax-only") options_.until = Options::Until::check;
        else if (word == "-r") options_.relocatable = true;
        else if (begins(word, "-o")) options_.output = value("-o");
        else if (begins(word, "-std=") || begins(word, "--std=")) standard(word.substr(word.find('=') + 1));
        else if (word == "-ansi") options_.standard = "gnu89";
        else return false;
        return true;
    }

    [[nodiscard]] bool of_preprocessor() {
        const std::string& word = arguments_[at_];
        if (begins(word, "-D")) pass(options_.preprocessor, "-D");
        else if (begins(word, "-U")) pass(options_.preprocessor, "-U");
        else if (const std::string name = with_file(word); !name.empty()) pass(options_.preprocessor, name);
        else if (begins(word, "-I")) pass(options_.preprocessor, "-I");
        else if (begins(word, "-MF") || begins(word, "-MT") || begins(word, "-MQ"))
            pass(options_.dependencies, word.substr(0, 3));
        else if (begins(word, "-M")) {
            options_.dependencies.push_back(word);
            if (word == "-M" || word == "-MM") options_.until = Options::Until::preprocess;
        } else if (word == "-P" || word == "-C" || word == "-CC" || word == "-dM" || word == "-dD" || word == "-dI")
            options_.preprocesses_alone.push_back(word);
        else if (word == "-nostdinc" || word == "-undef" || word == "-trigraphs" || word == "-H" ||
                 begins(word, "--sysroot="))
            options_.preprocessor.push_back(word);
        else if (begins(word, "-Wp,-MD,") || begins(word, "-Wp,-MMD,")) {
            const std::size_t comma = word.find(',', 4);
            options_.dependencies.insert(options_.dependencies.end(),
                                         {word.substr(4, comma - 4), "-MF", word.substr(comma + 1)});
        } else if (begins(word, "-Wp,")) split(word, options_.preprocessor);
        else return false;
        return true;
    }

    [[nodiscard]] bool of_linker() {
        const std::string& word = arguments_[at_];
        if (begins(word, "-Wl,")) for_linker(word);
        else if (begins(word, "-l")) for_linker("-l" + value("-l"));
        else if (begins(word, "-L")) pass(options_.linker, "-L");
        else if (word == "-Xlinker") for_linker(word), for_linker(value(word));
        else if (word == "-u" || word == "-z" || word == "-e") for_linker("-Wl," + word + "," + value(word));
        else if (begins(word, "-R")) options_.linker.push_back("-Wl,-rpath," + value("-R"));
        else if (word == "-s" || word == "-static" || word == "-rdynamic" || word == "-pie" || word == "-no-pie" ||
                 word == "-static-libgcc" || word == "-shared-libgcc" || word == "-static-libstdc++")
            options_.linker.push_back(word);
        else return false;
        return true;
    }

    [[nodiscard]] bool of_warnings() {
        const std::string& word = arguments_[at_];
        if ((!begins(word, "-W") || begins(word, "-Wc,")) && word != "-w" && !begins(word, "-pedantic")) return false;
        options_.warnings.push_back(word);
        return true;
    }

    [[nodiscard]] bool of_compiler() {
        const std::string& word = arguments_[at_];
        if (begins(word, "-Wc,")) split(word, options_.compiler);
        else if (word == "-gstabs" || word == "-gstabs+") options_.compiler.emplace_back("-g");
        else if (word == "-Xclang" || word == "-Xassembler" || word == "--param" || word == "-target")
            pass(options_.compiler, word);
        else if (word == "--coverage" || begins(word, "--param=") || begins(word, "--target=") ||
                 begins(word, "--gcc-toolchain=") || (begins(word, "-B") && word.size() > 2))
            options_.compiler.push_back(word);
        else if (begins(word, "-O") || begins(word, "-g") || begins(word, "-f") || begins(word, "-m") ||
                 word == "-pthread" || word == "-pipe" || word == "-p" || word == "-pg")
            options_.compiler.push_back(word);
        else return false;
        return true;
    }

    /// The option of the preprocessor that a word is, with a file or a directory in it or in the next one.
    [[nodiscard]] static std::string with_file(const std::string& word) {
        for (const char* const name : {"-include", "-isystem", "-iquote", "-idirafter", "-imacros", "-isysroot"})
            if (begins(word, name)) return name;
        return word == "-Xpreprocessor" ? word : std::string{};
    }
    /// UPC is an extension of C of 1999; GNU's C of 1989 has what UPC's headers use of that.
    void standard(const std::string& name) {
        static constexpr std::array old{"c89", "c90", "gnu90", "iso9899:1990", "iso9899:199409"};
        options_.standard = std::find(old.begin(), old.end(), name) != old.end() ? "gnu89" : name;
    }

    const std::vector<std::string> arguments_;
    std::size_t at_ = 0;
    Input next_ = {}; ///< the language of the files that follow
    bool optimises_ = false;
    bool no_own_loops_ = false;
    bool no_block_reads_ = false;
    bool no_block_writes_ = false;
    bool no_list_reads_ = false;
    bool no_near_loops_ = false;
    bool no_merged_reads_ = false;
    Options options_;
};

} // namespace

Options read_options(const std::vector<std::string>& arguments) {
    std::vector<std::string> words;
    expand(arguments, 0, words);
    return Reader{std::move(words)}.read();
}

} // namespace upcc
