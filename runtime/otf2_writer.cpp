#include "runtime/otf2_writer.hpp"

#if LAPWING_HAS_OTF2

#include "src/support/log.hpp"
#include "src/support/mutex.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <mpi.h>
#include <otf2/OTF2_MPI_Collectives.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace lapwing::detail::runtime {
namespace {

/// Of a rank; those beyond are left out.
constexpr std::size_t most_threads = 64;
constexpr std::uint64_t chunk_bytes = 1 << 20;

[[nodiscard]] OTF2_LocationRef location_of(int rank, std::size_t thread) noexcept {
    return static_cast<OTF2_LocationRef>(rank) * most_threads + thread;
}
[[nodiscard]] OTF2_RegionRef region_of(trace::Way way, trace::Operation operation) noexcept {
    return static_cast<OTF2_RegionRef>(static_cast<std::size_t>(way) * trace::operation_words.size() +
                                       static_cast<std::size_t>(operation));
}

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
const OTF2_FlushCallbacks flush_callbacks{.otf2_pre_flush = flush_always, .otf2_post_flush = nullptr};

void check(OTF2_ErrorCode code, const std::string& directory) {
    if (code != OTF2_SUCCESS)
        throw FileError{
            fmt::format("LAPWING_TOOLS=otf2:{}: the archive cannot be written ({}: {}); name a directory that "
                        "does not exist yet, in one that can be written",
                        directory, OTF2_Error_GetName(code), OTF2_Error_GetDescription(code))};
}

class Writer final : public Otf2Writer {
public:
    Writer(Team& team, const std::string& directory) : team_{team}, directory_{directory} {
        std::error_code error;
        const bool there = std::filesystem::exists(directory, error);
        // On every rank, or the others would wait.
        if (team.max(static_cast<std::int64_t>(team.rank() == Rank{0} && there ? 1 : 0)) != 0)
            check(OTF2_ERROR_FILE_INTERACTION, directory);
        archive_ = OTF2_Archive_Open(directory.c_str(), "traces", OTF2_FILEMODE_WRITE, chunk_bytes, chunk_bytes,
                                     OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
        keep(archive_ != nullptr ? OTF2_SUCCESS : OTF2_ERROR_FILE_CAN_NOT_OPEN);
        refuse_together();
        keep(OTF2_Archive_SetFlushCallbacks(archive_, &flush_callbacks, nullptr));
        keep(OTF2_MPI_Archive_SetCollectiveCallbacks(archive_, team.state().communicator(), MPI_COMM_NULL));
        refuse_together();
        keep(OTF2_Archive_OpenEvtFiles(archive_));
        refuse_together();
        team.barrier();
        begin_ = std::chrono::steady_clock::now(); // at about the same time everywhere: clocks of hosts differ
    }

    void begin(const trace::ToolEvent& access) noexcept override {
        const std::lock_guard guard{mutex_};
        if (access.other_team) return; // the archive knows the runtime's ranks alone
        OfThread* const thread = of_thread(access.thread);
        if (thread == nullptr) return;
        const std::uint64_t time = now();
        if (thread->begun == 0) {
            thread->region = region_of(access.way, access.operation);
            (void)OTF2_EvtWriter_Enter(thread->writer, nullptr, time, thread->region);
        }
        const auto remote = static_cast<std::uint32_t>(access.owner);
        const std::uint64_t id = thread->operations + thread->begun++;
        switch (access.operation) {
        case trace::Operation::read:
            (void)OTF2_EvtWriter_RmaGet(thread->writer, nullptr, time, 0, remote, access.bytes, id);
            break;
        case trace::Operation::write:
        case trace::Operation::notify:
            (void)OTF2_EvtWriter_RmaPut(thread->writer, nullptr, time, 0, remote, access.bytes, id);
            break;
        case trace::Operation::atomic:
        case trace::Operation::update:
            (void)OTF2_EvtWriter_RmaAtomic(thread->writer, nullptr, time, 0, remote,
                                           OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, access.bytes,
                                           access.operation == trace::Operation::atomic ? access.bytes : 0, id);
            break;
        }
    }

    void end(const trace::ToolEvent& call) noexcept override {
        const std::lock_guard guard{mutex_};
        OfThread* const thread = of_thread(call.thread);
        if (thread == nullptr || thread->begun == 0) return;
        const std::uint64_t time = now();
        for (; thread->begun != 0; --thread->begun)
            (void)OTF2_EvtWriter_RmaOpCompleteBlocking(thread->writer, nullptr, time, 0, thread->operations++);
        (void)OTF2_EvtWriter_Leave(thread->writer, nullptr, time, thread->region);
    }

    void sequence_point(const trace::CallSite&, std::size_t) noexcept override {}

    void close() override {
        // Nobody asks this rank for anything while it is in MPI's collective calls. All ranks make all of those, also
        // those on which something has failed, or the others would wait.
        team_.barrier();
        const std::uint64_t length = now();
        std::array<std::uint64_t, most_threads> events{};
        for (std::size_t k = 0; k < threads_.size(); ++k) {
            if (threads_[k].writer == nullptr) continue;
            keep(OTF2_EvtWriter_GetNumberOfEvents(threads_[k].writer, &events[k]));
            keep(OTF2_Archive_CloseEvtWriter(archive_, threads_[k].writer));
        }
        keep(OTF2_Archive_CloseEvtFiles(archive_));
        keep(OTF2_Archive_OpenDefFiles(archive_));
        for (std::size_t k = 0; k < threads_.size(); ++k)
            if (events[k] != 0)
                keep(OTF2_Archive_CloseDefWriter(
                    archive_, OTF2_Archive_GetDefWriter(archive_, location_of(team_.rank().value, k))));
        keep(OTF2_Archive_CloseDefFiles(archive_));
        std::vector<std::uint64_t> all(most_threads * static_cast<std::size_t>(team_.size()));
        team_.all_gather(std::as_bytes(std::span{events}), std::as_writable_bytes(std::span{all}));
        if (team_.rank() == Rank{0}) write_definitions(all, length);
        team_.barrier();
        keep(OTF2_Archive_Close(archive_));
        refuse_together();
        if (team_.max(left_out_) != 0 && team_.rank() == Rank{0})
            support::log_line(fmt::format("LAPWING_TOOLS=otf2:{}: the archive has {} threads of each rank, and not "
                                          "the accesses of those beyond",
                                          directory_, most_threads));
    }

private:
    struct OfThread {
        OTF2_EvtWriter* writer = nullptr;
        OTF2_RegionRef region = 0;
        std::uint64_t operations = 0; ///< complete
        std::uint64_t begun = 0;
    };

    void keep(OTF2_ErrorCode code) noexcept {
        if (error_ == OTF2_SUCCESS) error_ = code;
    }
    /// Collective. Throws FileError on every rank if any has failed.
    void refuse_together() {
        const auto own = static_cast<std::int64_t>(error_);
        std::array<std::int64_t, 2> codes{own, -own}; // warnings are negative
        team_.max(std::span<std::int64_t>{codes});
        if (codes[0] == 0 && codes[1] == 0) return;
        check(static_cast<OTF2_ErrorCode>(codes[0] != 0 ? codes[0] : -codes[1]), directory_);
    }

    [[nodiscard]] std::uint64_t now() const noexcept {
        return static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin_).count());
    }
    [[nodiscard]] OfThread* of_thread(std::size_t number) noexcept {
        if (number >= most_threads) {
            ++left_out_;
            return nullptr;
        }
        OfThread& thread = threads_[number];
        if (thread.writer == nullptr)
            thread.writer = OTF2_Archive_GetEvtWriter(archive_, location_of(team_.rank().value, number));
        return thread.writer == nullptr ? nullptr : &thread;
    }

