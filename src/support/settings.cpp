#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unistd.h>

extern char** environ;

namespace lapwing {

namespace detail::support {
void link_all_settings(); // see cmake/LapwingSettings.cmake
}

namespace {

std::map<std::string, const detail::support::Setting*, std::less<>>& registry() {
    // A function's static: settings are static objects of many sources, constructed in any order. Never destroyed: the
    // program's runtime may be a static object that ends later.
    static auto& settings = *new std::map<std::string, const detail::support::Setting*, std::less<>>;
    detail::support::link_all_settings(); // does nothing: whoever looks one up knows all of them
    return settings;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

[[noreturn]] void throw_unknown(std::string_view name, std::string_view where) {
    std::string_view nearest;
    std::size_t distance = 5; // farther names are no typing mistakes
    for (const auto& [known, setting] : registry()) {
        const std::size_t d = edit_distance(name, known);
        if (d < distance) {
            distance = d;
            nearest = known;
        }
    }
    throw SettingError{fmt::format("{} ({}): there is no such setting; {}`lapwing-info` lists all", name, where,
                                   nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest))};
}

/// Variables of the environment that are for whoever builds programs: module files, CMake and package managers set
/// them.
bool names_an_installation(std::string_view name) {
    static constexpr std::array<std::string_view, 16> names{
        "LAPWING_BASE",   "LAPWING_BIN",    "LAPWING_CMAKE_OPTIONS", "LAPWING_DIR",
        "LAPWING_HOME",   "LAPWING_INC",    "LAPWING_INCLUDE",       "LAPWING_INC_DIR",
        "LAPWING_LIB",    "LAPWING_LIBDIR", "LAPWING_LIBRARY",       "LAPWING_LIB_DIR",
        "LAPWING_MIRROR", "LAPWING_PREFIX", "LAPWING_ROOT",          "LAPWING_VERSION"};
    return std::ranges::find(names, name) != names.end();
}

const detail::support::Setting& find(std::string_view name, std::string_view where) {
    const auto found = registry().find(name);
    if (found == registry().end()) throw_unknown(name, where);
    return *found->second;
}

} // namespace

std::vector<SettingInfo> all_settings() {
    std::vector<SettingInfo> all;
    for (const auto& [name, setting] : registry()) all.push_back(setting->info());
    return all;
}

Settings::Settings() {
    constexpr std::string_view prefix = "LAPWING_";
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view line{*entry};
        if (!line.starts_with(prefix)) continue;
        const auto equals = line.find('=');
        const std::string_view name = line.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? "" : line.substr(equals + 1);
        if (names_an_installation(name)) continue;
        find(name, "environment").check(value, "environment");
        environment_.insert_or_assign(std::string{name}, std::string{value});
    }
}

Settings::Settings(std::initializer_list<std::pair<std::string_view, std::string_view>> values) : Settings{} {
    for (const auto& [name, value] : values) set(name, value);
}

Settings& Settings::set(std::string_view name, std::string_view value) {
    find(name, "Settings::set").check(value, "Settings::set");
    program_.insert_or_assign(std::string{name}, std::string{value});
    return *this;
}

std::string Settings::text(std::string_view name) const {
    const detail::support::Setting& setting = find(name, "Settings::text");
    if (const auto found = program_.find(name); found != program_.end()) return found->second;
    if (const auto found = environment_.find(name); found != environment_.end()) return found->second;
    return setting.info().default_value;
}

std::string_view Settings::origin(std::string_view name) const {
    (void)find(name, "Settings::origin");
    if (program_.contains(name)) return "program";
    return environment_.contains(name) ? "environment" : "default";
}

namespace detail::support {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || text.empty()) return {};
    unsigned shift = 0;
    if (end - rest == 1) {
        switch (*rest) {
        case 'k':
        case 'K': shift = 10; break;
        case 'm':
        case 'M': shift = 20; break;
        case 'g':
        case 'G': shift = 30; break;
        default: return {};
        }
    } else if (rest != end) {
        return {};
    }
    if (value > UINT64_MAX >> shift) return {};
    return value << shift;
}

} // namespace

Setting::Setting(SettingInfo info) : info_{*new SettingInfo{std::move(info)}} { registry().emplace(info_.name, this); }

void WordSetting::check(std::string_view value, std::string_view where) const {
    if (std::ranges::find(info().choices, value) == info().choices.end())
        throw SettingError{fmt::format("{}={} ({}): not allowed; choose one of: {}", info().name, value, where,
                                       fmt::join(info().choices, ", "))};
}

namespace {
SettingInfo with_range(SettingInfo info, std::uint64_t lowest, std::uint64_t highest) {
    info.range = fmt::format("from {} to {}", lowest, highest);
    return info;
}
} // namespace

NumberSetting::NumberSetting(SettingInfo info, std::uint64_t lowest, std::uint64_t highest)
    : Setting{with_range(std::move(info), lowest, highest)}, lowest_{lowest}, highest_{highest} {}

void NumberSetting::check(std::string_view value, std::string_view where) const {
    const auto number = parse_number(value);
    if (!number || *number < lowest_ || *number > highest_)
        throw SettingError{fmt::format("{}={} ({}): not allowed; give a whole number {}{}{}", info().name, value, where,
                                       info().range, info().unit.empty() ? "" : " ", info().unit)};
}

std::uint64_t NumberSetting::get(const Settings& settings) const {
    return parse_number(value_in(settings)).value_or(lowest_);
}

} // namespace detail::support
} // namespace lapwing
