// UPC's parallel files: UPC optional library specification 1.3, section 7.4.
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <upc_io.h>

#define SYNC (UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC)
#define N 12
#define BLOCK 4
shared [BLOCK] int written[N * THREADS], seen[N * THREADS];
shared [] char name_of_file[64];
char name[64];

// One file for all threads of this run.
static void choose_name(const char *part) {
    if (MYTHREAD == 0) {
        sprintf(name, "/tmp/lapwing_upc_io_%d_%s", (int)getpid(), part);
        upc_memput(name_of_file, name, sizeof name);
    }
    upc_barrier;
    upc_memget(name, name_of_file, sizeof name);
    upc_barrier;
}

// 7.4.3.1: what may be opened, and with which error not.
static void opening(void) {
    choose_name("opening");
    errno = 0;
    CHECK(upc_all_fopen(name, UPC_RDONLY | UPC_COMMON_FP, 0, NULL) == NULL && errno == ENOENT);
    errno = 0;
    CHECK(upc_all_fopen(name, UPC_RDWR | UPC_CREATE, 0, NULL) == NULL && errno == EINVAL);
    CHECK(upc_all_fopen(name, UPC_RDWR | UPC_WRONLY | UPC_CREATE | UPC_COMMON_FP, 0, NULL) == NULL);
    CHECK(upc_all_fopen(name, UPC_RDWR | UPC_EXCL | UPC_COMMON_FP, 0, NULL) == NULL);
    if (THREADS > 1) { // different names, or flags
        char other[80];
        sprintf(other, "%s%d", name, MYTHREAD);
        errno = 0;
        CHECK(upc_all_fopen(other, UPC_RDWR | UPC_CREATE | UPC_COMMON_FP, 0, NULL) == NULL && errno == EINVAL);
        const int flags = UPC_RDWR | UPC_CREATE | UPC_COMMON_FP | (MYTHREAD == 0 ? UPC_TRUNC : 0);
        errno = 0;
        CHECK(upc_all_fopen(name, flags, 0, NULL) == NULL && errno == EINVAL);
    }
    struct upc_hint hints[2] = {{"access_style", "sequential,read_mostly"}, {"file_perm", "600"}};
    upc_file_t *f = upc_all_fopen(name, UPC_RDWR | UPC_CREATE | UPC_EXCL | UPC_COMMON_FP, 2, hints), *same = f;
    CHECK(f != NULL && f == same && upc_all_fget_size(f) == 0 && upc_all_fseek(f, 0, UPC_SEEK_CUR) == 0);
    const char *known = 0;
    const struct upc_hint *kept = 0;
    CHECK(upc_all_fcntl(f, UPC_GET_FN, &known) == 0 && strcmp(known, name) == 0);
    CHECK(upc_all_fcntl(f, UPC_GET_HINTS, &kept) == 2 && strcmp(kept[1].key, "file_perm") == 0);
    struct upc_hint more = {"file_perm", "644"};
    CHECK(upc_all_fcntl(f, UPC_SET_HINT, &more) == 0 && upc_all_fcntl(f, UPC_GET_HINTS, &kept) == 2);
    CHECK(strcmp(kept[1].value, "644") == 0);
    CHECK(upc_all_fcntl(f, UPC_GET_FL, NULL) == (UPC_RDWR | UPC_CREATE | UPC_EXCL | UPC_COMMON_FP));
    CHECK(upc_all_fcntl(f, UPC_GET_FP, NULL) == UPC_COMMON_FP && upc_all_fcntl(f, UPC_GET_CA_SEMANTICS, NULL) == 0);
    CHECK(upc_all_fcntl(f, UPC_SET_STRONG_CA_SEMANTICS, NULL) == 0);
    CHECK(upc_all_fcntl(f, UPC_GET_CA_SEMANTICS, NULL) == UPC_STRONG_CA);
    CHECK(upc_all_fcntl(f, UPC_SET_WEAK_CA_SEMANTICS, NULL) == 0 && upc_all_fcntl(f, 99, NULL) == -1);
    CHECK(upc_all_fcntl(f, UPC_SET_INDIVIDUAL_FP, NULL) == 0);
    CHECK(upc_all_fcntl(f, UPC_GET_FL, NULL) == (UPC_RDWR | UPC_CREATE | UPC_EXCL | UPC_INDIVIDUAL_FP));
    CHECK(upc_all_fclose(f) == 0);
    CHECK(upc_all_fclose(f) == -1 && errno == EBADF);
    CHECK(upc_all_fopen(name, UPC_RDWR | UPC_CREATE | UPC_EXCL | UPC_COMMON_FP, 0, NULL) == NULL && errno == EEXIST);
    f = upc_all_fopen(name, UPC_RDWR | UPC_COMMON_FP | UPC_DELETE_ON_CLOSE, 0, NULL);
    CHECK(f != NULL && upc_all_fclose(f) == 0 && access(name, F_OK) != 0);
}

