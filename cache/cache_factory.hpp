#pragma once

#include "window/remote_cache.hpp"

namespace lapwing::detail::cache {

/// Makes a WindowCache of each window that options or settings want cached.
[[nodiscard]] const window::CacheFactory& cache_factory() noexcept;

} // namespace lapwing::detail::cache