    void write_definitions(std::span<const std::uint64_t> events, std::uint64_t length) {
        OTF2_GlobalDefWriter* const out = OTF2_Archive_GetGlobalDefWriter(archive_);
        OTF2_StringRef strings = 0;
        const auto text = [&](const std::string& value) {
            keep(OTF2_GlobalDefWriter_WriteString(out, strings, value.c_str()));
            return strings++;
        };
        constexpr std::uint64_t ticks = 1'000'000'000;
        keep(OTF2_GlobalDefWriter_WriteClockProperties(out, ticks, 0, length, OTF2_UNDEFINED_TIMESTAMP));
        const OTF2_StringRef none = text("");
        for (std::size_t way = 0; way < trace::way_words.size(); ++way)
            for (std::size_t operation = 0; operation < trace::operation_words.size(); ++operation) {
                const OTF2_StringRef name =
                    text(fmt::format("lapwing {} {}", trace::way_words[way], trace::operation_words[operation]));
                keep(OTF2_GlobalDefWriter_WriteRegion(
                    out, region_of(static_cast<trace::Way>(way), static_cast<trace::Operation>(operation)), name, name,
                    none, OTF2_REGION_ROLE_DATA_TRANSFER, OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, none, 0, 0));
            }
        keep(OTF2_GlobalDefWriter_WriteSystemTreeNode(out, 0, text("machine"), text("machine"),
                                                      OTF2_UNDEFINED_SYSTEM_TREE_NODE));
        std::vector<std::uint64_t> locations;
        for (int rank = 0; rank < team_.size(); ++rank) {
            keep(OTF2_GlobalDefWriter_WriteLocationGroup(
                out, static_cast<OTF2_LocationGroupRef>(rank), text(fmt::format("rank {}", rank)),
                OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP));
            for (std::size_t thread = 0; thread < most_threads; ++thread) {
                const std::uint64_t count = events[static_cast<std::size_t>(rank) * most_threads + thread];
                if (count == 0 && thread != 0) continue;
                keep(OTF2_GlobalDefWriter_WriteLocation(
                    out, location_of(rank, thread), text(fmt::format("thread {}", thread)),
                    OTF2_LOCATION_TYPE_CPU_THREAD, count, static_cast<OTF2_LocationGroupRef>(rank)));
            }
            locations.push_back(location_of(rank, 0));
        }
        write_window(out, text("ranks"), text("lapwing"), locations);
        keep(OTF2_Archive_CloseGlobalDefWriter(archive_, out));
    }

