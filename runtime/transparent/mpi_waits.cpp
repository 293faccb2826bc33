// lapwing::transparent: replaces MPI's blocking calls, by its profiling interface (MPI 3.1, chapter 14). Where
// there is no progress thread, they become non-blocking ones that serve Lapwing's teams until they are complete; else a
// program pays one comparison a call.
#include "src/team/host_waits.hpp"

#include <algorithm>
#include <vector>

using lapwing::detail::team::HostWaits;

namespace {

int wait_for(MPI_Request* request, MPI_Status* status) {
    return HostWaits::until([&](int* done) { return PMPI_Test(request, done, status); });
}

/// `start(request)` starts what the caller waits for.
template <class Start>
int complete(Start&& start, MPI_Status* status = MPI_STATUS_IGNORE) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (const int code = start(&request); code != MPI_SUCCESS) return code;
    return wait_for(&request, status);
}

/// Before a collective call that has no non-blocking form: all ranks are here, so that it waits for none.
int meet(MPI_Comm communicator) {
    if (!HostWaits::serve(communicator)) return MPI_SUCCESS;
    return complete([&](MPI_Request* request) { return PMPI_Ibarrier(communicator, request); });
}

} // namespace

extern "C" {

// ---- messages -------------------------------------------------------------------------------------------------------

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm communicator) {
    if (!HostWaits::serve()) return PMPI_Send(buffer, count, type, target, tag, communicator);
    return complete(
        [&](MPI_Request* request) { return PMPI_Isend(buffer, count, type, target, tag, communicator, request); });
}
int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm communicator) {
    if (!HostWaits::serve()) return PMPI_Ssend(buffer, count, type, target, tag, communicator);
    return complete(
        [&](MPI_Request* request) { return PMPI_Issend(buffer, count, type, target, tag, communicator, request); });
}
int MPI_Rsend(const void* buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm communicator) {
    if (!HostWaits::serve()) return PMPI_Rsend(buffer, count, type, target, tag, communicator);
    return complete(
        [&](MPI_Request* request) { return PMPI_Irsend(buffer, count, type, target, tag, communicator, request); });
}
int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm communicator,
             MPI_Status* status) {
    if (!HostWaits::serve()) return PMPI_Recv(buffer, count, type, source, tag, communicator, status);
    return complete(
        [&](MPI_Request* request) { return PMPI_Irecv(buffer, count, type, source, tag, communicator, request); },
        status);
}
int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int target, int out_tag, void* in, int in_count,
                 MPI_Datatype in_type, int source, int in_tag, MPI_Comm communicator, MPI_Status* status) {
    if (!HostWaits::serve())
        return PMPI_Sendrecv(out, out_count, out_type, target, out_tag, in, in_count, in_type, source, in_tag,
                             communicator, status);
    MPI_Request receive = MPI_REQUEST_NULL;
    if (const int code = PMPI_Irecv(in, in_count, in_type, source, in_tag, communicator, &receive); code != MPI_SUCCESS)
        return code;
    const int sent = complete([&](MPI_Request* request) {
        return PMPI_Isend(out, out_count, out_type, target, out_tag, communicator, request);
    });
    if (sent != MPI_SUCCESS) PMPI_Cancel(&receive);
    const int received = wait_for(&receive, status);
    return sent != MPI_SUCCESS ? sent : received;
}
int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int target, int out_tag, int source, int in_tag,
                         MPI_Comm communicator, MPI_Status* status) {
    if (!HostWaits::serve())
        return PMPI_Sendrecv_replace(buffer, count, type, target, out_tag, source, in_tag, communicator, status);
    int bytes = 0;
    if (const int code = PMPI_Pack_size(count, type, communicator, &bytes); code != MPI_SUCCESS) return code;
    std::vector<char> packed(static_cast<std::size_t>(std::max(bytes, 1)));
    int used = 0;
    if (const int code = PMPI_Pack(buffer, count, type, packed.data(), bytes, &used, communicator); code != MPI_SUCCESS)
        return code;
    return MPI_Sendrecv(packed.data(), used, MPI_PACKED, target, out_tag, buffer, count, type, source, in_tag,
                        communicator, status);
}
int MPI_Probe(int source, int tag, MPI_Comm communicator, MPI_Status* status) {
    if (!HostWaits::serve()) return PMPI_Probe(source, tag, communicator, status);
    return HostWaits::until([&](int* here) { return PMPI_Iprobe(source, tag, communicator, here, status); });
}
int MPI_Mprobe(int source, int tag, MPI_Comm communicator, MPI_Message* message, MPI_Status* status) {
    if (!HostWaits::serve()) return PMPI_Mprobe(source, tag, communicator, message, status);
    return HostWaits::until([&](int* here) { return PMPI_Improbe(source, tag, communicator, here, message, status); });
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return HostWaits::serve() ? wait_for(request, status) : PMPI_Wait(request, status);
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (!HostWaits::serve()) return PMPI_Waitall(count, requests, statuses);
    return HostWaits::until([&](int* done) { return PMPI_Testall(count, requests, done, statuses); });
}
int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
    if (!HostWaits::serve()) return PMPI_Waitany(count, requests, index, status);
    return HostWaits::until([&](int* done) { return PMPI_Testany(count, requests, index, done, status); });
}
int MPI_Waitsome(int count, MPI_Request requests[], int* done_count, int indices[], MPI_Status statuses[]) {
    if (!HostWaits::serve()) return PMPI_Waitsome(count, requests, done_count, indices, statuses);
    return HostWaits::until([&](int* done) {
        const int code = PMPI_Testsome(count, requests, done_count, indices, statuses);
        *done = *done_count != 0 ? 1 : 0; // MPI_UNDEFINED as well: there are none
        return code;
    });
}