// A common file pointer: each call is one transfer of all threads; the file is the array in its order.
static void common_pointer(void) {
    int i;
    choose_name("common");
    upc_forall (i = 0; i < N * THREADS; i++; &written[i]) written[i] = 3 * i;
    upc_file_t *f = upc_all_fopen(name, UPC_RDWR | UPC_CREATE | UPC_TRUNC | UPC_COMMON_FP, 0, NULL);
    CHECK(f != NULL);
    const upc_off_t all = N * THREADS * (upc_off_t)sizeof(int);
    CHECK(upc_all_fwrite_shared(f, written, BLOCK, sizeof(int), N * THREADS, SYNC) == all);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == all && upc_all_fget_size(f) == all);
    CHECK(upc_all_fsync(f) == 0 && upc_all_fseek(f, -all, UPC_SEEK_END) == 0);
    CHECK(upc_all_fread_shared(f, seen, BLOCK, sizeof(int), N * THREADS, SYNC) == all);
    upc_forall (i = 0; i < N * THREADS; i++; &seen[i]) CHECK(seen[i] == 3 * i);
    // At the end of the file fewer bytes come; none where there are none.
    CHECK(upc_all_fseek(f, 2 * sizeof(int), UPC_SEEK_SET) == 2 * sizeof(int));
    CHECK(upc_all_fread_shared(f, seen, BLOCK, sizeof(int), N * THREADS, SYNC) == all - 2 * (int)sizeof(int));
    CHECK(seen[0] == 6 && upc_all_fread_shared(f, seen, BLOCK, sizeof(int), 4, SYNC) == 0);
    CHECK(upc_all_fread_shared(f, seen, BLOCK, 0, 4, SYNC) == 0);
    // Private memory needs individual file pointers.
    int own[2];
    CHECK(upc_all_fread_local(f, own, sizeof(int), 2, SYNC) == -1 && errno == EINVAL);
    CHECK(upc_all_fseek(f, -1, UPC_SEEK_SET) == -1 && upc_all_fseek(f, 0, 9) == -1);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == all);
    CHECK(upc_all_fclose(f) == 0);
    f = upc_all_fopen(name, UPC_RDONLY | UPC_COMMON_FP | UPC_APPEND, 0, NULL);
    CHECK(f && upc_all_fseek(f, 0, UPC_SEEK_CUR) == all);
    CHECK(upc_all_fwrite_shared(f, written, BLOCK, sizeof(int), 1, SYNC) == -1 && errno == EBADF);
    CHECK(upc_all_fset_size(f, 0) == -1 && upc_all_fpreallocate(f, 4) == -1);
    CHECK(upc_all_fclose(f) == 0);
    // Other programs read it as it is.
    FILE *plain = fopen(name, "rb");
    CHECK(plain && fseek(plain, 5 * sizeof(int), SEEK_SET) == 0 && fread(own, sizeof(int), 2, plain) == 2);
    CHECK(own[0] == 15 && own[1] == 18);
    fclose(plain);
}

// Individual file pointers: each thread at its own place.
static void individual_pointers(void) {
    int own[N], back[N], i, other = (MYTHREAD + 1) % THREADS;
    choose_name("individual");
    for (i = 0; i < N; i++) own[i] = 100 * MYTHREAD + i;
    upc_file_t *f = upc_all_fopen(name, UPC_RDWR | UPC_CREATE | UPC_INDIVIDUAL_FP, 0, NULL);
    const upc_off_t part = sizeof own;
    CHECK(f && upc_all_fseek(f, MYTHREAD * part, UPC_SEEK_SET) == MYTHREAD * part);
    CHECK(upc_all_fwrite_local(f, own, sizeof(int), N, SYNC) == part);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == (MYTHREAD + 1) * part && upc_all_fsync(f) == 0);
    CHECK(upc_all_fget_size(f) == THREADS * part && upc_all_fseek(f, other * part, UPC_SEEK_SET) == other * part);
    CHECK(upc_all_fread_local(f, back, 1, (size_t)part, UPC_IN_NOSYNC | UPC_OUT_NOSYNC) == part);
    for (i = 0; i < N; i++) CHECK(back[i] == 100 * other + i);
    // Into shared memory, each thread into its own.
    shared [] int *mine = (shared [] int *)upc_alloc(part);
    CHECK(upc_all_fseek(f, other * part, UPC_SEEK_SET) >= 0);
    CHECK(upc_all_fread_shared(f, mine, 0, sizeof(int), N, SYNC) == part && mine[N - 1] == 100 * other + N - 1);
    CHECK(upc_all_fset_size(f, part) == 0 && upc_all_fget_size(f) == part);
    CHECK(upc_all_fpreallocate(f, 2 * part) == 0 && upc_all_fget_size(f) == 2 * part);
    CHECK(upc_all_fpreallocate(f, 1) == 0 && upc_all_fget_size(f) == 2 * part);
    // The file, not what has its name.
    if (MYTHREAD == 0) CHECK(unlink(name) == 0);
    CHECK(upc_all_fpreallocate(f, 3 * part) == 0 && upc_all_fget_size(f) == 3 * part);
    upc_free(mine);
    CHECK(upc_all_fclose(f) == 0);
}

