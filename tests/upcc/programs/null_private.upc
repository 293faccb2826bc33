/* Null pointers-to-private: each call that takes one and needs the memory says so. */
#include "fails_with.h"

#include <bupc_collectivev.h>
#include <bupc_extensions.h>
#include <bupc_extern.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <upc_collective.h>
#include <upc_io.h>

#define NO(call) #call ": the pointer-to-private is null"

shared [64] char bytes[64 * THREADS];
shared [] char name_of_file[64];

static void transfers(shared [] char* at) {
    void* volatile none = NULL;
    FAILS(upc_memput(at, none, 32), NO(upc_memput));
    FAILS(upc_memget(none, at, 32), NO(upc_memget));
    FAILS(upc_sync(upc_memput_nb(at, none, 32)), NO(upc_memput_nb));
    FAILS(upc_sync(upc_memget_nb(none, at, 32)), NO(upc_memget_nb));
    FAILS(upc_memput_nbi(at, none, 32), NO(upc_memput_nbi));
    FAILS(upc_memget_nbi(none, at, 32), NO(upc_memget_nbi));
    FAILS(bupc_memput_async(at, none, 8), NO(upc_memput_nb));
    upc_memput(at, none, 0);
    upc_memget(none, at, 0);
    bupc_sem_t* const posted = bupc_sem_alloc(BUPC_SEM_INTEGER);
    FAILS(bupc_memput_signal(at, none, 8, posted, 1), NO(upc_memput));
    CHECK(!bupc_sem_try(posted));
    bupc_sem_free(posted);
}

static void in_pieces(shared [] char* at) {
    void* volatile none = NULL;
    const size_t strides[1] = {16}, counts[2] = {4, 2}, nothing[2] = {0, 2};
    const bupc_pmemvec_t here = {none, 8};
    const bupc_smemvec_t there = {at, 8};
    shared void* const places[1] = {at};
    shared const void* const sources[1] = {at};
    FAILS(bupc_memput_vlist(1, &there, 1, &here), NO(bupc_memput_vlist));
    FAILS(bupc_memput_vlist(1, &there, 1, none), NO(bupc_memput_vlist));
    FAILS(bupc_memget_vlist(1, &here, 1, &there), NO(bupc_memget_vlist));
    FAILS(bupc_memcpy_vlist(1, none, 1, &there), NO(bupc_memcpy_vlist));
    FAILS(bupc_memput_ilist(1, places, 8, 1, (const void* const[]){none}, 8), NO(bupc_memput_ilist));
    FAILS(bupc_memget_ilist(1, (void* const[]){none}, 8, 1, sources, 8), NO(bupc_memget_ilist));
    FAILS(bupc_memcpy_ilist(1, none, 8, 1, sources, 8), NO(bupc_memcpy_ilist));
    FAILS(bupc_memput_fstrided(at, 4, 16, 2, none, 4, 16, 2), NO(bupc_memput_fstrided));
    FAILS(bupc_memget_fstrided(none, 4, 16, 2, at, 4, 16, 2), NO(bupc_memget_fstrided));
    FAILS(bupc_memput_strided(at, strides, none, strides, counts, 1), NO(bupc_memput_strided));
    FAILS(bupc_memget_strided(none, strides, at, strides, counts, 1), NO(bupc_memget_strided));
    FAILS(bupc_memcpy_strided(at, none, at, strides, counts, 1), NO(bupc_memcpy_strided));
    FAILS(bupc_memcpy_strided(at, strides, at, strides, none, 1), NO(bupc_memcpy_strided));
    bupc_memput_strided(at, strides, none, strides, nothing, 1);
}

