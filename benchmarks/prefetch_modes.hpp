#pragma once

#include <lapwing/prefetch_options.hpp>

#include <string>

namespace lapwing::bench {

/// Options in words, for cases.
[[nodiscard]] inline std::string text(const PrefetchOptions& options) {
    return std::string{options.consistent ? "automatic" : "manual"} + (options.static_domain ? ", static domain" : "") +
           (options.storage == PrefetchStorage::by_owner ? ", by owner"
            : options.storage == PrefetchStorage::halo   ? ", halo"
                                                         : "");
}

} // namespace lapwing::bench
