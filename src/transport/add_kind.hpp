#pragma once

#include <lapwing/detail/atomic.hpp>

namespace lapwing::detail::transport {

/// What all adds of a message are: an add, or another atomic without a result.
struct AddKind {
    mpi::AtomicOperation operation = mpi::AtomicOperation::add;
    mpi::AtomicType type{};

    friend bool operator==(const AddKind&, const AddKind&) = default;
};

} // namespace lapwing::detail::transport
