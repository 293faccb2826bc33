// Runs miniMD and SSCA2 in each of their ways, prints seconds and results, and fails if a result is wrong:
// `minimd_ssca2 [APPLICATION [INPUT [WAY]]]`, each a part of a name.
#include "minimd_ssca2_application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace {

using namespace lapwing::bench::applications;

bool run(Ranks ranks, const ApplicationKind& kind, const Input& input, const std::string& wanted) {
    const std::unique_ptr<Application> application = input.make(ranks);
    std::vector<Way> ways = input.ways;
    ways.insert(ways.begin(), Way::mpi);
    bool right = true;
    for (const Way way : ways) {
        if (!name(way).starts_with(wanted)) continue;
        double least = 0;
        for (int repetition = 0; repetition < 3 && least < 2; ++repetition) {
            application->prepare(way);
            ranks.runtime.barrier();
            const double begin = MPI_Wtime();
            application->run(way);
            ranks.runtime.barrier();
            const double seconds = MPI_Wtime() - begin;
            least = repetition == 0 ? seconds : std::min(least, seconds);
        }
        const std::string fault = application->fault(way);
        right = right && fault.empty();
        if (ranks.rank() == 0)
            fmt::print("{}, {}, {}: {:.4f} s, {:.3f} M {}/s {}\n{}", kind.name, input.name, name(way), least,
                       application->operations() / least * 1e-6, kind.operations, fault, application->result());
    }
    return right;
}

} // namespace

int main(int argc, char** argv) {
    const auto argument = [&](int k) { return std::string{k < argc ? argv[k] : ""}; };
    lapwing::Runtime runtime;
    bool right = true;
    for (const ApplicationKind& kind : {minimd(), ssca2()}) {
        if (!kind.name.starts_with(argument(1))) continue;
        for (const Input& input : kind.inputs)
            if (argument(2).empty() ? input.size == Size::measured : input.name.starts_with(argument(2)))
                right = run({runtime, MPI_COMM_WORLD}, kind, input, argument(3)) && right;
    }
    runtime.close();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
