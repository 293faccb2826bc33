// Room: datatype
#pragma once

#include <mpi.h>

#include <utility>

namespace lapwing {

/// Owns a committed MPI datatype, made by Layout::to_mpi(). The destructor frees it, unless MPI is already finalized.
/// MPI allows a datatype to be freed while operations with it are under way.
class MpiDatatype {
public:
    /// Owns nothing: MPI_DATATYPE_NULL.
    MpiDatatype() noexcept = default;
    /// Takes ownership of a datatype.
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

    /// For MPI calls; the caller must not free it.
    [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }
    /// Gives up ownership: the caller frees the datatype.
    [[nodiscard]] MPI_Datatype release() noexcept { return std::exchange(type_, MPI_DATATYPE_NULL); }

private:
    void free() noexcept;

    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

} // namespace lapwing
