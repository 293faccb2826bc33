#include "application.hpp"

namespace lapwing::bench::applications {

std::vector<ApplicationKind> all_applications() {
    return {
        lulesh(),
        minimd(),
        ssca2(),
    };
}

} // namespace lapwing::bench::applications
