// lapwing-info: prints what this Lapwing is, what MPI offers it, and every setting with its effective value. Started by
// mpirun it also prints which ranks share a node and which path leads to the others.
#include "tools/command_line.hpp"
#include <lapwing/detail/config.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/settings.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace lapwing;
using Json = nlohmann::ordered_json;

/// Ranks that reach each other by load and store.
struct Node {
    std::string host;
    std::vector<int> ranks;
};

/// What only shows when several ranks run.
struct Ranks {
    std::string thread_level;
    std::vector<Node> nodes;
    std::string network_path;
    std::string progress;
    std::string report;
};

/// Whether a launcher has started this process as one of several ranks. Otherwise MPI is left alone: on the login
/// nodes of some clusters MPI_Init ends the process.
bool started_by_launcher() {
    constexpr std::array marks{"OMPI_COMM_WORLD_SIZE", "PMI_RANK",    "PMI_SIZE",   "PMIX_RANK", "MV2_COMM_WORLD_SIZE",
                               "MVP_COMM_WORLD_SIZE",  "PALS_RANKID", "ALPS_APP_PE"};
    return std::ranges::any_of(marks, [](const char* mark) { return std::getenv(mark) != nullptr; });
}

/// May be called before MPI_Init (MPI 3.1, section 8.1.1).
std::string mpi_library() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    std::string library{text.data(), static_cast<std::size_t>(length)};
    // MPICH prints a page; Open MPI counts the terminating zero.
    library.resize(std::min(library.find_first_of(std::string_view{"\r\n\0", 3}), library.size()));
    std::ranges::replace(library, '\t', ' ');
    return library;
}

std::string mpi_standard() {
    int version = 0;
    int subversion = 0;
    MPI_Get_version(&version, &subversion);
    return fmt::format("{}.{}", version, subversion);
}

std::string thread_level() {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level == MPI_THREAD_MULTIPLE) return "MPI_THREAD_MULTIPLE";
    if (level == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
    return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SINGLE";
}

