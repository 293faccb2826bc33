/* A library that calls some memory a GPU's, with the functions of CUDA's or of HIP's runtime, whose names begin with
 * MOCK_PREFIX. */
#include <stddef.h>

#define PASTE(prefix, name) prefix##name
#define NAMED(prefix, name) PASTE(prefix, name)
#define MOCK(name) NAMED(MOCK_PREFIX, name)

/* The beginning of cudaPointerAttributes and hipPointerAttribute_t. */
struct attributes {
    int kind;
    int device;
    void* device_pointer;
    void* host_pointer;
};

static char* begin;
static char* end;
static int error;

void mock_device_memory(void* first, size_t bytes) {
    begin = first;
    end = begin + bytes;
}

int MOCK(PointerGetAttributes)(struct attributes* found, const void* pointer) {
    if ((const char*)pointer < begin || (const char*)pointer >= end) {
        error = 1; /* as old versions do */
        return error;
    }
    found->kind = 2;
    found->device_pointer = (void*)pointer;
    found->host_pointer = NULL;
    return 0;
}
int MOCK(PeekAtLastError)(void) { return error; }
int MOCK(GetLastError)(void) {
    const int last = error;
    error = 0;
    return last;
}
