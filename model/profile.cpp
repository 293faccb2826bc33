#include "model/profile.hpp"

#include "src/support/hash.hpp"
#include "src/support/log.hpp"
#include "src/support/mutex.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <span>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

namespace lapwing::detail::support::settings_in {
void model_profile() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::model {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::TextSetting profile_setting{
    {.name = "LAPWING_PROFILE",
     .default_value = "",
     .unit = "",
     .help = "directory or file of lapwing-tune's profiles; none: use no profile",
     .choices = {},
     .range = "empty (~/.cache/lapwing), a path or none"}};
[[gnu::init_priority(support::before_programs)]] const support::TextSetting network_setting{
    {.name = "LAPWING_NETWORK",
     .default_value = "",
     .unit = "",
     .help = "any word: distinguishes networks with different profiles that MPI's "
             "variables do not distinguish",
     .choices = {},
     .range = "any word"}};

constexpr std::string_view profile_first_line = "lapwing-profile 4\n";
constexpr std::size_t largest_file = 256 * 1024;
constexpr std::uint64_t largest_message = std::uint64_t{1} << 30; ///< of aggregated operations

/// The variables by which the supported MPIs select a network; launchers turn their options into these.
constexpr std::array network_variables{
    "OMPI_MCA_pml",  "OMPI_MCA_btl",      "OMPI_MCA_mtl",      "OMPI_MCA_osc", "OMPI_MCA_btl_tcp_if_include",
    "UCX_TLS",       "UCX_NET_DEVICES",   "MPIR_CVAR_NOLOCAL", "FI_PROVIDER",  "MPIR_CVAR_CH4_NETMOD",
    "I_MPI_FABRICS", "I_MPI_OFI_PROVIDER"};

std::string first_words(std::string text) {
    text.resize(std::min(text.find_first_of(std::string_view{",\r\n\0", 4}), text.size()));
    return text;
}

std::string processor_model() {
    std::ifstream info{"/proc/cpuinfo"};
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    utsname names{};
    return uname(&names) == 0 ? names.machine : "unknown processor";
}

/// Text as one line of a profile, without the whitespace around it.
std::string one_line(std::string_view text) {
    std::string line{text};
    std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    const auto begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) return {};
    return line.substr(begin, line.find_last_not_of(' ') - begin + 1);
}

constexpr std::array paths{Path::direct, Path::rma, Path::service};
constexpr std::array directions{Direction::put, Direction::get};

std::string_view next_word(std::string_view& rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
    return word;
}

bool parse_number(std::string_view word, double& value) {
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, value);
    return error == std::errc{} && rest == end && !word.empty() && std::isfinite(value);
}

bool parse_number(std::string_view word, std::uint64_t& value) {
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, value);
    return error == std::errc{} && rest == end && !word.empty();
}

/// Whether a machine can take this time, in seconds.
bool is_time(double seconds) { return seconds >= 0 && seconds <= 100; }

/// Reads the values of a profile's lines into tables; rejects what no machine can have measured.
class Reader {
public:
    bool read(std::string_view key, std::string_view value) {
        if (key.starts_with("copy.")) return read_copy(key.substr(5), value);
        if (key.starts_with("choice.")) return read_choice(key.substr(7), value);
        if (key.starts_with("rate.")) return read_rate(key.substr(5), value);
        for (const Path path : paths)
            for (const Direction direction : directions) {
                const std::string prefix = fmt::format("transfer.{}.{}.", name(path), name(direction));
                if (key.starts_with(prefix)) return read_transfer(path, direction, key.substr(prefix.size()), value);
            }
        return false;
    }

