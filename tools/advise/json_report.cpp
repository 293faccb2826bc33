#include "report.hpp"

#include <nlohmann/json.hpp>

namespace lapwing::advise {

std::string as_json(const Report& report) {
    using nlohmann::json;
    const auto amount = [](const detail::model::AccessUse::Amount& of) {
        return json{{"calls", of.calls}, {"accesses", of.accesses}, {"bytes", of.bytes}, {"seconds", of.seconds()}};
    };
    json uses = json::array();
    for (std::size_t u = 0; u < report.advice.uses.size(); ++u) {
        const detail::model::AccessUse& use = report.advice.uses[u];
        uses.push_back({{"line", report.lines[u]},
                        {"object", use.object_name},
                        {"number", use.object_number},
                        {"way", detail::trace::way_words[static_cast<std::size_t>(use.way)]},
                        {"operation", detail::trace::operation_words[static_cast<std::size_t>(use.operation)]},
                        {"own", amount(use.all[0])},
                        {"node", amount(use.all[1])},
                        {"far", amount(use.all[2])},
                        {"heaviest_rank", use.heaviest_rank},
                        {"heaviest_far", amount(use.heaviest[2])}});
    }
    json changes = json::array();
    for (const detail::model::AdvisedChange& change : report.advice.changes) {
        json entry{{"kind", change.kind},
                   {"title", change.title},
                   {"why", change.why},
                   {"object", report.advice.uses[change.uses.front()].object_name},
                   {"lines", lines_of(report, change)},
                   {"uses", change.uses},
                   {"setting", change.setting},
                   {"code", change.code},
                   {"messages_saved", change.messages_saved}};
        if (change.now_seconds) {
            entry["now_seconds"] = *change.now_seconds;
            entry["then_seconds"] = *change.then_seconds;
            entry["uncertainty"] = change.uncertainty;
        }
        changes.push_back(std::move(entry));
    }
    return json{{"ranks", report.trace.ranks},
                {"nodes", report.trace.nodes},
                {"network_path", report.trace.network_path},
                {"seconds", report.advice.seconds},
                {"rated", report.advice.rated},
                {"notes", report.notes},
                {"uses", std::move(uses)},
                {"changes", std::move(changes)}}
               .dump(2) +
           "\n";
}

} // namespace lapwing::advise
