#pragma once

#include "src/messages/request.hpp"
#include "src/messages/packet.hpp"
#include "src/messages/mpi_requests.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/statistics.hpp>

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lapwing::messages {

/// Something that a thread waits for: the parts of a transfer, or the answer of an atomic.
struct Operation {
    /// Parts still under way. Stored with release after the data has been written, read with acquire before it is used.
    std::atomic<std::uint32_t> remaining{0};
    std::byte* destination = nullptr;

    [[nodiscard]] bool done() const noexcept { return remaining.load(std::memory_order_acquire) == 0; }
};

/// Memory of this rank that others may ask for by its window's number.
struct ExposedMemory {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;
    std::atomic<std::uint64_t>* counters = nullptr; ///< for notified puts
    std::uint64_t counter_count = 0;
    /// The MPI window whose atomics the memory is for, with its displacement unit and this rank's number in it; null: the
    /// processor's.
    MPI_Win atomics = MPI_WIN_NULL;
    int unit = 1;
    int rank = 0;
};

/// What the engine tells its team. Called with the engine's mutex held: must not block and must not call the engine
/// except for the calls marked "from the listener".
class EngineListener {
public:
    virtual ~EngineListener() = default;
    virtual void on_barrier_token(const BarrierToken& token) = 0;
    /// The engine cannot keep its promises any more: an MPI call failed (`code` is what it returned, else 0), or another rank
    /// asked for what is not there. What is under way may never be complete; the engine goes on as far as it can.
    virtual void on_failed(const std::string& text, int code) noexcept = 0;
    /// Another rank has waited for a while in a collective call.
    virtual void on_waiting(const WaitingNote& note) = 0;
    /// Another rank asks for a window of which this rank has abandoned its part.
    virtual void on_abandoned_access() = 0;
    /// `collectives`: the collective calls that it completed before it left.
    virtual void on_departed(int rank, std::uint64_t collectives, std::uint32_t why) = 0;
    /// Called at the end of every round of progress, to send what could not be sent before.
    virtual void on_progress() = 0;
};

struct EngineLimits {
    std::uint64_t packet_bytes = 8000;
    std::uint64_t packets_in_flight = 4;       ///< unacknowledged request packets to one target
    std::uint64_t request_packets = 64;        ///< buffers for outgoing requests
    std::uint64_t reply_packets = 64;          ///< buffers for outgoing replies
    std::uint64_t request_receives = 32;       ///< receives that are posted for requests
    std::uint64_t reply_receives = 32;         ///< receives that are posted for replies
    std::uint64_t operations = 256;            ///< own operations that wait for an answer
    std::uint64_t bulk_transfers = 64;         ///< own, and as many served, straight from or to memory at a time
    std::uint64_t staging_buffers = 8;         ///< for what is packed or unpacked for others; allocated when first used
    std::uint64_t staging_bytes = 1 << 20;     ///< of each
};

/// One rank's end of the service path: carries requests to other ranks' memory in packets, and answers theirs. Two
/// threads use it, as in MuPC (Zhang 2007, section 4.3): the computation thread queues requests and, while it waits, drives
/// progress itself; the communication thread drives it otherwise. One mutex guards it all; whoever holds it is the one
/// that calls MPI.
///
/// Own memory is bounded by EngineLimits, whatever the number of ranks: about 1.5 MiB with the defaults, up to 8 MiB more once
/// others have asked for packing or unpacking, and about 150 bytes for each rank that packets have been exchanged with. MPI's
/// is not: what has been sent to a rank and not been received waits inside MPI there, up to packets_in_flight packets from each
/// rank that has requests under way to it (MPI_Issend
/// would not help: both MPIs send small messages' data along with it). Requests wait at the sender for acknowledgements.
/// Requests and replies use separate receives and separate buffers, and replies never cause messages: so replies are
/// always consumed, reply buffers always come free, and a rank that cannot answer now (no buffer) may stop reading requests
/// without a deadlock.
///
/// Order: requests of a pair of ranks are carried out in the order they were queued, except that the data of bulk
/// transfers moves on its own; the origin keeps overlapping operations from passing each other (see OutstandingAccesses).
class Engine {
public:
    /// Collective over `communicator`, which the engine uses alone (it posts receives from any source).
    Engine(MPI_Comm communicator, const EngineLimits& limits, support::Statistics& statistics, EngineListener& listener);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    void expose(std::uint64_t window, const ExposedMemory& memory);
    void withdraw(std::uint64_t window);
    /// What becomes of requests for memory that has been abandoned: the listener hears of them, since their origins wait, or
    /// nobody does.
    enum class LateRequests : std::uint8_t { told, dropped };
    /// Withdraws memory that is about to go while other ranks may still ask for it: ends what moves to and from it, as far as
    /// it can be brought to an end.
    void abandon(std::uint64_t window, LateRequests late) noexcept;

    /// Largest payload that travels inside a packet, which it may fill, a multiple of 8; larger ones are bulk transfers.
    [[nodiscard]] std::uint64_t inline_limit() const noexcept { return inline_limit_; }
    /// Bytes of a packet for requests and their payloads.
    [[nodiscard]] std::uint64_t packet_room() const noexcept { return limits_.packet_bytes - sizeof(PacketHeader); }

    // The try_ calls return false, having done nothing, when there is no room at the moment: make progress, call again.

    /// Starts a get; `operation` completes when the bytes are in its destination, which the caller has set.
    bool try_get(Operation& operation, int target, std::uint64_t window, std::uint64_t offset, std::uint64_t bytes,
                 bool urgent);
    /// Starts a put; `operation` completes when the source may be reused: at once for payloads within inline_limit().
    bool try_put(Operation& operation, int target, std::uint64_t window, std::uint64_t offset, const std::byte* source,
                 std::uint64_t bytes, std::uint32_t counter_plus_one = 0);
    /// Starts a put to places that a RunTable names: `message` is the table, `table_bytes` of it, and the data. At most
    /// largest_staged() bytes. `operation` as of a put.
    bool try_scatter(Operation& operation, int target, std::uint64_t window, std::span<const std::byte> message,
                     std::uint64_t table_bytes);
    /// Starts a get of `bytes` bytes from places that a RunTable names, at most largest_staged(); the table at most
    /// inline_limit(). `operation` as of a get.
    bool try_gather(Operation& operation, int target, std::uint64_t window, std::span<const std::byte> table,
                    std::uint64_t bytes);
    [[nodiscard]] std::uint64_t largest_staged() const noexcept { return limits_.staging_bytes; }
    /// Starts an atomic; the destination of `operation` gets 8 bytes.
    bool try_atomic(Operation& operation, int target, const Request& request, const AtomicPayload& payload);
    /// Starts a list of atomics, of at most inline_limit() bytes; the destination of `operation` gets 8 bytes for each.
    bool try_atomics(Operation& operation, int target, const Request& request, std::span<const std::byte> payload);
    /// Sends atomic adds, which are complete when flushed(). At most inline_limit() bytes.
    bool try_adds(int target, const Request& request, std::span<const AddPayload> adds);
    /// Asks the target's progress thread to stay awake.
    bool try_wake(int target);

    /// From the listener: queues a request without data and sends it at once if it can.
    bool try_send_locked(int target, const Request& request, const void* payload, std::uint64_t payload_bytes);
    /// From the listener: hands a token to MPI, whatever else is under way to the target.
    bool try_send_locked(int target, const BarrierToken& token);

    /// Forgets an operation whose owner stops waiting for it: because its target has left, or because progress has failed, so
    /// that no later operation takes its place. Nothing is written to the owner's memory afterwards. What MPI still reads
    /// there it reads for a bounded time only, as far as it can be brought to an end.
    void abandon(Operation& operation) noexcept;

    /// What must be acknowledged for everything queued to `target` so far to be complete there; sends what is queued.
    struct FlushTicket {
        std::uint64_t packets = 0; ///< to be acknowledged
        std::uint64_t bulk = 0;    ///< bulk transfers up to this number; later ones are another flush's
        bool any = false;
    };
    FlushTicket start_flush(int target);
    [[nodiscard]] bool flushed(int target, const FlushTicket& ticket);
    /// The targets with operations that may not be complete.
    /// Cost: by their number, whatever that of the ranks.
    [[nodiscard]] std::vector<int> busy_targets();

    /// One round of progress, unless another thread is making one. Returns whether anything moved.
    bool progress();
    /// Whether own operations are under way, so that someone should keep polling.
    /// Acquire: a flush that finds none returns at once, and what they brought may then be read.
    [[nodiscard]] bool busy() const noexcept { return active_.load(std::memory_order_acquire) != 0; }
    /// Whether MPI has own operations' messages in hand, or messages are queued behind others: they move as often as someone looks.
    /// What only waits to be acknowledged does not.
    [[nodiscard]] bool pushing() const noexcept { return pushing_.load(std::memory_order_relaxed); }
    /// Times a wake request has come in.
    [[nodiscard]] std::uint64_t wakes() const noexcept { return wakes_.load(std::memory_order_relaxed); }

    /// For calls "from the listener" that come from elsewhere, and for the listener's own state.
    [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
    /// Makes progress; true when everything queued here has been acknowledged and every answer owed has left.
    [[nodiscard]] bool idle();
    /// Takes back the posted receives. Nothing may be sent to this rank any more (or it will stay unread).
    void stop() noexcept;

    [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }

private:
    /// What is kept about a rank that this one has exchanged packets with.
    struct Peer {
        int rank = 0;
        Packet* open_request = nullptr; ///< being filled
        bool urgent = false;            ///< send it as soon as the window allows
        bool listed_open = false;       ///< in open_peers_
        bool listed_busy = false;       ///< in busy_peers_
        Packet* open_reply = nullptr;
        bool listed_reply = false; ///< in reply_peers_
        std::uint64_t packets_sent = 0;
        std::uint64_t packets_acknowledged = 0;
        std::uint64_t packets_handled = 0; ///< of the peer's, by this rank
        std::uint64_t acknowledgement_sent = 0; ///< the packets_handled that the peer has been told
        std::uint64_t bulk_started = 0;        ///< own bulk transfers, which have numbers from 1
        std::vector<std::uint64_t> bulk_under_way; ///< their numbers, ascending

        [[nodiscard]] bool busy() const noexcept {
            return open_request != nullptr || packets_acknowledged != packets_sent || !bulk_under_way.empty();
        }
    };
    /// An own operation that an answer refers to.
    struct Slot {
        Operation* operation = nullptr;
        Peer* peer = nullptr;
        std::uint32_t generation = 0;
        std::uint32_t pieces = 0;   ///< MPI requests under way
        std::uint32_t tag = 0;      ///< number of its bulk data's tag: another one after each transfer that was abandoned
        std::uint64_t bulk_number = 0; ///< of a bulk transfer, among those to its peer; 0: it is none
        std::uint64_t bytes = 0;       ///< of a bulk transfer
        bool awaits_reply = false;
        bool in_use = false;

        [[nodiscard]] bool bulk() const noexcept { return bulk_number != 0; }
    };
    /// The next free slot, with its name in requests and replies; take_slot() fills it.
    struct SlotName {
        std::uint32_t index = 0;
        std::uint32_t tag = 0;
        std::uint64_t token = 0;
    };
    static constexpr std::uint32_t no_staging = 0xffffffff;
    /// A bulk put of another rank that is arriving.
    struct ServedPut {
        Peer* peer = nullptr;
        std::uint64_t token = 0;
        std::uint64_t window = 0;
        std::uint32_t pieces = 0;
        std::uint32_t counter_plus_one = 0;
        std::uint32_t staging = no_staging; ///< the buffer that it arrives in, to be unpacked
        std::uint64_t table_bytes = 0;
        std::uint64_t bytes = 0;
        std::uint32_t tag = 0;
        support::AlignedMemory scrap{}; ///< where it arrives if it comes too late for its window's memory
        bool in_use = false;
    };
    enum class What : std::uint8_t {
        request_in,
        reply_in,
        request_out,
        reply_out,
        own_get,
        own_put,
        served_get,
        served_put,
        served_gather,
        discarded, ///< nobody waits for it any more
        scrap      ///< what came for a receive that was taken back
    };
    struct Purpose {
        What what{};
        std::uint32_t index = 0;
        friend bool operator==(const Purpose&, const Purpose&) = default;
    };
    /// Receives that are posted in a ring: MPI matches them in order, so the head is always the next to complete.
    struct Ring {
        support::AlignedMemory memory;
        std::vector<MPI_Request> requests;
        std::size_t head = 0;
        int tag = 0;
        What what{};
    };

    Peer& peer(int rank);
    /// The buffer of a posted receive.
    [[nodiscard]] std::byte* packet_in(const Ring& ring, std::size_t index) const noexcept {
        return ring.memory.get() + index * support::rounded_to_alignment(limits_.packet_bytes);
    }
    void post(Ring& ring, std::size_t index);
    void watch_head(Ring& ring);
    void complete(const Purpose& purpose, const MPI_Status& status);
    void read_replies(const MPI_Status& status);
    void read_requests();
    bool handle(Peer& origin, const Request& request, const std::byte* payload);
    void handle_adds(const Peer& origin, const Request& request, const std::byte* payload);
    bool handle_atomics(Peer& origin, const Request& request, const std::byte* payload);
    bool serve_bulk(Peer& origin, const Request& request, std::byte* address);
    /// Of a put whose window's memory is gone the last `pieces` that are to come: its origin could not send them else, nor close the
    /// team.
    void receive_into_scrap(std::uint32_t index, std::uint64_t pieces);
    bool serve_gather(Peer& origin, const Request& request, const std::byte* table);
    bool serve_bulk_scatter(Peer& origin, const Request& request);
    /// Unpacks a message of try_scatter().
    void unpack(int origin, std::uint64_t window, std::span<const std::byte> message, std::uint64_t table_bytes);
    /// The last of free_staging_, or null when all buffers are in use; the caller takes it off when all else is in place.
    [[nodiscard]] std::byte* next_staging();
    void report_bad_table(int origin, std::uint64_t window);
    void raise_counter(std::uint64_t window, std::uint32_t counter_plus_one);
    /// Null, and a problem to report, when the request names bytes that are not exposed here.
    std::byte* address_of(const Peer& origin, const Request& request, std::uint64_t bytes);
    /// Whether a request comes too late for memory that this rank has abandoned; see LateRequests.
    bool is_abandoned(std::uint64_t window);
    [[nodiscard]] bool drops_late_requests(std::uint64_t window) const;
    [[noreturn]] void throw_mpi_error(int code, const char* call, const std::string& what);
    /// Drives progress for a bounded time while requests with this purpose are under way.
    void outlast(const Purpose& purpose) noexcept;

    /// Room for a reply in the peer's open reply packet, or null when no buffer is free.
    std::byte* append_reply(Peer& to, const Reply& reply, std::uint64_t payload_bytes);
    void list_reply(Peer& to);
    void send_replies();
    void send_reply_packet(Peer& to);

    std::byte* append_request(Peer& to, const Request& request, std::uint64_t payload_bytes);
    bool try_send_data(Operation& operation, int target, Request request, RequestKind bulk_kind, const std::byte* source);
    bool try_fetch_data(Operation& operation, int target, Request request, bool bulk, std::span<const std::byte> payload, bool urgent);
    bool send_request_packet(Peer& to);
    void send_or_list(Peer& to, bool urgent);
    /// A request with its payload, which is copied, and without an answer; false if there is no room.
    bool try_send(Peer& to, const Request& request, const void* payload, std::uint64_t payload_bytes, bool urgent);
    void pump();
    void send(Packet* packet, int target, int tag, Purpose purpose);
    [[nodiscard]] MPI_Request send(const std::byte* memory, int bytes, int target, int tag);
    [[nodiscard]] MPI_Request receive(std::byte* memory, int bytes, int source, int tag);

    [[nodiscard]] SlotName next_slot() const;
    Slot& take_slot(Operation& operation, Peer& to);
    /// The rest of the start of an operation whose slot is taken. If it throws, the operation is over.
    template <class Step>
    void start_or_forget(std::uint32_t index, Step&& step);
    /// Ends what MPI does for an operation of this slot: receives are taken back, and what comes for them goes to a scrap; sends
    /// that are under way go on with the purpose that is returned.
    Purpose take_back(std::uint32_t index) noexcept;
    /// Makes it a bulk transfer of `pieces` messages.
    void make_bulk(Slot& slot, std::uint64_t bytes);
    /// Its owner does not wait any more, and what still comes for it finds nobody.
    void forget(std::size_t index);
    Slot* slot_of(std::uint64_t token);
    void finish_part(Slot& slot);
    void release_if_complete(std::size_t index);

    bool progress_locked();
    void update_active() noexcept;

    std::string who_; ///< begins messages
    MPI_Comm communicator_;
    EngineLimits limits_;
    support::Statistics& statistics_;
    EngineListener& listener_;
    std::uint64_t inline_limit_ = 0;
    std::uint64_t memory_bytes_ = 0;

    std::mutex mutex_;
    static constexpr std::size_t watched_receives = 2; ///< the heads of the rings, which are always among the requests
    MpiRequests<Purpose> requests_;
    Ring request_ring_;
    Ring reply_ring_;
    PacketPool request_pool_;
    PacketPool reply_pool_;
    std::unordered_map<int, std::unique_ptr<Peer>> peers_;
    Peer* last_peer_ = nullptr; ///< most operations go to the same rank as the one before
    std::vector<Peer*> open_peers_;
    std::vector<Peer*> reply_peers_;
    std::vector<Peer*> busy_peers_; ///< all that are busy(), and some that were

    std::size_t lingering_ = 0; ///< requests of operations that were abandoned, which may never complete
    std::atomic<bool> pushing_{false};
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_slots_;
    std::size_t own_bulk_ = 0;
    std::uint64_t packets_unacknowledged_ = 0; ///< over all peers
    std::vector<ServedPut> served_puts_;
    std::vector<std::uint32_t> finished_puts_; ///< served puts whose `done` could not be sent yet
    std::size_t served_bulk_ = 0;
    /// Where data goes whose receive was taken back: its sender counts it among what it serves until it has been received.
    static constexpr std::uint64_t largest_scrap = std::uint64_t{64} << 20;
    std::unordered_map<std::uint32_t, support::AlignedMemory> scraps_;
    std::uint32_t next_scrap_ = 0;
    std::vector<support::AlignedMemory> staging_;
    std::vector<std::uint32_t> free_staging_;

    /// The request packet being carried out; it stays when a request has to wait for a buffer.
    struct Reading {
        bool active = false;
        int origin = 0;
        std::uint64_t position = 0;
        std::uint64_t end = 0;
    } reading_;

    std::unordered_map<std::uint64_t, ExposedMemory> exposed_;
    std::unordered_map<std::uint64_t, LateRequests> abandoned_; ///< windows
    std::uint32_t last_tag_number_ = 0;    ///< of those that MPI's tags can express
    std::atomic<std::uint64_t> active_{0};
    std::atomic<std::uint64_t> wakes_{0};
    std::string problem_; ///< of another rank's request, told at the end of the round
    bool stopped_ = false;
};

} // namespace lapwing::messages
