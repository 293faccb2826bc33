#include "report.hpp"

#include "machine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace lapwing::bench {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const Row& row) {
    Json json = {
        {"bench", row.bench},
        {"case", row.case_name},
        {"mpi", row.mpi},
        {"network", row.network},
        {"path", row.path},
        {"ranks", row.ranks},
        {"metric", row.metric},
        {"value", row.value},
        {"unit", row.unit},
        {"baseline", row.baseline},
        {"baseline_value", number(row.baseline_value)},
        {"ratio", number(row.ratio)},
        {"min", row.min},
        {"max", row.max},
        {"repetitions", row.repetitions},
    };
    if (row.predicted) json["predicted"] = *row.predicted;
    if (row.predicted_gain) json["predicted_gain"] = *row.predicted_gain;
    return json;
}

} // namespace

std::string line(const Row& row) {
    std::string text =
        fmt::format("{}: {}, {} {}: {:.4g} {}", row.bench, row.case_name, row.path, row.metric, row.value, row.unit);
    if (row.ratio) {
        text += fmt::format("; {}: {:.4g} {}; {:.3f} times better", row.baseline, row.baseline_value.value_or(0),
                            row.unit, *row.ratio);
    }
    return text;
}

void write_json(const std::string& file, std::span<const Row> rows) {
    Json list = Json::array();
    for (const Row& row : rows) list.push_back(to_json(row));
    const Json all = {{"machine", machine()}, {"rows", std::move(list)}};
    // Renamed when complete, so that a reader of the file never finds a part of it.
    const std::string unfinished = file + ".part";
    {
        std::ofstream out{unfinished};
        out << all.dump(2) << '\n';
        out.close();
        if (!out) throw std::runtime_error{fmt::format("{} cannot be written", unfinished)};
    }
    if (std::rename(unfinished.c_str(), file.c_str()) != 0) {
        throw std::runtime_error{fmt::format("{} cannot be written", file)};
    }
}

} // namespace lapwing::bench