static void others(shared [] char* at) {
    void* volatile none = NULL;
    FAILS(bupc_dump_shared(at, none, 100), NO(bupc_dump_shared));
    FAILS(bupc_trysync_all(none, 2), NO(bupc_trysync_all));
    FAILS(bupc_trysync_some(none, 2), NO(bupc_trysync_some));
    FAILS(bupc_waitsync_all(none, 2), NO(bupc_waitsync_all));
    FAILS(bupc_waitsync_some(none, 2), NO(bupc_waitsync_some));
    FAILS(bupc_getenv(none), NO(bupc_getenv));
    FAILS(bupc_atomicI64_read_private(none), NO(bupc_atomicI64_read_private));
    FAILS(bupc_atomicI64_set_private(none, 1), NO(bupc_atomicI64_set_private));
    FAILS(bupc_atomicI_swap_private(none, 1), NO(bupc_atomicI_swap_private));
    FAILS(bupc_atomicD_cswap_private(none, 1, 2), NO(bupc_atomicD_cswap_private));
    FAILS(bupc_atomicF_fetchadd_private(none, 1), "the pointer-to-private is null");
    FAILS(bupc_atomicU32_fetchand_private(none, 1), NO(bupc_atomicU32_fetchand_private));
    FAILS(bupc_atomicU64_fetchor_private(none, 1), NO(bupc_atomicU64_fetchor_private));
    FAILS(bupc_atomicL_fetchxor_private(none, 1), NO(bupc_atomicL_fetchxor_private));
    FAILS(bupc_atomicL_fetchnot_private(none), "the pointer-to-private is null");
    FAILS(bupc_atomicUL_mswap_private(none, 1, 1), "the pointer-to-private is null");
}

/* Collective: all threads fail alike. */
static void together(void) {
    int* volatile none = NULL;
    CHECK(bupc_allv_gather_all(int, MYTHREAD, none) == NULL);
    if (MYTHREAD == 0) FAILS(bupc_allv_scatter(int, 0, none), NO(bupc_allv_scatter));
    upc_barrier;
    FAILS(upc_all_sort(bytes, 1, 64, 64, NULL, 0), NO(upc_all_sort));
    upc_barrier;
}

static void files(void) {
    char name[64];
    void* volatile none = NULL;
    const struct upc_local_memvec at_none = {none, 4};
    const struct upc_filevec in_file = {0, 4};
    if (MYTHREAD == 0) sprintf(name, "/tmp/lapwing_upc_null_%d", (int)getpid()), upc_memput(name_of_file, name, 64);
    upc_barrier;
    upc_memget(name, name_of_file, 64);
    FAILS(upc_all_fopen(name, UPC_RDWR | UPC_CREATE | UPC_INDIVIDUAL_FP, 1, none), NO(upc_all_fopen));
    upc_file_t* const file =
        upc_all_fopen(name, UPC_RDWR | UPC_CREATE | UPC_INDIVIDUAL_FP | UPC_DELETE_ON_CLOSE, 0, none);
    CHECK(file != NULL);
#define REFUSED(call) CHECK((errno = 0, call) == -1 && errno == EINVAL)
    REFUSED(upc_all_fwrite_local(file, none, 4, 1, 0));
    REFUSED(upc_all_fread_local(file, none, 4, 1, 0));
    REFUSED(upc_all_fwrite_list_local(file, 1, &at_none, 1, &in_file, 0));
    REFUSED(upc_all_fread_list_local(file, 1, none, 1, &in_file, 0));
    REFUSED(upc_all_fread_list_shared(file, 1, none, 1, &in_file, 0));
    REFUSED(upc_all_fread_list_local(file, 0, none, 1, none, 0));
    upc_all_fread_local_async(file, none, 4, 1, 0);
    REFUSED(upc_all_fwait_async(file));
    upc_all_fwrite_list_local_async(file, 1, &at_none, 1, &in_file, 0);
    REFUSED(upc_all_fwait_async(file));
    REFUSED(upc_all_fcntl(file, UPC_GET_FN, none));
    REFUSED(upc_all_fcntl(file, UPC_GET_HINTS, none));
    REFUSED(upc_all_fcntl(file, UPC_SET_HINT, none));
    FAILS(upc_all_ftest_async(file, none), NO(upc_all_ftest_async));
    CHECK(upc_all_fwrite_local(file, none, 4, 0, 0) == 0);
    CHECK(upc_all_fclose(file) == 0);
}

int main(void) {
    shared [] char* const next = (shared [] char*)&bytes[64 * ((MYTHREAD + 1) % THREADS)];
    transfers(next);
    transfers((shared [] char*)&bytes[64 * MYTHREAD]);
    in_pieces(next);
    others(next);
    upc_barrier;
    together();
    files();
    return 0;
}
