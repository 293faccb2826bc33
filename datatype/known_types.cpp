#include "datatype/mpi_envelope.hpp"
#include "datatype/mpi_import.hpp"
#include "datatype/mpi_sizes.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mutex.hpp"

#include <lapwing/error.hpp>
#include <lapwing/layout.hpp>

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace lapwing {
namespace {

using detail::datatype::Envelope;
using detail::datatype::look_inside;
using detail::datatype::mpi_extent;
using detail::support::check_mpi;

struct Known {
    Layout one;
    std::int64_t extent = 0;
};

/// The layouts of all datatypes that were asked for, by their handles. By an attribute of each, MPI reports when its
/// handle may be used again; predefined datatypes stay.
///
/// MPI calls forget() with its own locks held, so no MPI call may be made under mutex_.
class KnownTypes {
public:
    [[nodiscard]] static KnownTypes& instance() {
        static KnownTypes& types = *new KnownTypes; // never destroyed: MPI may end later, and then calls forget()
        return types;
    }

    /// Null: none yet. Asks MPI nothing: what is known has not been freed.
    [[nodiscard]] std::shared_ptr<const Known> find(MPI_Datatype type) {
        const std::shared_lock lock{mutex_};
        const auto found = known_.find(type);
        return found != known_.end() ? found->second : nullptr;
    }

    void add(MPI_Datatype type, const std::shared_ptr<const Known>& known, bool predefined) {
        // The attribute first: without it, nothing known would ever be forgotten. When another thread has added the
        // same datatype meanwhile, it has two, and the second deletion finds nothing to forget.
        if (!predefined) watch(type);
        const std::unique_lock lock{mutex_};
        known_.try_emplace(type, known);
    }

private:
    /// Datatypes that are copied are looked at themselves. A key for each: one that is kept would go with the last
    /// session.
    static void watch(MPI_Datatype type) {
        int key = MPI_KEYVAL_INVALID;
        check_mpi(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &key, nullptr), "MPI_Type_create_keyval");
        const int code = MPI_Type_set_attr(type, key, nullptr);
        MPI_Type_free_keyval(&key); // the attribute keeps it
        check_mpi(code, "MPI_Type_set_attr");
    }
    static int forget(MPI_Datatype type, int, void*, void*) {
        KnownTypes& types = instance();
        std::shared_ptr<const Known> last; // its memory is given back without the lock
        const std::unique_lock lock{types.mutex_};
        const auto found = types.known_.find(type);
        if (found == types.known_.end()) return MPI_SUCCESS;
        last = std::move(found->second);
        types.known_.erase(found);
        return MPI_SUCCESS;
    }

    detail::support::SharedMutex mutex_{detail::support::LockRank::leaf};
    std::unordered_map<MPI_Datatype, std::shared_ptr<const Known>> known_;
};

} // namespace

Layout Layout::from_mpi(MPI_Datatype type, std::int64_t count) {
    if (count < 0) throw RangeError{fmt::format("Layout::from_mpi: the count is {}; counts are 0 or more", count)};
    std::shared_ptr<const Known> known = KnownTypes::instance().find(type);
    if (known == nullptr) {
        Layout one = look_inside(type); // checks the handle before anything else is asked about it
        known = std::make_shared<const Known>(Known{std::move(one), mpi_extent(type).extent});
        KnownTypes::instance().add(type, known, Envelope{type}.is_predefined());
    }
    return known->one.repeat(static_cast<std::uint64_t>(count), known->extent);
}

} // namespace lapwing
