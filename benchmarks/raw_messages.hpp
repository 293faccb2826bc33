#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Baselines on plain MPI messages between rank 0 and a target that spins in MPI_Recv: the alternative where MPI has no
/// usable windows.
namespace lapwing::bench::raw {

inline constexpr int message_tag = 1;

/// `iterations` round trips of `bytes` bytes each way. Called by ranks 0 and `target`.
inline void ping_pong(MPI_Comm communicator, int rank, int target, std::size_t bytes, std::uint64_t iterations) {
    std::vector<std::byte> buffer(std::max<std::size_t>(bytes, 1));
    const int count = static_cast<int>(bytes);
    for (std::uint64_t i = 0; i < iterations; ++i) {
        if (rank == 0) {
            MPI_Send(buffer.data(), count, MPI_BYTE, target, message_tag, communicator);
            MPI_Recv(buffer.data(), count, MPI_BYTE, target, message_tag, communicator, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer.data(), count, MPI_BYTE, 0, message_tag, communicator, MPI_STATUS_IGNORE);
            MPI_Send(buffer.data(), count, MPI_BYTE, 0, message_tag, communicator);
        }
    }
}

/// `iterations` times: rank 0 asks with an empty message, and `target` answers with `messages` messages of `bytes` from
/// consecutive places of `memory` (rank 0: to). The receives are posted before the request, so that no data waits.
inline void request_data(MPI_Comm communicator, int rank, int target, std::byte* memory, std::uint64_t bytes,
                         int messages, std::uint64_t iterations) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(messages), MPI_REQUEST_NULL);
    const int count = static_cast<int>(bytes);
    for (std::uint64_t i = 0; i < iterations; ++i) {
        if (rank != 0) MPI_Recv(nullptr, 0, MPI_BYTE, 0, message_tag, communicator, MPI_STATUS_IGNORE);
        for (int m = 0; m < messages; ++m) {
            std::byte* const place = memory + static_cast<std::uint64_t>(m) * bytes;
            MPI_Request& request = requests[static_cast<std::size_t>(m)];
            if (rank == 0) MPI_Irecv(place, count, MPI_BYTE, target, message_tag, communicator, &request);
            else MPI_Isend(place, count, MPI_BYTE, 0, message_tag, communicator, &request);
        }
        if (rank == 0) MPI_Send(nullptr, 0, MPI_BYTE, target, message_tag, communicator);
        MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
    }
}

/// `iterations` times: rank 0 sends `messages` messages of `bytes`, and `target` says with an empty message that it has
/// them. The target posts its receives before that answer, so that no data waits.
inline void send_acknowledged(MPI_Comm communicator, int rank, int target, std::byte* memory, std::uint64_t bytes,
                              int messages, std::uint64_t iterations) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(messages), MPI_REQUEST_NULL);
    const int count = static_cast<int>(bytes);
    const auto start = [&] {
        for (int m = 0; m < messages; ++m) {
            std::byte* const place = memory + static_cast<std::uint64_t>(m) * bytes;
            MPI_Request& request = requests[static_cast<std::size_t>(m)];
            if (rank == 0) MPI_Isend(place, count, MPI_BYTE, target, message_tag, communicator, &request);
            else MPI_Irecv(place, count, MPI_BYTE, 0, message_tag, communicator, &request);
        }
    };
    if (iterations == 0) return;
    if (rank != 0) start();
    for (std::uint64_t i = 0; i < iterations; ++i) {
        if (rank == 0) start();
        MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
        if (rank == 0) {
            MPI_Recv(nullptr, 0, MPI_BYTE, target, message_tag, communicator, MPI_STATUS_IGNORE);
        } else {
            if (i + 1 < iterations) start();
            MPI_Send(nullptr, 0, MPI_BYTE, 0, message_tag, communicator);
        }
    }
}

/// A counter at rank 0 that all ranks add 1 to `increments` times each, over messages: rank 0 adds its own, then serves
/// the others. Returns the counter on rank 0. Called by all ranks.
inline std::int64_t serve_counter(MPI_Comm communicator, int rank, int size, std::uint64_t increments) {
    std::int64_t counter = 0;
    if (rank == 0) {
        counter = static_cast<std::int64_t>(increments);
        for (std::uint64_t left = increments * static_cast<std::uint64_t>(size - 1); left > 0; --left) {
            std::int64_t operand = 0;
            MPI_Status status;
            MPI_Recv(&operand, 1, MPI_INT64_T, MPI_ANY_SOURCE, message_tag, communicator, &status);
            MPI_Send(&counter, 1, MPI_INT64_T, status.MPI_SOURCE, message_tag, communicator);
            counter += operand;
        }
    } else {
        const std::int64_t one = 1;
        for (std::uint64_t i = 0; i < increments; ++i) {
            MPI_Send(&one, 1, MPI_INT64_T, 0, message_tag, communicator);
            MPI_Recv(&counter, 1, MPI_INT64_T, 0, message_tag, communicator, MPI_STATUS_IGNORE);
        }
    }
    return counter;
}

} // namespace lapwing::bench::raw