/// Collective. The nodes, on rank 0; empty on the other ranks.
std::vector<Node> gather_nodes(const Runtime& runtime) {
    struct Seat {
        int first = 0; ///< lowest rank of the node, which identifies it
        std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
    };
    Seat own;
    int length = 0;
    MPI_Get_processor_name(own.host.data(), &length);
    // The ranks of a node need not be consecutive.
    while (runtime.path(Rank{own.first}) != Path::direct && runtime.path(Rank{own.first}) != Path::self) ++own.first;
    const bool root = runtime.rank() == Rank{0};
    std::vector<Seat> seats(root ? static_cast<std::size_t>(runtime.size()) : 0);
    MPI_Gather(&own, sizeof own, MPI_BYTE, seats.data(), sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
    std::map<int, Node> nodes;
    for (int rank = 0; rank < static_cast<int>(seats.size()); ++rank) {
        const Seat& seat = seats[static_cast<std::size_t>(rank)];
        nodes[seat.first].host = seat.host.data();
        nodes[seat.first].ranks.push_back(rank);
    }
    std::vector<Node> in_order;
    in_order.reserve(nodes.size());
    for (auto& [first, node] : nodes) in_order.push_back(std::move(node));
    return in_order;
}

std::string markdown() {
    std::string text = "| setting | default | unit | values | meaning |\n|---|---|---|---|---|\n";
    for (const SettingInfo& info : all_settings()) {
        const auto code = [](const std::string& word) {
            return word.empty() ? std::string{} : fmt::format("`{}`", word);
        };
        const std::string values =
            info.choices.empty() ? info.range : fmt::format("`{}`", fmt::join(info.choices, "`, `"));
        text += fmt::format("| `{}` | {} | {} | {} | {}{} |\n", info.name, code(info.default_value), info.unit, values,
                            info.help, info.collective ? " (the same on all ranks)" : "");
    }
    return text;
}

Json as_json(const Settings& settings, const std::optional<Ranks>& ranks) {
    Json all = Json::array();
    for (const SettingInfo& info : all_settings())
        all.push_back({{"name", info.name},
                       {"value", settings.text(info.name)},
                       {"origin", settings.origin(info.name)},
                       {"default", info.default_value},
                       {"unit", info.unit},
                       {"choices", info.choices},
                       {"range", info.range},
                       {"same_on_all_ranks", info.collective},
                       {"help", info.help}});
    Json description = {{"version", LAPWING_VERSION_STRING},
                        {"library", LAPWING_LIBRARY_KIND},
                        {"assertion_level", assertion_level},
                        {"mpi", {{"library", mpi_library()}, {"standard", mpi_standard()}}},
                        {"ranks", nullptr},
                        {"settings", std::move(all)}};
    if (ranks) {
        Json nodes = Json::array();
        int count = 0;
        for (const Node& node : ranks->nodes) {
            nodes.push_back({{"host", node.host}, {"ranks", node.ranks}});
            count += static_cast<int>(node.ranks.size());
        }
        description["mpi"]["thread_level"] = ranks->thread_level;
        description["ranks"] = {{"count", count},
                                {"nodes", std::move(nodes)},
                                {"network_path", ranks->network_path},
                                {"progress", ranks->progress},
                                {"report", ranks->report}};
    }
    return description;
}

/// "0-3, 8": ranks, ascending.
std::string as_ranges(const std::vector<int>& ranks) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        parts.push_back(last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]));
        i = last + 1;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string as_text(const Settings& settings, const std::optional<Ranks>& ranks) {
    std::string text =
        fmt::format("Lapwing {} ({} library, assertion level {})\nMPI: {}, MPI standard {}\n", LAPWING_VERSION_STRING,
                    LAPWING_LIBRARY_KIND, assertion_level, mpi_library(), mpi_standard());
    if (ranks) {
        text += "\n" + ranks->report + "\n\n";
        for (std::size_t i = 0; i < ranks->nodes.size(); ++i)
            text += fmt::format("node {} ({}): ranks {}\n", i, ranks->nodes[i].host, as_ranges(ranks->nodes[i].ranks));
    } else {
        text += "No ranks: start it with mpirun to see the thread level, the nodes and the paths.\n";
    }
    text += "\nSettings (environment variables):\n";
    for (const SettingInfo& info : all_settings()) {
        const std::string value = settings.text(info.name);
        text += fmt::format("\n{}={}{}{}  ({})\n    {}\n    default: {}; {}{}\n", info.name, value,
                            info.unit.empty() ? "" : " ", info.unit, settings.origin(info.name), info.help,
                            info.default_value.empty() ? "nothing" : info.default_value,
                            info.choices.empty() ? fmt::format("values: {}", info.range)
                                                 : fmt::format("one of: {}", fmt::join(info.choices, ", ")),
                            info.collective ? "; the same on all ranks" : "");
    }
    return text;
}

void print(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void show(bool json, const Settings& settings, const std::optional<Ranks>& ranks) {
    print(json ? as_json(settings, ranks).dump(2) + "\n" : as_text(settings, ranks));
}

void run(bool json, bool with_mpi) {
    const Settings settings;
    if (!with_mpi) return show(json, settings, {});
    Runtime runtime{MPI_COMM_WORLD, settings};
    const Ranks ranks{thread_level(), gather_nodes(runtime), std::string{name(runtime.network_path())},
                      std::string{name(runtime.progress_mode())}, runtime.report()};
    if (runtime.rank() == Rank{0}) show(json, settings, ranks);
    runtime.close();
}

} // namespace

int main(int argument_count, char** arguments) {
    CLI::App app{
        "Prints what this Lapwing is, what MPI offers it and all its settings. Start it with mpirun, like the program "
        "in question, to see the nodes and the paths between the ranks."};
    bool as_markdown = false;
    bool json = false;
    bool with_mpi = false;
    app.set_version_flag("--version", LAPWING_VERSION_STRING);
    auto* const markdown_flag =
        app.add_flag("--markdown", as_markdown, "the settings alone, as the table in docs/settings.md");
    app.add_flag("--json", json, "everything, as JSON")->excludes(markdown_flag);
    app.add_flag("--with-mpi", with_mpi, "start MPI although no launcher is detected");
    if (const std::optional<int> code = tools::parse(app, argument_count, arguments)) return *code;
    try {
        if (as_markdown) print(markdown()); // nothing about this process: the text is the same everywhere
        else run(json, with_mpi || started_by_launcher());
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "lapwing-info: {}\n", error.what());
        return 2;
    }
}