    /// Whether everything required is there.
    bool finish() {
        if (copy_values_ != CopyModel::lengths.size() + 6) return false;
        for (std::size_t p = 0; p < paths.size(); ++p)
            for (const Direction direction : directions) {
                const auto& lines = lines_[p][static_cast<std::size_t>(direction)];
                const auto overlap = overlaps_[p][static_cast<std::size_t>(direction)];
                const auto aggregation = aggregations_[p][static_cast<std::size_t>(direction)];
                if (lines.empty() != !overlap.has_value() || lines.empty() != !aggregation.has_value()) return false;
                if (lines.empty()) continue;
                TransferModel model{lines, *aggregation};
                model.set_overlap(*overlap);
                tables_.transfers(paths[p], direction) = model;
            }
        return true;
    }
    [[nodiscard]] const CostTables& tables() const { return tables_; }

private:
    bool read_copy(std::string_view key, std::string_view value) {
        ++copy_values_; // keys are unique
        CopyModel& copy = tables_.copy;
        if (key == "cache_bytes") return parse_number(value, copy.cache_bytes) && copy.cache_bytes > 0;
        const auto time = [&](double& to) { return parse_number(value, to) && is_time(to); };
        if (key == "call") return time(copy.call);
        if (key == "offset") return time(copy.offset);
        if (key == "list") return time(copy.list);
        if (key == "line_near") return time(copy.line_near);
        if (key == "line_far") return time(copy.line_far);
        std::uint64_t length = 0;
        if (!key.starts_with("block.") || !parse_number(key.substr(6), length)) return false;
        const auto found = std::ranges::find(CopyModel::lengths, length);
        if (found == CopyModel::lengths.end()) return false;
        return time(copy.block[static_cast<std::size_t>(found - CopyModel::lengths.begin())]);
    }

    bool read_choice(std::string_view key, std::string_view value) {
        const auto next = [&key]<class Enum>(Enum& to) {
            const std::string_view word = key.substr(0, key.find('.'));
            // No point follows the last word.
            key.remove_prefix(key.size() > word.size() + 1 ? word.size() + 1 : word.size());
            const auto found = kernels::named<Enum>(word);
            if (found) to = *found;
            return found.has_value();
        };
        kernels::CopyChoice choice;
        const auto method = kernels::named<kernels::Method>(value);
        if (!next(choice.where.movement) || !next(choice.where.block) || !next(choice.where.stride) ||
            !next(choice.where.size) || !next(choice.where.reuse) || !key.empty() || !method)
            return false;
        choice.method = *method;
        tables_.choices.push_back(choice);
        return true;
    }

    bool read_rate(std::string_view key, std::string_view value) {
        constexpr std::size_t most_rates = 1000;
        std::vector<RateCurve::Point> points;
        while (!value.empty()) {
            RateCurve::Point point;
            if (!parse_number(next_word(value), point.accesses) || point.accesses == 0 ||
                !parse_number(next_word(value), point.seconds) || !is_time(point.seconds))
                return false;
            if (!points.empty() && points.back().accesses >= point.accesses) return false;
            points.push_back(point);
        }
        if (points.empty() || points.size() > 32 || tables_.rates.size() == most_rates) return false;
        return tables_.rates.emplace(key, RateCurve{std::move(points)}).second;
    }

    bool read_transfer(Path path, Direction direction, std::string_view key, std::string_view value) {
        const auto p = static_cast<std::size_t>(std::ranges::find(paths, path) - paths.begin());
        const auto d = static_cast<std::size_t>(direction);
        if (key == "overlap") {
            double overlap = 0;
            if (!parse_number(value, overlap) || overlap < 0 || overlap > 1) return false;
            overlaps_[p][d] = overlap;
            return true;
        }
        if (key == "aggregation") {
            Aggregation aggregation;
            for (std::uint64_t* const number : {&aggregation.largest, &aggregation.room, &aggregation.head})
                if (!parse_number(next_word(value), *number)) return false;
            const bool none = aggregation == Aggregation{};
            const bool possible = aggregation.head > 0 && aggregation.room <= largest_message &&
                                  aggregation.head <= aggregation.room &&
                                  aggregation.largest <= aggregation.room - aggregation.head;
            if (!next_word(value).empty() || !(none || possible)) return false;
            aggregations_[p][d] = aggregation;
            return true;
        }
        auto& lines = lines_[p][d];
        if (lines.size() == TransferModel::most_lines || key != fmt::format("piece.{}", lines.size())) return false;
        TransferLine line;
        if (!parse_number(next_word(value), line.begin_bytes)) return false;
        for (double* const number : {&line.latency, &line.batch_latency, &line.overhead, &line.per_byte, &line.issue,
                                     &line.issue_per_byte, &line.latency_per_byte, &line.message})
            if (!parse_number(next_word(value), *number) || !is_time(*number)) return false;
        if (!next_word(value).empty()) return false;
        const bool in_order = lines.empty() ? line.begin_bytes == 0 : line.begin_bytes > lines.back().begin_bytes;
        if (!in_order || !(line.overhead + line.per_byte > 0)) return false; // nothing takes zero time
        lines.push_back(line);
        return true;
    }