// Lists: places in memory and in the file, without the file pointer.
static void lists(void) {
    char a[4] = "abc", b[6] = "defgh", into[9] = {0};
    choose_name("lists");
    upc_file_t *f = upc_all_fopen(name, UPC_RDWR | UPC_CREATE | UPC_COMMON_FP | UPC_STRONG_CA, 0, NULL);
    struct upc_local_memvec memory[2] = {{a, 3}, {b, 5}}, back[1] = {{into, 8}};
    struct upc_filevec places[3] = {{20 * MYTHREAD, 2}, {20 * MYTHREAD + 5, 0}, {20 * MYTHREAD + 10, 6}};
    CHECK(f && upc_all_fwrite_list_local(f, 2, memory, 3, places, SYNC) == 8);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == 0);
    CHECK(upc_all_fread_list_local(f, 1, back, 3, places, SYNC) == 8 && strcmp(into, "abcdefgh") == 0);
    CHECK(upc_all_fread_list_local(f, 0, NULL, 0, NULL, SYNC) == 0);
    CHECK(upc_all_fread_list_local(f, 1, back, 2, places, SYNC) == -1 && errno == EINVAL);
    static shared [3] char text[9 * THREADS], again[9 * THREADS];
    struct upc_shared_memvec shared_memory[1] = {{&again[0], 3, 8}};
    if (MYTHREAD == THREADS - 1)
        CHECK(upc_all_fread_list_shared(f, 1, shared_memory, 3, places, SYNC) == 8);
    else CHECK(upc_all_fread_list_shared(f, 0, NULL, 0, NULL, SYNC) == 0);
    CHECK(again[0] == 'a' && again[3] == 'd' && again[7] == 'h' && upc_threadof(&again[3]) == 1 % THREADS);
    struct upc_shared_memvec out[2] = {{&again[3], 3, 3}, {&again[0], 3, 3}};
    struct upc_filevec one[1] = {{500 + 6 * MYTHREAD, 6}};
    CHECK(upc_all_fwrite_list_shared(f, 2, out, 1, one, SYNC) == 6);
    struct upc_local_memvec six[1] = {{into, 6}};
    CHECK(upc_all_fread_list_local(f, 1, six, 1, one, SYNC) == 6 && memcmp(into, "defabc", 6) == 0);
    CHECK(upc_all_fclose(f) == 0);
}

// Transfers that go on beside the program: one at a time on each file.
static void asynchronous(void) {
    int own[N], back[N], i, done = 0;
    choose_name("async");
    for (i = 0; i < N; i++) own[i] = MYTHREAD + 7 * i;
    upc_file_t *f = upc_all_fopen(name, UPC_RDWR | UPC_CREATE | UPC_INDIVIDUAL_FP, 0, NULL);
    const upc_off_t part = sizeof own;
    CHECK(f && upc_all_fcntl(f, UPC_ASYNC_OUTSTANDING, NULL) == 0 && upc_all_fwait_async(f) == -1);
    CHECK(upc_all_fseek(f, MYTHREAD * part, UPC_SEEK_SET) >= 0);
    upc_all_fwrite_local_async(f, own, sizeof(int), N, SYNC);
    CHECK(upc_all_fcntl(f, UPC_ASYNC_OUTSTANDING, NULL) == 1 && upc_all_fclose(f) == -1);
    CHECK(upc_all_fwait_async(f) == part && upc_all_fcntl(f, UPC_ASYNC_OUTSTANDING, NULL) == 0);
    CHECK(upc_all_fsync(f) == 0 && upc_all_fseek(f, MYTHREAD * part, UPC_SEEK_SET) == MYTHREAD * part);
    upc_all_fread_local_async(f, back, sizeof(int), N, SYNC);
    upc_off_t bytes;
    do bytes = upc_all_ftest_async(f, &done);
    while (!done);
    CHECK(bytes == part && memcmp(own, back, sizeof own) == 0);
    CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == (MYTHREAD + 1) * part);
    CHECK(upc_all_fcntl(f, UPC_SET_COMMON_FP, NULL) == 0);
    upc_all_fread_shared_async(f, seen, BLOCK, sizeof(int), N * THREADS, SYNC);
    CHECK(upc_all_fwait_async(f) == THREADS * part && seen[N * MYTHREAD + 2] == MYTHREAD + 14);
    struct upc_local_memvec memory = {back, part};
    struct upc_filevec place = {MYTHREAD * part, part};
    upc_all_fread_list_local_async(f, 1, &memory, 1, &place, SYNC);
    CHECK(upc_all_fwait_async(f) == part && back[1] == own[1]);
    upc_all_fread_local_async(f, back, sizeof(int), N, SYNC);
    CHECK(upc_all_fwait_async(f) == -1 && errno == EINVAL);
    CHECK(upc_all_fclose(f) == 0);
}

int main(void) {
    opening();
    common_pointer();
    individual_pointers();
    lists();
    asynchronous();
    upc_barrier;
    if (MYTHREAD == 0) {
        char command[128];
        static const char *const parts[] = {"common", "individual", "lists", "async"};
        for (int i = 0; i < 4; i++) {
            sprintf(command, "/tmp/lapwing_upc_io_%d_%s", (int)getpid(), parts[i]);
            unlink(command);
        }
    }
    return 0;
}
