#pragma once

#include "model/access_rates.hpp"
#include "model/copy_model.hpp"
#include "model/transfer_model.hpp"
#include "src/kernels/copy_choices.hpp"
#include "src/support/mutex.hpp"

#include <lapwing/path.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lapwing::detail::model {

/// Where a transfer model comes from.
enum class Source : std::uint8_t {
    built_in,   ///< round numbers for a TCP network
    calibrated, ///< a few transfers of this process
    profile,    ///< lapwing-tune
};

[[nodiscard]] constexpr std::string_view name(Source source) {
    switch (source) {
    case Source::built_in: return "built in";
    case Source::calibrated: return "calibrated in this process";
    case Source::profile: return "profile of lapwing-tune";
    }
    return "?";
}

/// All inputs of plans: T_copy, and T_put and T_get of each path. Plain data, as a profile
/// stores it.
struct CostTables {
    /// Indexed by path: direct, rma, service.
    struct PathTables {
        std::array<TransferModel, 2> transfers; ///< by direction; empty: not measured
    };
    CopyModel copy;
    /// Where copy kernels other than the built-in ones were faster, and which.
    std::vector<kernels::CopyChoice> choices;
    std::array<PathTables, 3> paths;
    /// For single accesses, for predictions; empty unless lapwing-tune has measured them.
    MeasuredRates rates;

    [[nodiscard]] TransferModel& transfers(Path path, Direction direction);
    [[nodiscard]] const TransferModel& transfers(Path path, Direction direction) const;
};

/// Times of a path that was not measured.
[[nodiscard]] TransferModel built_in_model(Path path);

/// The cost tables of a process, kept accurate: transfers report how long they took, and a model whose predictions
/// have drifted is rescaled, only for transfers of about the same size: an error at one size says nothing about
/// others, and a network that has become slower soon shows at all sizes in use. Safe for
/// several threads.
class CostModel {
public:
    /// Replaces the tables.
    void set(const CostTables& tables, Source source);

    /// The model of a path, measured or else built in, as currently scaled for transfers of `bytes` bytes in total.
    [[nodiscard]] TransferModel transfers(Path path, Direction direction, std::uint64_t bytes) const;
    [[nodiscard]] Source source(Path path, Direction direction) const;
    [[nodiscard]] CopyModel copy() const;

    void set_transfers(Path path, Direction direction, const TransferModel& model, Source source);

    /// A transfer of `bytes` on a path, most of it on the wire, took `observed` seconds where `predicted` were
    /// expected. An exponentially weighted mean of the logarithm of their quotient, single values bounded, triggers a
    /// rescale when it leaves [1/1.25, 1.25] after at least 8 transfers: a network that has become twice as slow is
    /// detected after about a dozen, a single stall is ignored. Both directions are rescaled for about this size, since
    /// one network carries them, to between a 16th and 16 times what was measured.
    void observe(Path path, std::uint64_t bytes, double predicted, double observed);

    /// Changes whenever predictions do: plans made with an older version are recomputed.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
    /// The number of rescales so far.
    [[nodiscard]] std::uint64_t rescales() const;

private:
    struct Drift {
        double mean = 0; ///< of log(observed / predicted)
        unsigned count = 0;
        double scale = 0; ///< logarithm of the factor by which the models exceed the measurement
    };
    /// Sizes within a factor of 16.
    [[nodiscard]] static constexpr std::size_t size_class(std::uint64_t bytes) noexcept {
        return (static_cast<std::size_t>(std::bit_width(bytes)) + 3) / 4;
    }
    static constexpr std::size_t size_classes = 17;
    [[nodiscard]] static std::size_t index(Path path, Direction direction) noexcept;

    mutable support::Mutex mutex_{support::LockRank::leaf};
    CostTables tables_;
    std::array<Source, 6> sources_{};
    std::array<std::array<Drift, size_classes>, 3> drifts_{}; ///< by path and size
    std::uint64_t rescales_ = 0;
    std::atomic<std::uint64_t> version_{1};
};

} // namespace lapwing::detail::model
