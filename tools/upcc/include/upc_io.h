/* UPC optional library specification 1.3, section 7.4: parallel files, on MPI's. A file is what MPI-IO makes of its
 * name: on a POSIX file system the file of that name, which other programs read as it is. */
#ifndef LAPWING_UPCC_UPC_IO_H
#define LAPWING_UPCC_UPC_IO_H

#include <upc.h>
#include <upc_types.h>

typedef long long upc_off_t;
typedef shared struct upc_file_struct upc_file_t;

struct upc_hint {
    const char* key;
    const char* value;
};
struct upc_local_memvec {
    void* baseaddr;
    size_t len;
};
struct upc_shared_memvec {
    shared void* baseaddr;
    size_t blocksize; /* in bytes; 0: indefinite */
    size_t len;
};
struct upc_filevec {
    upc_off_t offset;
    size_t len;
};
/* Names of UPC-IO 1.0. */
typedef struct upc_hint upc_hint_t;
typedef struct upc_local_memvec upc_local_memvec_t;
typedef struct upc_shared_memvec upc_shared_memvec_t;
typedef struct upc_filevec upc_filevec_t;

/* Flags of upc_all_fopen. */
#define UPC_RDONLY (1 << 0)
#define UPC_WRONLY (1 << 1)
#define UPC_RDWR (1 << 2)
#define UPC_INDIVIDUAL_FP (1 << 3)
#define UPC_COMMON_FP (1 << 4)
#define UPC_APPEND (1 << 5)
#define UPC_CREATE (1 << 6)
#define UPC_EXCL (1 << 7)
#define UPC_STRONG_CA (1 << 8)
#define UPC_TRUNC (1 << 9)
#define UPC_DELETE_ON_CLOSE (1 << 10)

#define UPC_SEEK_SET 0
#define UPC_SEEK_CUR 1
#define UPC_SEEK_END 2

/* Commands of upc_all_fcntl. */
#define UPC_GET_CA_SEMANTICS 1
#define UPC_SET_WEAK_CA_SEMANTICS 2
#define UPC_SET_STRONG_CA_SEMANTICS 3
#define UPC_GET_FP 4
#define UPC_SET_COMMON_FP 5
#define UPC_SET_INDIVIDUAL_FP 6
#define UPC_GET_FL 7
#define UPC_GET_FN 8
#define UPC_GET_HINTS 9
#define UPC_SET_HINT 10
#define UPC_ASYNC_OUTSTANDING 11

extern upc_file_t* upc_all_fopen(const char* fname, int flags, size_t numhints,
                                 const struct upc_hint* hints) __asm__("lapwing_upcc_fopen");
extern int upc_all_fclose(upc_file_t* fd) __asm__("lapwing_upcc_fclose");
extern int upc_all_fsync(upc_file_t* fd) __asm__("lapwing_upcc_fsync");
extern upc_off_t upc_all_fseek(upc_file_t* fd, upc_off_t offset, int origin) __asm__("lapwing_upcc_fseek");
extern int upc_all_fset_size(upc_file_t* fd, upc_off_t size) __asm__("lapwing_upcc_fset_size");
extern upc_off_t upc_all_fget_size(upc_file_t* fd) __asm__("lapwing_upcc_fget_size");
extern int upc_all_fpreallocate(upc_file_t* fd, upc_off_t size) __asm__("lapwing_upcc_fpreallocate");
extern int upc_all_fcntl(upc_file_t* fd, int cmd, void* arg) __asm__("lapwing_upcc_fcntl");

extern upc_off_t upc_all_fread_local(upc_file_t* fd, void* buffer, size_t size, size_t nmemb,
                                     upc_flag_t flags) __asm__("lapwing_upcc_fread_local");
extern upc_off_t upc_all_fread_shared(upc_file_t* fd, shared void* buffer, size_t blocksize, size_t size, size_t nmemb,
                                      upc_flag_t flags) __asm__("lapwing_upcc_fread_shared");
extern upc_off_t upc_all_fwrite_local(upc_file_t* fd, const void* buffer, size_t size, size_t nmemb,
                                      upc_flag_t flags) __asm__("lapwing_upcc_fwrite_local");
extern upc_off_t upc_all_fwrite_shared(upc_file_t* fd, shared const void* buffer, size_t blocksize, size_t size,
                                       size_t nmemb, upc_flag_t flags) __asm__("lapwing_upcc_fwrite_shared");
extern void upc_all_fread_local_async(upc_file_t* fd, void* buffer, size_t size, size_t nmemb,
                                      upc_flag_t flags) __asm__("lapwing_upcc_fread_local_async");
extern void upc_all_fread_shared_async(upc_file_t* fd, shared void* buffer, size_t blocksize, size_t size, size_t nmemb,
                                       upc_flag_t flags) __asm__("lapwing_upcc_fread_shared_async");
extern void upc_all_fwrite_local_async(upc_file_t* fd, const void* buffer, size_t size, size_t nmemb,
                                       upc_flag_t flags) __asm__("lapwing_upcc_fwrite_local_async");
extern void upc_all_fwrite_shared_async(upc_file_t* fd, shared const void* buffer, size_t blocksize, size_t size,
                                        size_t nmemb, upc_flag_t flags) __asm__("lapwing_upcc_fwrite_shared_async");

#define LAPWING_UPCC_LIST_IO(result, direction, memory, suffix)                                                    \
    extern result upc_all_f##direction##_list_##memory##suffix(                                                    \
        upc_file_t* fd, size_t memvec_entries, const struct upc_##memory##_memvec* memvec, size_t filevec_entries, \
        const struct upc_filevec* filevec,                                                                         \
        upc_flag_t flags) __asm__("lapwing_upcc_f" #direction "_list_" #memory #suffix);
LAPWING_UPCC_LIST_IO(upc_off_t, read, local, )
LAPWING_UPCC_LIST_IO(upc_off_t, read, shared, )
LAPWING_UPCC_LIST_IO(upc_off_t, write, local, )
LAPWING_UPCC_LIST_IO(upc_off_t, write, shared, )
LAPWING_UPCC_LIST_IO(void, read, local, _async)
LAPWING_UPCC_LIST_IO(void, read, shared, _async)
LAPWING_UPCC_LIST_IO(void, write, local, _async)
LAPWING_UPCC_LIST_IO(void, write, shared, _async)
#undef LAPWING_UPCC_LIST_IO

extern upc_off_t upc_all_fwait_async(upc_file_t* fd) __asm__("lapwing_upcc_fwait_async");
extern upc_off_t upc_all_ftest_async(upc_file_t* fd, int* flag) __asm__("lapwing_upcc_ftest_async");

#endif