// ---- collective calls -----------------------------------------------------------------------------------------------

int MPI_Barrier(MPI_Comm communicator) {
    if (!HostWaits::serve(communicator)) return PMPI_Barrier(communicator);
    return complete([&](MPI_Request* request) { return PMPI_Ibarrier(communicator, request); });
}
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator)) return PMPI_Bcast(buffer, count, type, root, communicator);
    return complete(
        [&](MPI_Request* request) { return PMPI_Ibcast(buffer, count, type, root, communicator, request); });
}
int MPI_Gather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count, MPI_Datatype in_type,
               int root, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Gather(out, out_count, out_type, in, in_count, in_type, root, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Igather(out, out_count, out_type, in, in_count, in_type, root, communicator, request);
    });
}
int MPI_Gatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                const int offsets[], MPI_Datatype in_type, int root, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Gatherv(out, out_count, out_type, in, in_counts, offsets, in_type, root, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Igatherv(out, out_count, out_type, in, in_counts, offsets, in_type, root, communicator, request);
    });
}
int MPI_Scatter(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count, MPI_Datatype in_type,
                int root, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Scatter(out, out_count, out_type, in, in_count, in_type, root, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Iscatter(out, out_count, out_type, in, in_count, in_type, root, communicator, request);
    });
}
int MPI_Scatterv(const void* out, const int out_counts[], const int offsets[], MPI_Datatype out_type, void* in,
                 int in_count, MPI_Datatype in_type, int root, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Scatterv(out, out_counts, offsets, out_type, in, in_count, in_type, root, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Iscatterv(out, out_counts, offsets, out_type, in, in_count, in_type, root, communicator, request);
    });
}
int MPI_Allgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count, MPI_Datatype in_type,
                  MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Allgather(out, out_count, out_type, in, in_count, in_type, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Iallgather(out, out_count, out_type, in, in_count, in_type, communicator, request);
    });
}
int MPI_Allgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                   const int offsets[], MPI_Datatype in_type, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Allgatherv(out, out_count, out_type, in, in_counts, offsets, in_type, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Iallgatherv(out, out_count, out_type, in, in_counts, offsets, in_type, communicator, request);
    });
}
int MPI_Alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count, MPI_Datatype in_type,
                 MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Alltoall(out, out_count, out_type, in, in_count, in_type, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Ialltoall(out, out_count, out_type, in, in_count, in_type, communicator, request);
    });
}
int MPI_Alltoallv(const void* out, const int out_counts[], const int out_offsets[], MPI_Datatype out_type, void* in,
                  const int in_counts[], const int in_offsets[], MPI_Datatype in_type, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Alltoallv(out, out_counts, out_offsets, out_type, in, in_counts, in_offsets, in_type, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Ialltoallv(out, out_counts, out_offsets, out_type, in, in_counts, in_offsets, in_type, communicator,
                               request);
    });
}
int MPI_Alltoallw(const void* out, const int out_counts[], const int out_offsets[], const MPI_Datatype out_types[],
                  void* in, const int in_counts[], const int in_offsets[], const MPI_Datatype in_types[],
                  MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Alltoallw(out, out_counts, out_offsets, out_types, in, in_counts, in_offsets, in_types,
                              communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Ialltoallw(out, out_counts, out_offsets, out_types, in, in_counts, in_offsets, in_types,
                               communicator, request);
    });
}
int MPI_Reduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op operation, int root,
               MPI_Comm communicator) {
    if (!HostWaits::serve(communicator)) return PMPI_Reduce(out, in, count, type, operation, root, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Ireduce(out, in, count, type, operation, root, communicator, request);
    });
}
int MPI_Allreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator)) return PMPI_Allreduce(out, in, count, type, operation, communicator);
    return complete(
        [&](MPI_Request* request) { return PMPI_Iallreduce(out, in, count, type, operation, communicator, request); });
}
int MPI_Reduce_scatter(const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op operation,
                       MPI_Comm communicator) {
    if (!HostWaits::serve(communicator)) return PMPI_Reduce_scatter(out, in, counts, type, operation, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Ireduce_scatter(out, in, counts, type, operation, communicator, request);
    });
}
int MPI_Reduce_scatter_block(const void* out, void* in, int count, MPI_Datatype type, MPI_Op operation,
                             MPI_Comm communicator) {
    if (!HostWaits::serve(communicator))
        return PMPI_Reduce_scatter_block(out, in, count, type, operation, communicator);
    return complete([&](MPI_Request* request) {
        return PMPI_Ireduce_scatter_block(out, in, count, type, operation, communicator, request);
    });
}
int MPI_Scan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator)) return PMPI_Scan(out, in, count, type, operation, communicator);
    return complete(
        [&](MPI_Request* request) { return PMPI_Iscan(out, in, count, type, operation, communicator, request); });
}
int MPI_Exscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
    if (!HostWaits::serve(communicator)) return PMPI_Exscan(out, in, count, type, operation, communicator);
    return complete(
        [&](MPI_Request* request) { return PMPI_Iexscan(out, in, count, type, operation, communicator, request); });
}

int MPI_Comm_dup(MPI_Comm communicator, MPI_Comm* copy) {
    const int code = meet(communicator);
    return code != MPI_SUCCESS ? code : PMPI_Comm_dup(communicator, copy);
}
int MPI_Comm_create(MPI_Comm communicator, MPI_Group group, MPI_Comm* made) {
    const int code = meet(communicator);
    return code != MPI_SUCCESS ? code : PMPI_Comm_create(communicator, group, made);
}
int MPI_Comm_split(MPI_Comm communicator, int colour, int key, MPI_Comm* part) {
    const int code = meet(communicator);
    return code != MPI_SUCCESS ? code : PMPI_Comm_split(communicator, colour, key, part);
}
int MPI_Comm_split_type(MPI_Comm communicator, int type, int key, MPI_Info info, MPI_Comm* part) {
    const int code = meet(communicator);
    return code != MPI_SUCCESS ? code : PMPI_Comm_split_type(communicator, type, key, info, part);
}
}
