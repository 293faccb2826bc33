// Room: datatype
#pragma once

#include <mpi.h>

#include <utility>

namespace lapwing {

/// Owns a committed MPI datatype; Layout::to_mpi() makes it. Freed at the end of its life, unless MPI is finalized by
/// then. MPI lets a datatype be freed while operations with it are under way.
class MpiDatatype {
public:
    /// Owns nothing: MPI_DATATYPE_NULL.
    MpiDatatype() noexcept = default;
    /// Takes over a datatype that nobody else will free.
    explicit MpiDatatype(MPI_Datatype type) noexcept : type_{type} {}
    MpiDatatype(MpiDatatype&& other) noexcept : type_{std::exchange(other.type_, MPI_DATATYPE_NULL)} {}
    MpiDatatype& operator=(MpiDatatype&& other) noexcept {
        if (this != &other) {
            free();
            type_ = std::exchange(other.type_, MPI_DATATYPE_NULL);
        }
        return *this;
    }
    ~MpiDatatype() { free(); }

    /// For MPI calls; must not be freed.
    [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }
    /// Gives the datatype away: the caller frees it.
    [[nodiscard]] MPI_Datatype release() noexcept { return std::exchange(type_, MPI_DATATYPE_NULL); }

private:
    void free() noexcept;

    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

} // namespace lapwing