    CostTables tables_;
    std::size_t copy_values_ = 0;
    std::array<std::array<std::vector<TransferLine>, 2>, 3> lines_;
    std::array<std::array<std::optional<double>, 2>, 3> overlaps_;
    std::array<std::array<std::optional<Aggregation>, 2>, 3> aggregations_;
};

/// The file's contents; nullopt if there is no such file. Other failures set `problem`.
std::optional<std::string> read_file(const std::string& file, std::string& problem) {
    // Non-blocking: the name may lead to a pipe.
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        if (errno != ENOENT && errno != ENOTDIR) problem = std::strerror(errno);
        return {};
    }
    std::string text;
    struct stat status{};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        problem = "it is not a regular file";
    } else if (status.st_size > static_cast<off_t>(largest_file)) {
        problem = fmt::format("its {} bytes are more than a profile has", status.st_size);
    } else {
        std::array<char, 4096> buffer{};
        ssize_t got = 0;
        while (text.size() <= largest_file && (got = ::read(descriptor, buffer.data(), buffer.size())) > 0)
            text.append(buffer.data(), static_cast<std::size_t>(got));
        if (got < 0) problem = std::strerror(errno);
        else if (text.size() > largest_file) problem = "it is larger than a profile";
    }
    ::close(descriptor);
    if (!problem.empty()) return {};
    return text;
}

/// Once per process, however many runtimes it creates.
void say_once(const std::string& line) {
    static support::Mutex mutex{support::LockRank::leaf};
    static auto& said = *new std::set<std::string>; // never destroyed: runtimes may be created or closed at exit
    const std::lock_guard guard{mutex};
    if (said.insert(line).second) support::log_line(line);
}

void complain(const std::string& file, const std::string& problem) noexcept {
    try {
        say_once(fmt::format("the profile {} is ignored: {}; run lapwing-tune to measure a new one", file, problem));
    } catch (const std::exception&) { // no memory for a line
    }
}

/// The user has named a place that does not exist.
void complain_of_missing_place(const Settings& settings) {
    const std::string place = profile_setting.get(settings);
    std::error_code error;
    if (place.empty() || place == "none" || std::filesystem::exists(place, error)) return;
    say_once(fmt::format("LAPWING_PROFILE={}: there is no such file or directory here, so no profile is used; run "
                         "lapwing-tune to measure "
                         "one there, name another place, or none",
                         place));
}

} // namespace

ProfileKey profile_key(const Team& team) {
    const team::TeamState& state = team.state();
    ProfileKey key;
    key.machine = one_line(fmt::format("{}, {} cores", processor_model(), sysconf(_SC_NPROCESSORS_ONLN)));
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    MPI_Get_library_version(version.data(), &length);
    key.mpi = one_line(first_words({version.data(), static_cast<std::size_t>(length)}));
    key.network = fmt::format("{}, progress {}", state.topology().one_machine() ? "one machine" : "several machines",
                              name(state.paths().progress));
    // Settings that decide which operations travel in messages.
    for (const char* const setting : {"LAPWING_SERVICE_PACKET", "LAPWING_RMA_SMALL"})
        key.network += fmt::format(", {}={}", setting, state.settings().text(setting));
    for (const char* const variable : network_variables)
        if (const char* const value = std::getenv(variable)) key.network += fmt::format(", {}={}", variable, value);
    if (const std::string label = network_setting.get(state.settings()); !label.empty()) key.network += ", " + label;
    key.network = one_line(key.network);
    return key;
}

