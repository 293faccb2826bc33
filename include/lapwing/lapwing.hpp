#pragma once

/// Everything that programs use.
#include <lapwing/block_list.hpp>
#include <lapwing/cache.hpp>
#include <lapwing/cache_options.hpp>
#include <lapwing/completion.hpp>
#include <lapwing/detail/config.hpp>
#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/halo.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/mpi_datatype.hpp>
#include <lapwing/path.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/recording.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/statistics.hpp>
#include <lapwing/team.hpp>
#include <lapwing/window.hpp>
