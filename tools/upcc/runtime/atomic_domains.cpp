// The functions of upc_atomic.h with a domain, which is a shared object: all threads may use a pointer to it that one
// of them has stored. It is an address in shared memory; each thread finds its own description of the domain by it.
#include <lapwing/upc/atomic.h>
#include <lapwing/upc/inline.h>

#include <cstdint>
#include <unordered_map>

namespace {

using Handle = lapwing_upc_pointer;

struct Domains {
    std::unordered_map<std::uint64_t, lapwing_upc_atomicdomain*> known;
    std::uint64_t last_address = 0; ///< of the last that was used
    lapwing_upc_atomicdomain* last = nullptr;
};
Domains& domains() {
    static Domains& all = *new Domains;
    return all;
}

/// Null if there is none: the library then reports it.
[[nodiscard]] lapwing_upc_atomicdomain* domain_of(const Handle& handle) {
    Domains& all = domains();
    if (all.last != nullptr && handle.address == all.last_address) return all.last;
    const auto found = all.known.find(handle.address);
    if (lapwing_upc_null(handle) || found == all.known.end()) return nullptr;
    all.last_address = handle.address;
    return all.last = found->second;
}

} // namespace

extern "C" {

Handle lapwing_upcc_all_atomicdomain_alloc(lapwing_upc_type type, int ops, int hints) {
    lapwing_upc_atomicdomain* const made = lapwing_upc_all_atomicdomain_alloc(type, ops, hints);
    const Handle handle = lapwing_upc_all_alloc(1, 1);
    domains().known[handle.address] = made;
    return handle;
}

void lapwing_upcc_all_atomicdomain_free(Handle handle) {
    lapwing_upc_atomicdomain* const domain = domain_of(handle);
    if (domain != nullptr) {
        domains().known.erase(handle.address);
        domains().last = nullptr;
        lapwing_upc_all_free(handle);
    }
    lapwing_upc_all_atomicdomain_free(domain);
}

void lapwing_upcc_atomic_relaxed(Handle domain, void* fetch_ptr, lapwing_upc_op op, lapwing_upc_pointer target,
                                 const void* operand1, const void* operand2) {
    lapwing_upc_atomic_relaxed(domain_of(domain), fetch_ptr, op, target, operand1, operand2);
}

void lapwing_upcc_atomic_strict(Handle domain, void* fetch_ptr, lapwing_upc_op op, lapwing_upc_pointer target,
                                const void* operand1, const void* operand2) {
    lapwing_upc_atomic_strict(domain_of(domain), fetch_ptr, op, target, operand1, operand2);
}

} // extern "C"
