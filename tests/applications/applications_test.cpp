// The applications of the benchmarks, in each of their ways, at small sizes.
#include "application.hpp"

#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <vector>

using namespace lapwing::bench::applications;

TEST_CASE("an application's result is right whichever way it was computed") {
    lapwing::Runtime runtime;
    for (const ApplicationKind& kind : all_applications())
        for (const Input& input : kind.inputs) {
            if (input.size != Size::small) continue;
            INFO(kind.name << ": " << input.name);
            const std::unique_ptr<Application> application = input.make({runtime, MPI_COMM_WORLD});
            std::vector<Way> ways = input.ways;
            ways.insert(ways.begin(), Way::mpi);
            for (const Way way : ways) {
                INFO(name(way));
                application->prepare(way);
                // What has not been computed is not right: else the check would find nothing.
                CHECK_FALSE(test::on_all_ranks(application->fault(way) == ""));
                application->prepare(way);
                application->run(way);
                CHECK(application->fault(way) == "");
                CHECK(application->operations() > 0);
            }
        }
    runtime.close();
}
