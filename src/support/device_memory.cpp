#include "src/support/device_memory.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <link.h>

namespace lapwing::detail::support {
namespace {

/// The beginning of cudaPointerAttributes and of hipPointerAttribute_t, which is the same in all versions, except for
/// the meaning of the first number. So the pointers decide: memory that the processor cannot reach has no host pointer.
struct PointerAttributes {
    int kind;
    int device;
    void* device_pointer;
    void* host_pointer;
    std::array<std::byte, 224> rest; ///< more than any version has
};

/// One of the libraries, as far as Lapwing calls it.
struct DeviceLibrary {
    const char* file; ///< how its name begins, after the directory
    const char* attributes_name;
    const char* peek_name;
    const char* take_name;
    std::atomic<int (*)(PointerAttributes*, const void*)> attributes{nullptr};
    std::atomic<int (*)()> peek_error{nullptr};
    std::atomic<int (*)()> take_error{nullptr};
};

constinit std::array<DeviceLibrary, 2> libraries{
    {{"libcudart.so", "cudaPointerGetAttributes", "cudaPeekAtLastError", "cudaGetLastError"},
     {"libamdhip64.so", "hipPointerGetAttributes", "hipPeekAtLastError", "hipGetLastError"}}};

/// The path of a loaded library whose file name begins like this.
struct Search {
    std::string_view begins;
    std::string found;
};

int compare(dl_phdr_info* info, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    std::string_view name = info->dlpi_name != nullptr ? info->dlpi_name : "";
    if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
    if (!name.starts_with(search.begins)) return 0;
    search.found = info->dlpi_name;
    return 1;
}

/// Null unless it is loaded. Once found, it stays loaded.
void* handle_of(const char* file) {
    Search search{file, {}};
    dl_iterate_phdr(compare, &search);
    return search.found.empty() ? nullptr : dlopen(search.found.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

void look_for(DeviceLibrary& library) {
    if (library.attributes.load(std::memory_order_relaxed) != nullptr) return;
    void* scope = RTLD_DEFAULT;
    void* found = dlsym(scope, library.attributes_name);
    if (found == nullptr) { // one that was loaded for its loader alone, as extensions of interpreters are
        scope = handle_of(library.file);
        if (scope != nullptr) found = dlsym(scope, library.attributes_name);
    }
    if (found == nullptr) return;
    library.peek_error.store(reinterpret_cast<int (*)()>(dlsym(scope, library.peek_name)), std::memory_order_relaxed);
    library.take_error.store(reinterpret_cast<int (*)()>(dlsym(scope, library.take_name)), std::memory_order_relaxed);
    // Release: whoever asks it sees the other two.
    library.attributes.store(reinterpret_cast<int (*)(PointerAttributes*, const void*)>(found),
                             std::memory_order_release);
    devices_known.store(true, std::memory_order_relaxed);
}

} // namespace

void look_for_devices() noexcept {
    static std::mutex mutex;
    try {
        const std::lock_guard guard{mutex};
        for (DeviceLibrary& library : libraries) look_for(library);
    } catch (const std::exception&) { // no memory for a name: memory is not checked
    }
}

bool is_device_memory(const void* memory) noexcept {
    for (DeviceLibrary& library : libraries) {
        const auto attributes = library.attributes.load(std::memory_order_acquire);
        if (attributes == nullptr) continue;
        const auto peek = library.peek_error.load(std::memory_order_relaxed);
        const auto take = library.take_error.load(std::memory_order_relaxed);
        const bool clean = peek != nullptr && peek() == 0;
        PointerAttributes found{};
        const bool known = attributes(&found, memory) == 0;
        // Old versions report an error for memory that they do not know, which is not the program's error.
        if (!known && clean && take != nullptr) (void)take();
        if (known && found.device_pointer != nullptr && found.host_pointer == nullptr) return true;
    }
    return false;
}

void throw_device_memory(const std::string& who, const void* memory) {
    throw UsageError{fmt::format(
        "{}: the memory at {} is a GPU's, which Lapwing cannot read or write; copy it to memory of the host first "
        "(cudaMemcpy, hipMemcpy), or allocate it as managed or pinned memory",
        who, memory)};
}

} // namespace lapwing::detail::support
