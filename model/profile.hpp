#pragma once

#include "model/cost_model.hpp"

#include <lapwing/settings.hpp>
#include <lapwing/team.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lapwing::detail::model {

/// What a profile was measured on. Times of another machine, MPI or network are not used.
struct ProfileKey {
    std::string machine; ///< processor model and number of cores
    std::string mpi;     ///< library and version
    std::string network; ///< what is known of it: hosts, MPI's network variables, LAPWING_NETWORK

    friend bool operator==(const ProfileKey&, const ProfileKey&) = default;
};

/// The key of a team's ranks as this rank sees it; local.
[[nodiscard]] ProfileKey profile_key(const Team& team);

/// The tables as text: lines of `key = value` between a line that names the format and a checksum of everything above.
///
/// A format of its own rather than JSON: the library needs no JSON reader for anything else, and a format this narrow
/// can be rejected as a whole at the first irregularity.
[[nodiscard]] std::string to_text(const ProfileKey& key, const CostTables& tables);

/// What to_text() wrote for this very key. Anything else gives nullopt, with the reason in `problem`: text that was cut
/// off or changed, other versions, numbers that are no times, and tables of another machine, MPI or network.
[[nodiscard]] std::optional<CostTables> parse_profile(std::string_view text, const ProfileKey& key,
                                                      std::string& problem);

/// The profile in a file, whatever it was measured on, which is stored in `key`: for tools that analyse another run.
/// Throws FileError.
[[nodiscard]] CostTables read_profile(const std::string& file, ProfileKey& key);

/// The file that holds a profile for this key: LAPWING_PROFILE if that names a file, else a file
/// named after the key in the directory LAPWING_PROFILE or, by default, $XDG_CACHE_HOME/lapwing or ~/.cache/lapwing.
/// Empty if LAPWING_PROFILE is `none` or there is no such directory.
[[nodiscard]] std::string profile_file(const Settings& settings, const ProfileKey& key);

/// Stores the text atomically: a reader finds all of it or none. Creates the directory. Throws FileError.
void store_profile(const std::string& file, std::string_view text);

/// Collective. The tables of the team's profile, read by rank 0 and sent to all: one file access per job. Without a
/// profile, or with one that cannot be used (rank 0 says why in one line), nullopt. `note`: what the others are to know
/// of rank 0 at the same time, in the same message; it becomes rank 0's everywhere.
[[nodiscard]] std::optional<CostTables> load_profile(Team& team, std::uint32_t* note = nullptr);

} // namespace lapwing::detail::model
