#include "src/messages/endpoint.hpp"

#include "src/support/mpi_error.hpp"
#include "src/support/thread_sanitizer.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace lapwing::detail::messages {

Endpoint::Endpoint(MPI_Comm communicator, EngineListener& listener) : communicator_{communicator}, listener_{listener} {
    int rank = 0;
    int size = 0;
    support::check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank", "service path");
    support::check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size", "service path");
    who_ = fmt::format("rank {} of {}: service path", rank, size);
}

int Endpoint::largest_tag() const {
    int* largest = nullptr;
    int found = 0;
    support::check_mpi(MPI_Comm_get_attr(communicator_, MPI_TAG_UB, static_cast<void*>(&largest), &found),
                       "MPI_Comm_get_attr", who_);
    return found != 0 ? *largest : 32767; // MPI 3.1, section 8.1.2: never less
}

Peer& Endpoint::find_or_make_peer(Rank rank) {
    auto& entry = peers_[rank.value];
    if (entry == nullptr) {
        entry = std::make_unique<Peer>();
        entry->rank = rank;
    }
    last_peer_ = entry.get();
    return *entry;
}

Peer* Endpoint::known_peer(Rank rank) const {
    const auto found = peers_.find(rank.value);
    return found == peers_.end() ? nullptr : found->second.get();
}

void Endpoint::send(const std::byte* memory, int bytes, Rank target, int tag, Purpose purpose) {
    requests_.make_room();
    MPI_Request request = MPI_REQUEST_NULL;
    {
        const support::UnseenAccesses unseen;
        if (const int code = MPI_Isend(memory, bytes, MPI_BYTE, target.value, tag, communicator_, &request);
            code != MPI_SUCCESS)
            throw_mpi_error(code, "MPI_Isend", fmt::format("{}: {} bytes to rank {}", who_, bytes, target.value));
    }
    requests_.add(request, purpose);
}

void Endpoint::receive(std::byte* memory, int bytes, Rank source, int tag, Purpose purpose) {
    requests_.make_room();
    requests_.add(post_receive(memory, bytes, source.value, tag), purpose);
}

MPI_Request Endpoint::post_receive(std::byte* memory, int bytes, int source, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    const support::UnseenAccesses unseen;
    if (const int code = MPI_Irecv(memory, bytes, MPI_BYTE, source, tag, communicator_, &request); code != MPI_SUCCESS)
        throw_mpi_error(code, "MPI_Irecv", fmt::format("{}: {} bytes from rank {}", who_, bytes, source));
    return request;
}

void Endpoint::throw_mpi_error(int code, const char* call, const std::string& what) {
    try {
        support::throw_mpi_error(code, call, what);
    } catch (const Error& error) {
        ++failures_;
        listener_.on_failed(error.what(), code);
        throw;
    }
}

void Endpoint::note_problem(const std::string& text) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}", who_, text);
}

void Endpoint::tell_problem() {
    listener_.on_failed(problem_, MPI_SUCCESS);
    throw Error{std::exchange(problem_, {})};
}

} // namespace lapwing::detail::messages
