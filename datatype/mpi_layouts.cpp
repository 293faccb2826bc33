#include "datatype/mpi_layouts.hpp"

#include "src/support/mpi_error.hpp"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace lapwing::datatype {
namespace {

using support::check_mpi;

struct Known {
    Layout one;
    std::int64_t extent = 0;
};

/// The layouts of all datatypes that have one. MPI keeps only pointers, and need not delete the attributes of datatypes that
/// a program never frees.
class KnownTypes {
public:
    [[nodiscard]] static KnownTypes& instance() {
        static KnownTypes types;
        return types;
    }

    /// Null: none yet.
    [[nodiscard]] const Known* find(MPI_Datatype type) {
        void* value = nullptr;
        int found = 0;
        check_mpi(MPI_Type_get_attr(type, key(), &value, &found), "MPI_Type_get_attr");
        return found != 0 ? static_cast<const Known*>(value) : nullptr;
    }
    [[nodiscard]] const Known* add(MPI_Datatype type, std::unique_ptr<const Known> known) {
        const std::lock_guard guard{mutex_};
        if (const Known* const other = find(type)) return other; // of another thread, at the same time
        const Known* const value = known.get();
        known_.emplace(value, std::move(known));
        check_mpi(MPI_Type_set_attr(type, key(), const_cast<Known*>(value)), "MPI_Type_set_attr");
        return value;
    }

private:
    /// Datatypes that are copied are looked at themselves.
    [[nodiscard]] int key() {
        static const int key = [] {
            int made = MPI_KEYVAL_INVALID;
            check_mpi(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &made, nullptr), "MPI_Type_create_keyval");
            return made;
        }();
        return key;
    }
    static int forget(MPI_Datatype, int, void* value, void*) {
        KnownTypes& types = instance();
        const std::lock_guard guard{types.mutex_};
        types.known_.erase(static_cast<const Known*>(value));
        return MPI_SUCCESS;
    }

    std::mutex mutex_;
    std::unordered_map<const Known*, std::unique_ptr<const Known>> known_;
};

std::int64_t extent_of(MPI_Datatype type) {
    MPI_Count lower = 0;
    MPI_Count extent = 0;
    check_mpi(MPI_Type_get_extent_x(type, &lower, &extent), "MPI_Type_get_extent_x");
    return extent;
}

bool is_predefined(MPI_Datatype type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    check_mpi(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner), "MPI_Type_get_envelope");
    return combiner == MPI_COMBINER_NAMED;
}

} // namespace

Layout layout_of(MPI_Datatype type, std::uint64_t count) {
    if (type == MPI_DATATYPE_NULL) return Layout::from_mpi(type, count); // says so
    if (is_predefined(type)) {
        // Always committed, and not to be marked. Pairs of a value and an index may have a gap.
        int bytes = 0;
        check_mpi(MPI_Type_size(type, &bytes), "MPI_Type_size");
        if (bytes == extent_of(type)) return Layout::contiguous(static_cast<std::uint64_t>(bytes)).repeat(count, bytes);
        return Layout::from_mpi(type, count);
    }
    const Known* known = KnownTypes::instance().find(type);
    if (known == nullptr)
        known = KnownTypes::instance().add(type, std::make_unique<const Known>(Known{Layout::from_mpi(type), extent_of(type)}));
    return known->one.repeat(count, known->extent);
}

} // namespace lapwing::datatype
