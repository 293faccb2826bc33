#include "src/trace/source_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include <sys/stat.h>
#include <sys/wait.h>

namespace lapwing::detail::trace {
namespace {

/// Whether a function is the program's, not of the library or the C++ library.
[[nodiscard]] bool is_programs_own(std::string_view function, std::string_view line) {
    if (line.find("/include/lapwing/") != line.npos || line.starts_with("/usr/")) return false;
    // Names of function templates begin with their return type.
    const std::string_view name = function.substr(0, function.find('('));
    return name.find("lapwing::") == name.npos && !name.starts_with("lapwing_") && !name.starts_with("std::") &&
           !name.starts_with("__libc_") && name != "??";
}

/// Without arguments; for a lambda expression, the enclosing function.
[[nodiscard]] std::string name_of(std::string_view function) {
    return std::string{function.substr(0, std::min(function.find('('), function.find("::{lambda")))};
}

[[nodiscard]] std::string last_parts(std::string_view path) {
    // The directory and the file name.
    const auto slash = path.rfind('/');
    if (slash == path.npos || slash == 0) return std::string{path};
    const auto before = path.rfind('/', slash - 1);
    return std::string{before == path.npos ? path : path.substr(before + 1)};
}

/// Inside the call, not after it.
[[nodiscard]] CodePlace call_of(const CodePlace& place) {
    return {place.file, place.offset == 0 ? 0 : place.offset - 1};
}

} // namespace

void SourceLines::add_file(const std::string& file, std::uint64_t bytes, std::int64_t changed) {
    files_.try_emplace(file, bytes, changed);
}

void SourceLines::add(std::span<const CodePlace> places) {
    for (const CodePlace& place : places) places_.try_emplace(call_of(place));
}

void SourceLines::look_up() {
    std::map<std::string, std::vector<std::uint64_t>> by_file;
    for (const auto& [place, functions] : places_) by_file[place.file].push_back(place.offset);
    for (const auto& [file, offsets] : by_file) {
        struct stat status{};
        if (file.find('\'') != file.npos || stat(file.c_str(), &status) != 0) {
            notes_.push_back(fmt::format("{} is not here: its lines are not known", file));
            continue;
        }
        const auto recorded = files_.find(file);
        if (recorded != files_.end() &&
            recorded->second != std::pair{static_cast<std::uint64_t>(status.st_size), std::int64_t{status.st_mtime}})
            notes_.push_back(fmt::format("{} has changed since the trace was recorded: its lines may be wrong", file));
        constexpr std::size_t at_once = 500;
        for (std::size_t begin = 0; begin < offsets.size(); begin += at_once)
            look_up(file, {offsets.begin() + static_cast<std::ptrdiff_t>(begin),
                           offsets.begin() + static_cast<std::ptrdiff_t>(std::min(begin + at_once, offsets.size()))});
    }
}

void SourceLines::look_up(const std::string& file, const std::vector<std::uint64_t>& offsets) {
    std::string command = fmt::format("addr2line -a -f -i -C -e '{}'", file);
    for (const std::uint64_t offset : offsets) command += fmt::format(" {:#x}", offset);
    command += " 2>/dev/null";
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{popen(command.c_str(), "r"), pclose};
    if (output == nullptr) return note_missing();
    std::vector<Function>* places = nullptr;
    std::string function;
    bool line_is_next = false;
    std::array<char, 16384> buffer{};
    while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), output.get()) != nullptr) {
        std::string_view text{buffer.data()};
        text = text.substr(0, text.find('\n'));
        if (!line_is_next && text.starts_with("0x")) {
            const auto found = places_.find(CodePlace{file, std::stoull(std::string{text}, nullptr, 16)});
            places = found == places_.end() ? nullptr : &found->second;
            continue;
        }
        if (!line_is_next) {
            function = text;
            line_is_next = true;
            continue;
        }
        line_is_next = false;
        text = text.substr(0, text.find(' ')); // "(discriminator 2)"
        const bool known = !text.starts_with("??") && !text.ends_with(":?") && !text.ends_with(":0");
        if (places != nullptr) places->push_back({function, known ? std::string{text} : ""});
    }
    constexpr int not_found = 127; // of the shell
    const int status = pclose(output.release());
    if (WIFEXITED(status) && WEXITSTATUS(status) == not_found) note_missing();
}

void SourceLines::note_missing() {
    const std::string note = "addr2line was not found, so source lines are unknown; install binutils";
    if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
}

std::string SourceLines::line(std::span<const CodePlace> places) const {
    if (places.empty()) return "several call sites";
    const auto file_name = [](const CodePlace& place) { return std::filesystem::path{place.file}.filename().string(); };
    for (const CodePlace& place : places) {
        const auto found = places_.find(call_of(place));
        if (found == places_.end()) continue;
        for (const Function& function : found->second) {
            if (!is_programs_own(function.name, function.line)) continue;
            const std::string name = name_of(function.name);
            if (!function.line.empty()) return fmt::format("{} ({})", last_parts(function.line), name);
            return fmt::format("{}() of {}, compiled without -g", name, file_name(place));
        }
    }
    return fmt::format("{} {:#x}", file_name(places.front()), call_of(places.front()).offset);
}

} // namespace lapwing::detail::trace