    /// All windows of the team, as one.
    void write_window(OTF2_GlobalDefWriter* out, OTF2_StringRef ranks, OTF2_StringRef name,
                      const std::vector<std::uint64_t>& locations) {
        const auto size = static_cast<std::uint32_t>(locations.size());
        keep(OTF2_GlobalDefWriter_WriteGroup(out, 0, ranks, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                             OTF2_GROUP_FLAG_NONE, size, locations.data()));
        std::vector<std::uint64_t> members(locations.size());
        std::iota(members.begin(), members.end(), std::uint64_t{0});
        keep(OTF2_GlobalDefWriter_WriteGroup(out, 1, ranks, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                             OTF2_GROUP_FLAG_NONE, size, members.data()));
        keep(OTF2_GlobalDefWriter_WriteComm(out, 0, name, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
        keep(OTF2_GlobalDefWriter_WriteRmaWin(out, 0, name, 0, OTF2_RMA_WIN_FLAG_NONE));
    }

    Team& team_;
    std::string directory_;
    OTF2_Archive* archive_ = nullptr;
    OTF2_ErrorCode error_ = OTF2_SUCCESS; ///< the first one of this rank
    std::int64_t left_out_ = 0;           ///< calls' beginnings and ends of threads that have no room
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    /// Guards the archive and what follows: it is one for all threads.
    support::Mutex mutex_{support::LockRank::leaf};
    std::array<OfThread, most_threads> threads_{};
};

} // namespace

bool has_otf2() noexcept { return true; }

std::unique_ptr<Otf2Writer> make_otf2_writer(Team& team, const std::string& directory) {
    return std::make_unique<Writer>(team, directory);
}

} // namespace lapwing::detail::runtime

#else

namespace lapwing::detail::runtime {

bool has_otf2() noexcept { return false; }
std::unique_ptr<Otf2Writer> make_otf2_writer(Team&, const std::string&) { return nullptr; }

} // namespace lapwing::detail::runtime

#endif
