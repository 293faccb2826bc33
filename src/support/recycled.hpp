#pragma once

#include "src/support/mutex.hpp"

#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

namespace lapwing::detail::support {

/// Gives the objects of a class that derives from Recycled<that class> the memory of earlier ones: for objects that a
/// program in a steady state makes and drops all the time. Keeps at most `most` pieces; they are never freed, and the
/// list of them outlives every object, including those that are destroyed at exit. Thread-safe.
template <class T, std::size_t most = 1024>
class Recycled {
public:
    static void* operator new(std::size_t bytes) {
        if (recycles && bytes == sizeof(T)) {
            Pieces& free = pieces();
            const std::lock_guard guard{free.mutex};
            if (!free.list.empty()) {
                void* const piece = free.list.back();
                free.list.pop_back();
                return piece;
            }
        }
        return ::operator new(bytes);
    }
    static void operator delete(void* memory, std::size_t bytes) noexcept {
        if (recycles && memory != nullptr && bytes == sizeof(T)) {
            Pieces& free = pieces();
            const std::lock_guard guard{free.mutex};
            if (free.list.size() < free.list.capacity()) {
                free.list.push_back(memory);
                return;
            }
        }
        ::operator delete(memory);
    }

private:
    // AddressSanitizer is to see uses of an object after its end.
#if defined(__SANITIZE_ADDRESS__)
    static constexpr bool recycles = false;
#else
    static constexpr bool recycles = true;
#endif
    struct Pieces {
        Pieces() { list.reserve(most); }
        Mutex mutex{LockRank::innermost};
        std::vector<void*> list;
    };
    static Pieces& pieces() {
        static Pieces& instance = *new Pieces; // reachable for ever: no leak
        return instance;
    }
};

} // namespace lapwing::detail::support
