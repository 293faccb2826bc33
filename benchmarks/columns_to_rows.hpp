#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::bench {

/// By hand: a matrix of n x n doubles from columns, a part of them a rank, to rows, by one collective call of MPI with
/// datatypes. The number of ranks divides n.
class ColumnsToRows {
public:
    ColumnsToRows(MPI_Comm world, std::int64_t n) : world_{world} {
        int ranks = 1;
        MPI_Comm_size(world, &ranks);
        const int part = static_cast<int>(n / ranks);
        counts_.assign(static_cast<std::size_t>(ranks), 1);
        MPI_Datatype sent = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(part * part, MPI_DOUBLE, &sent);
        MPI_Type_commit(&sent);
        MPI_Datatype received = MPI_DATATYPE_NULL;
        MPI_Type_vector(part, part, static_cast<int>(n), MPI_DOUBLE, &received);
        MPI_Type_commit(&received);
        sent_.assign(counts_.size(), sent);
        received_.assign(counts_.size(), received);
        for (int rank = 0; rank < ranks; ++rank) {
            sent_places_.push_back(rank * part * part * static_cast<int>(sizeof(double)));
            received_places_.push_back(rank * part * static_cast<int>(sizeof(double)));
        }
    }
    ColumnsToRows(const ColumnsToRows&) = delete;
    ColumnsToRows& operator=(const ColumnsToRows&) = delete;
    ~ColumnsToRows() {
        MPI_Type_free(&sent_.front());
        MPI_Type_free(&received_.front());
    }

    void exchange(const double* columns, double* rows) const {
        MPI_Alltoallw(columns, counts_.data(), sent_places_.data(), sent_.data(), rows, counts_.data(),
                      received_places_.data(), received_.data(), world_);
    }
    [[nodiscard]] MPI_Request start(const double* columns, double* rows) const {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ialltoallw(columns, counts_.data(), sent_places_.data(), sent_.data(), rows, counts_.data(),
                       received_places_.data(), received_.data(), world_, &request);
        return request;
    }

private:
    MPI_Comm world_;
    std::vector<int> counts_;
    std::vector<int> sent_places_, received_places_; ///< in bytes
    std::vector<MPI_Datatype> sent_, received_;      ///< one type, by rank
};

} // namespace lapwing::bench
