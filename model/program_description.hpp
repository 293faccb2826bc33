#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::model {

/// A program as Zhang's performance model sees it (Zhang 2007, section 6.5): shared objects, and intervals between
/// sequence points with the references to the objects, how often each is executed, and the dependences between them.

/// A shared array. Element e has affinity to thread e / block % threads.
struct SharedObject {
    std::string name = {};
    std::uint64_t elements = 0;
    std::uint64_t block = 1; ///< elements; 0: indefinite, all at `home`
    std::uint64_t element_bytes = 8;
    int home = 0;

    /// Whether a thread has several blocks.
    [[nodiscard]] bool dealt(int threads) const {
        return block > 0 && elements > block * static_cast<std::uint64_t>(threads);
    }
};

/// Whose elements a reference accesses.
struct ReferenceAffinity {
    enum class Kind : std::uint8_t {
        own,   ///< the thread's
        whole, ///< all over the object, uniformly
        home,  ///< those of an object of indefinite block size
        shift, ///< elements `shift` after the thread's own, without those outside of the object
        share, ///< the thread's own in the fraction `local` of the accesses
    };
    Kind kind = Kind::whole;
    std::int64_t shift = 0;
    double local = 0;
};

/// What a cache makes of remote accesses: shares of their number. The others fetch a page.
struct CachedShare {
    double hits = 0;
    double ahead = 0;  ///< pages that it fetches ahead, which are no misses
    double lines = 0;  ///< misses that fetch one line only
    double passed = 0; ///< accesses that bypass it
};

/// In which order a reference accesses elements.
struct Walk {
    enum class Kind : std::uint8_t {
        stride,    ///< at a fixed distance
        random,    ///< anywhere
        clustered, ///< at small, irregular distances
    };
    Kind kind = Kind::random;
    std::int64_t stride = 1; ///< elements
};

/// A reference to an object in the program's text.
struct Reference {
    std::string name = {};
    std::string object = {};
    bool write = false;
    std::uint64_t count = 0; ///< executions by each thread, per execution of the interval
    ReferenceAffinity affinity = {};
    Walk walk = {};
    /// References with the same word always access the same location: one access serves all of one kind.
    std::string place = {};
    /// References with the same word always access locations of the same affinity. Empty: it is derived.
    std::string with = {};
    /// What a cache makes of the remote accesses. Without it, a simulated cache determines it.
    std::optional<CachedShare> cached = {};
};

struct Dependence {
    enum class Kind : std::uint8_t { true_dependence, anti, output, input };
    std::size_t from = 0; ///< numbers of references of the interval
    std::size_t to = 0;
    Kind kind = Kind::true_dependence;
};

/// Bulk transfers of other threads' memory, one after another, by each thread.
struct DescribedTransfer {
    enum class Kind : std::uint8_t {
        get,
        put,
        gather, ///< a list of single elements
        scatter,
    };
    Kind kind = Kind::get;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0; ///< of each; of lists: elements
};

/// What is executed between two sequence points.
struct DescribedInterval {
    std::string name = {};
    std::uint64_t times = 1;
    double computation_seconds = 0; ///< the same source on private memory, per execution
    std::uint64_t barriers = 1;     ///< at the end of the interval
    // By each thread, per execution:
    std::uint64_t locks = 0;            ///< taken and released, with all threads wanting the same
    std::uint64_t collectives = 0;      ///< calls with one value
    std::uint64_t notifications = 0;    ///< notified puts, and waits for as many
    std::uint64_t atomics = 0;          ///< on others' elements, which wait for the previous value
    std::uint64_t updates = 0;          ///< the same without a result
    std::uint64_t private_accesses = 0; ///< to private memory, for the speed-up
    std::vector<DescribedTransfer> transfers = {};
    std::vector<Reference> references = {};
    std::vector<Dependence> dependences = {};

    /// Builder: adds a reference, and returns its index.
    std::size_t add(Reference reference) {
        references.push_back(std::move(reference));
        return references.size() - 1;
    }
    DescribedInterval& depends(std::size_t from, std::size_t to, Dependence::Kind kind) {
        dependences.push_back({from, to, kind});
        return *this;
    }
};

struct ProgramDescription {
    int threads = 1;
    /// Accesses to memory of the sequential program, for the speed-up. Without it: all that the threads make.
    std::optional<std::uint64_t> sequential_accesses = {};
    std::vector<SharedObject> objects = {};
    std::vector<DescribedInterval> intervals = {};

    [[nodiscard]] const SharedObject& object(std::string_view name) const;
    /// Throws UsageError that names what is wrong: no threads, unknown objects or two of a name, dependences on missing
    /// references, fractions outside [0, 1], affinities that the object does not have, times that are none.
    void check() const;
};

/// Elements of the object that have affinity to the thread.
[[nodiscard]] std::uint64_t owned_elements(const SharedObject& object, int thread, int threads);
/// The fraction of a thread's accesses that go to its own memory.
[[nodiscard]] double local_share(const SharedObject& object, const Reference& reference, int thread, int threads);

/// A description as text, one item per line; `#` starts a comment:
///
///     threads 12
///     object B elements=57600 block=1 bytes=8
///     interval multiply computation=0.31 barriers=1
///     reference b read B count=1152000 affinity=whole walk=stride:240
///     dependence c_write c_read true
///
/// docs/performance-model.md describes the format. Throws UsageError with the line number.
[[nodiscard]] ProgramDescription parse_description(std::string_view text);

} // namespace lapwing::detail::model
