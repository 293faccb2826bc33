#include "src/support/address_space.hpp"

#include "src/support/unnamed_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lapwing::detail::support {
namespace {

constexpr std::uint64_t huge_page = std::uint64_t{2} << 20U;

std::size_t bytes_between(const std::byte* first, const std::byte* end) noexcept {
    return static_cast<std::size_t>(end - first);
}

/// What is true of all memory of an address space.
void advise(std::byte* first, std::size_t bytes) noexcept {
    // What is opened may be few elements far from each other: see provide().
    (void)madvise(first, bytes, MADV_NOHUGEPAGE);
    // Copies of other ranks' memory do not belong into a core file.
    (void)madvise(first, bytes, MADV_DONTDUMP);
}

} // namespace

bool is_one_shared_mapping(const std::byte* memory, std::uint64_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        unsigned long long first = 0;
        unsigned long long end = 0;
        std::array<char, 5> access{};
        if (std::sscanf(line.c_str(), "%llx-%llx %4s", &first, &end, access.data()) != 3) continue;
        if (first <= begin && begin < end) return access[3] == 's' && bytes <= end - begin;
    }
    return false;
}

std::uint64_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

AddressSpace::AddressSpace(std::uint64_t bytes) noexcept {
    // More than any processor has: mmap would take what is left after an overflow.
    errno = ENOMEM;
    if (bytes == 0 || bytes > std::uint64_t{1} << 62U) return;
    std::uint64_t pages = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
    // From a huge page's start on, if it has room for one.
    const std::uint64_t extra = pages >= huge_page ? huge_page : 0;
    void* const place = mmap(nullptr, pages + extra, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) return;
    reserved_ = begin_ = static_cast<std::byte*>(place);
    bytes_ = pages;
    reserved_bytes_ = pages + extra;
    if (extra != 0) begin_ += (huge_page - reinterpret_cast<std::uintptr_t>(place) % huge_page) % huge_page;
    advise(reserved_, reserved_bytes_);
}

AddressSpace AddressSpace::with_writing_view(std::uint64_t bytes) noexcept {
    AddressSpace space;
    errno = ENOMEM;
    // The system ends a process that makes a file larger than it may.
    rlimit largest{};
    if (bytes == 0 || bytes > std::uint64_t{1} << 62U || getrlimit(RLIMIT_FSIZE, &largest) != 0 ||
        largest.rlim_cur < bytes + page_bytes())
        return space;
    const std::uint64_t pages = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
    const int file = unnamed_file();
    if (file < 0) return space;
    if (ftruncate(file, static_cast<off_t>(pages)) == 0) {
        void* const place = mmap(nullptr, pages, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
        void* const writing = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (place != MAP_FAILED && writing != MAP_FAILED) {
            space.reserved_ = space.begin_ = static_cast<std::byte*>(place);
            space.writing_ = static_cast<std::byte*>(writing);
            space.bytes_ = space.reserved_bytes_ = pages;
            for (void* const view : {place, writing}) (void)madvise(view, pages, MADV_DONTDUMP);
        } else {
            const int problem = errno;
            for (void* const view : {place, writing})
                if (view != MAP_FAILED) munmap(view, pages);
            errno = problem;
        }
    }
    const int problem = errno;
    ::close(file);
    errno = problem;
    return space;
}

AddressSpace::~AddressSpace() {
    if (bytes_ != 0) munmap(reserved_, reserved_bytes_);
    if (writing_ != nullptr) munmap(writing_, bytes_);
}

bool AddressSpace::open(std::byte* first, const std::byte* end) const noexcept {
    const int access = writing_ == nullptr ? PROT_READ | PROT_WRITE : PROT_READ;
    return first == end || mprotect(first, bytes_between(first, end), access) == 0;
}

void AddressSpace::provide(std::byte* first, const std::byte* end) const noexcept {
#if defined(MADV_POPULATE_WRITE)
    // Huge pages take the system little longer each than others. Linux 5.14; before, the first use does it.
    if (writing_ == nullptr) (void)madvise(first, bytes_between(first, end), MADV_HUGEPAGE);
    (void)madvise(to_write(first), bytes_between(first, end), MADV_POPULATE_WRITE);
#else
    (void)first;
    (void)end;
#endif
}

bool AddressSpace::open_for_reading(std::byte* first, const std::byte* end) const noexcept {
    return first == end || mprotect(first, bytes_between(first, end), PROT_READ) == 0;
}

bool AddressSpace::close(std::byte* first, const std::byte* end) const noexcept {
    return first == end || mprotect(first, bytes_between(first, end), PROT_NONE) == 0;
}

void AddressSpace::forget(std::byte* first, const std::byte* end) const noexcept {
    if (writing_ != nullptr && first != end) (void)madvise(to_write(first), bytes_between(first, end), MADV_REMOVE);
}

void AddressSpace::restore(std::byte* first, std::size_t bytes) const {
    // So that nobody else gets the addresses.
    (void)mmap(first, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    advise(first, bytes);
    if (writing_ == nullptr) return;
    if (syscall(SYS_mremap, to_write(first), std::size_t{0}, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, first) == -1 ||
        mprotect(first, bytes, PROT_NONE) != 0)
        throw std::system_error{errno, std::generic_category(), "memory of a mapped array"};
}

bool AddressSpace::show(std::byte* first, const std::byte* end, std::byte* memory) const {
    const std::size_t bytes = bytes_between(first, end);
    if (bytes == 0) return true;
    if (!is_one_shared_mapping(memory, bytes)) return false;
    // With an old size of 0 shared memory is mapped once more, and private memory refused. Not by the function of that
    // name: UCX 1.13 takes its place, and forgets where the memory is to be.
    const long result = syscall(SYS_mremap, memory, std::size_t{0}, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, first);
    if (result == -1) {
        // The system may have taken away what was there before it refused.
        restore(first, bytes);
        return false;
    }
    (void)madvise(first, bytes, MADV_DONTDUMP);
    return open_for_reading(first, end);
}

} // namespace lapwing::detail::support
