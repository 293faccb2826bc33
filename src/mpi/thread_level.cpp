#include "src/mpi/thread_level.hpp"

#include "src/support/mpi_state.hpp"

#include <mpi.h>

#include <optional>

namespace lapwing::detail::support::settings_in {
void mpi_thread_level() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::mpi {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<std::optional<int>> level_setting{
    {.name = "LAPWING_THREAD_LEVEL",
     .default_value = "auto",
     .unit = "",
     .help = "thread level of the session that a runtime's communicator comes from; auto: what MPI says, which Open "
             "MPI does not know; "
             "with MPI_Init MPI alone says it"},
    {{"auto", {}},
     {"single", MPI_THREAD_SINGLE},
     {"funneled", MPI_THREAD_FUNNELED},
     {"serialized", MPI_THREAD_SERIALIZED},
     {"multiple", MPI_THREAD_MULTIPLE}}};

} // namespace

int thread_level(const Settings& settings) {
    if (support::mpi_world_open()) return support::mpi_thread_level();
    const std::optional<int> chosen = level_setting.get(settings);
    return chosen ? *chosen : support::mpi_thread_level();
}

} // namespace lapwing::detail::mpi
