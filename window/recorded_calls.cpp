// Which of a window's accesses are recorded (LAPWING_TRACE).
#include "window/recorded_calls.hpp"

#include "src/trace/tool_events.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lapwing::detail::window {

void record_accesses(transport::WindowFacts& window, bool cached) {
    const RecordedTeam::Of team = window.state.part<RecordedTeam>().get();
    if (team == RecordedTeam::Of::another_runtime && !trace::any_listener() && !trace::probes_used()) return;
    window.traced = trace::add_object(cached ? "cached" : "window", window.name, window.number, window.map.own_bytes,
                                      team != RecordedTeam::Of::recording);
    window.map.inline_ranks = 0;
}

void note(const transport::WindowFacts& window, trace::Operation operation, Rank owner, Offset offset,
          std::uint64_t bytes, std::uint64_t accesses, trace::Way way) noexcept {
    if (window.traced == 0 || !trace::on()) return;
    const trace::Affinity affinity = owner == window.map.own_rank        ? trace::Affinity::own
                                     : window.map.base(owner) != nullptr ? trace::Affinity::node
                                                                         : trace::Affinity::far;
    trace::note({window.traced, operation, affinity, owner.value, offset.bytes, bytes, accesses, way});
}

void note_call(const transport::WindowFacts& window, std::string_view call, Rank owner, Offset offset,
               std::uint64_t bytes) noexcept {
    using trace::Operation;
    using Call = std::pair<std::string_view, Operation>;
    static constexpr std::array<Call, 21> calls{{
        {"get", Operation::read},         {"start_get", Operation::read},      {"put", Operation::write},
        {"start_put", Operation::write},  {"put_notify", Operation::notify},   {"fetch_add", Operation::atomic},
        {"fetch_and", Operation::atomic}, {"fetch_or", Operation::atomic},     {"fetch_xor", Operation::atomic},
        {"fetch_min", Operation::atomic}, {"fetch_max", Operation::atomic},    {"exchange", Operation::atomic},
        {"load", Operation::atomic},      {"compare_swap", Operation::atomic}, {"fetch", Operation::atomic},
        {"add", Operation::update},       {"bit_and", Operation::update},      {"bit_or", Operation::update},
        {"bit_xor", Operation::update},   {"min", Operation::update},          {"max", Operation::update},
    }};
    const auto found = std::ranges::find(calls, call, &Call::first);
    if (bytes != 0 && found != calls.end()) note(window, found->second, owner, offset, bytes);
}

} // namespace lapwing::detail::window
