#include "application.hpp"

namespace lapwing::bench::applications {

std::vector<ApplicationKind> all_applications() {
    return {
        lulesh(),
    };
}

} // namespace lapwing::bench::applications
