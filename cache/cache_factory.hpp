#pragma once

#include "window/remote_cache.hpp"

namespace lapwing::detail::cache {

/// Makes a WindowCache for each window for which options or settings ask for a cache.
[[nodiscard]] const window::CacheFactory& cache_factory() noexcept;

} // namespace lapwing::detail::cache
