#include "symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include <sys/stat.h>

namespace lapwing::advise {
namespace {

using detail::model::RecordedTrace;

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

[[nodiscard]] std::uint64_t call_of(const RecordedTrace::Frame& frame) {
    return frame.offset == 0 ? 0 : frame.offset - 1; // inside the call, not after it
}

} // namespace

void SourceLines::add(const RecordedTrace::OfRank& rank, const RecordedTrace::Frames& frames) {
    for (const RecordedTrace::Frame& frame : frames) {
        const RecordedTrace::File& file = rank.files[frame.file];
        files_.try_emplace(file.path, file.bytes, file.changed);
        places_.try_emplace({file.path, call_of(frame)});
    }
}

void SourceLines::look_up() {
    std::map<std::string, std::vector<std::uint64_t>> by_file;
    for (const auto& [address, place] : places_) by_file[address.first].push_back(address.second);
    for (const auto& [file, offsets] : by_file) {
        struct stat status{};
        if (file.find('\'') != file.npos || stat(file.c_str(), &status) != 0) {
            notes_.push_back(fmt::format("{} is not here: its lines are not known", file));
            continue;
        }
        const auto& [bytes, changed] = files_[file];
        if (static_cast<std::uint64_t>(status.st_size) != bytes || status.st_mtime != changed)
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
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{popen(command.c_str(), "r"), pclose};
    if (output == nullptr) return;
    std::vector<Place>* places = nullptr;
    std::string function;
    bool line_is_next = false;
    std::array<char, 16384> buffer{};
    while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), output.get()) != nullptr) {
        std::string_view text{buffer.data()};
        text = text.substr(0, text.find('\n'));
        if (!line_is_next && text.starts_with("0x")) {
            const auto found = places_.find({file, std::stoull(std::string{text}, nullptr, 16)});
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
}

std::string SourceLines::line(const RecordedTrace::OfRank& rank, const RecordedTrace::Frames& frames) const {
    if (frames.empty()) return "several call sites";
    for (const RecordedTrace::Frame& frame : frames) {
        const auto found = places_.find({rank.files[frame.file].path, call_of(frame)});
        if (found == places_.end()) continue;
        for (const Place& place : found->second) {
            if (!is_programs_own(place.function, place.line)) continue;
            const std::string function = name_of(place.function);
            if (!place.line.empty()) return fmt::format("{} ({})", last_parts(place.line), function);
            return fmt::format("{}() of {}, compiled without -g", function,
                               std::filesystem::path{rank.files[frame.file].path}.filename().string());
        }
    }
    const RecordedTrace::Frame& first = frames.front();
    return fmt::format("{} {:#x}", std::filesystem::path{rank.files[first.file].path}.filename().string(),
                       call_of(first));
}

} // namespace lapwing::advise