std::string to_text(const ProfileKey& key, const CostTables& tables) {
    std::string text{profile_first_line};
    text += fmt::format("machine = {}\nmpi = {}\nnetwork = {}\n", one_line(key.machine), one_line(key.mpi),
                        one_line(key.network));
    const CopyModel& copy = tables.copy;
    text += fmt::format("copy.cache_bytes = {}\ncopy.call = {:.6g}\ncopy.offset = {:.6g}\ncopy.list = {:.6g}\n"
                        "copy.line_near = {:.6g}\ncopy.line_far = {:.6g}\n",
                        copy.cache_bytes, copy.call, copy.offset, copy.list, copy.line_near, copy.line_far);
    for (std::size_t i = 0; i < CopyModel::lengths.size(); ++i)
        text += fmt::format("copy.block.{} = {:.6g}\n", CopyModel::lengths[i], copy.block[i]);
    for (const kernels::CopyChoice& choice : tables.choices)
        text += fmt::format("choice.{}.{}.{}.{}.{} = {}\n", name(choice.where.movement), name(choice.where.block),
                            name(choice.where.stride), name(choice.where.size), name(choice.where.reuse),
                            name(choice.method));
    for (const Path path : paths)
        for (const Direction direction : directions) {
            const TransferModel& model = tables.transfers(path, direction);
            if (model.empty()) continue;
            const std::string prefix = fmt::format("transfer.{}.{}.", name(path), name(direction));
            text += fmt::format("{}overlap = {:.6g}\n", prefix, model.overlap());
            const Aggregation& aggregation = model.aggregation();
            text += fmt::format("{}aggregation = {} {} {}\n", prefix, aggregation.largest, aggregation.room,
                                aggregation.head);
            for (std::size_t i = 0; i < model.lines().size(); ++i) {
                const TransferLine& p = model.lines()[i];
                text += fmt::format("{}piece.{} = {} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g}\n", prefix,
                                    i, p.begin_bytes, p.latency, p.batch_latency, p.overhead, p.per_byte, p.issue,
                                    p.issue_per_byte, p.latency_per_byte, p.message);
            }
        }
    for (const auto& [rate, curve] : tables.rates) {
        text += fmt::format("rate.{} =", rate);
        for (const RateCurve::Point& point : curve.points())
            text += fmt::format(" {} {:.6g}", point.accesses, point.seconds);
        text += '\n';
    }
    return text + fmt::format("checksum = {:016x}\n", support::checksum_of(text));
}

namespace {

/// The key that the text says it was measured for.
[[nodiscard]] ProfileKey key_in(std::string_view text) {
    const auto value_of = [&text](std::string_view name) {
        const std::string line = fmt::format("\n{} = ", name);
        const auto found = text.find(line);
        if (found == text.npos) return std::string{};
        const auto begin = found + line.size();
        return std::string{text.substr(begin, text.find('\n', begin) - begin)};
    };
    return {value_of("machine"), value_of("mpi"), value_of("network")};
}

} // namespace

CostTables read_profile(const std::string& file, ProfileKey& key) {
    std::string problem;
    const auto text = read_file(file, problem);
    if (text) {
        key = key_in(*text);
        if (auto tables = parse_profile(*text, key, problem)) return *tables;
    } else if (problem.empty()) {
        problem = "there is no such file";
    }
    throw FileError{
        fmt::format("the profile {} cannot be used: {}; run lapwing-tune to measure a new one", file, problem)};
}

