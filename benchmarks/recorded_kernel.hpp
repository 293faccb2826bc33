#pragma once

#include "harness.hpp"

#include "model/recorded_trace.hpp"
#include "naive_kernels.hpp"

#include <lapwing/runtime.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace lapwing::bench {

/// Collective. A file for a trace, the same on all ranks.
[[nodiscard]] inline std::string trace_file(Context& context) {
    int number = static_cast<int>(getpid());
    MPI_Bcast(&number, 1, MPI_INT, 0, context.world());
    return fmt::format("/tmp/lapwing-bench-{}.trace", number);
}

/// Collective. What is recorded of a kernel; on rank 0. `on_private_memory`: the times of its intervals there.
[[nodiscard]] inline std::optional<detail::model::RecordedTrace>
recorded(Context& context, const naive::Kernel& kernel, std::string_view kind, bool on_private_memory = false) {
    const std::string file = trace_file(context);
    {
        const char* const is_private = on_private_memory ? "on" : "off";
        Runtime runtime{context.world(), Settings{{"LAPWING_TRACE", file}, {"LAPWING_PRIVATE", is_private}}};
        (void)kernel.run(runtime, kind);
        runtime.close();
    }
    if (context.rank() != 0) return {};
    std::ifstream in{file, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    std::remove(file.c_str());
    return detail::model::parse_trace(text, file);
}

} // namespace lapwing::bench