std::optional<CostTables> parse_profile(std::string_view text, const ProfileKey& key, std::string& problem) {
    const auto refuse = [&problem](std::string why) {
        problem = std::move(why);
        return std::nullopt;
    };
    if (!text.starts_with(profile_first_line)) return refuse("it is not a profile of this version of Lapwing");
    constexpr std::string_view last_key = "checksum = ";
    const auto last_line = text.rfind(last_key);
    if (last_line == std::string_view::npos || text[last_line - 1] != '\n') return refuse("its end is missing");
    const std::string_view body = text.substr(0, last_line);
    if (text.substr(last_line + last_key.size()) != fmt::format("{:016x}\n", support::checksum_of(body)))
        return refuse("its checksum is wrong, so it is damaged");

    Reader reader;
    ProfileKey found;
    std::set<std::string_view> seen;
    std::string_view rest = body.substr(profile_first_line.size());
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const auto equals = line.find(" = ");
        if (equals == std::string_view::npos) return refuse(fmt::format("the line '{}' has no value", line));
        const std::string_view name = line.substr(0, equals);
        const std::string_view value = line.substr(equals + 3);
        if (!seen.insert(name).second) return refuse(fmt::format("'{}' appears twice", name));
        if (name == "machine") found.machine = value;
        else if (name == "mpi") found.mpi = value;
        else if (name == "network") found.network = value;
        else if (!reader.read(name, value)) return refuse(fmt::format("the line '{}' is not allowed", line));
    }
    if (found.machine != one_line(key.machine))
        return refuse(fmt::format("it was measured on another machine ({})", found.machine));
    if (found.mpi != one_line(key.mpi))
        return refuse(fmt::format("it was measured with another MPI library ({})", found.mpi));
    if (found.network != one_line(key.network))
        return refuse(fmt::format("it was measured on another network ({})", found.network));
    if (!reader.finish()) return refuse("some of its lines are missing");
    return reader.tables();
}

std::string profile_file(const Settings& settings, const ProfileKey& key) {
    namespace fs = std::filesystem;
    const std::string setting = profile_setting.get(settings);
    if (setting == "none") return {};
    fs::path directory{setting};
    if (setting.empty()) {
        if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
            directory = cache;
        else if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/')
            directory = fs::path{home} / ".cache";
        else return {};
        directory /= "lapwing";
    }
    std::error_code error;
    if (fs::is_regular_file(directory, error)) return directory.string();
    const std::uint64_t name = support::checksum_of(fmt::format("{}\n{}\n{}", key.machine, key.mpi, key.network));
    return (directory / fmt::format("profile-{:016x}", name)).string();
}

void store_profile(const std::string& file, std::string_view text) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path path{file};
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), error); // opening the file reports problems
    const std::string unfinished = fmt::format("{}.{}", file, getpid());
    bool written = false;
    {
        std::ofstream out{unfinished, std::ios::binary};
        out << text;
        out.close();
        written = static_cast<bool>(out);
    }
    if (!written || std::rename(unfinished.c_str(), file.c_str()) != 0) {
        const int reason = errno;
        std::remove(unfinished.c_str());
        throw FileError{fmt::format("{} cannot be written ({}); name another place with LAPWING_PROFILE", file,
                                    std::strerror(reason))};
    }
}

std::optional<CostTables> load_profile(Team& team, std::uint32_t* note) {
    std::string text;
    std::optional<CostTables> tables;
    const bool first = team.rank() == Rank{0};
    if (first) {
        // No failure here may keep this rank from the broadcast in which the others wait.
        std::string file = "of this machine";
        std::string problem;
        try {
            const ProfileKey key = profile_key(team);
            complain_of_missing_place(team.settings());
            file = profile_file(team.settings(), key);
            if (const auto contents = file.empty() ? std::nullopt : read_file(file, problem)) {
                tables = parse_profile(*contents, key, problem);
                if (tables) text = *contents;
            }
        } catch (const std::exception& error) {
            tables.reset();
            text.clear();
            problem = error.what();
        }
        if (!problem.empty()) complain(file, problem);
    }
    if (team.size() == 1) return tables;
    struct Head {
        std::uint32_t bytes;
        std::uint32_t note;
    } head{static_cast<std::uint32_t>(text.size()), note == nullptr ? 0 : *note};
    team.broadcast(std::as_writable_bytes(std::span{&head, 1}), Rank{0});
    if (note != nullptr) *note = head.note;
    if (head.bytes == 0) return tables;
    text.resize(head.bytes);
    team.broadcast(std::as_writable_bytes(std::span{text}), Rank{0});
    if (first) return tables;
    // The other ranks use what rank 0 has found: all plan alike, even where one host's processor differs.
    std::string problem;
    return parse_profile(text, key_in(text), problem);
}

} // namespace lapwing::detail::model
