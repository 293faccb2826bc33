// Room: array
#pragma once

/// How a GlobalArray gets other extents. Included by global_array.hpp.
#include <lapwing/global_array.hpp>

#include <exception>
#include <utility>

namespace lapwing {

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::resize(const Extents<N>& extents) {
    this->require_open(".resize");
    this->begin_collective("resize");
    // What fails on one rank is agreed on, so that every rank leaves the array as it was.
    std::exception_ptr failure;
    array::ArrayMaps<N> maps;
    try {
        // First, since at assertion level 3 all ranks take part.
        maps = distribution_->maps(*team_, extents, this->name_);
        this->require_free_extents();
    } catch (...) {
        failure = std::current_exception();
    }
    this->agree_to_resize(failure);

    GlobalArray fresh;
    try {
        const GlobalArrayOptions options{.name = this->name_, .cache = this->cache_, .halo = this->halo_};
        fresh = GlobalArray{*team_, extents, array::with_halo(std::move(maps), *team_, options), options};
    } catch (...) { // on every rank
        this->throw_from_resize(std::current_exception());
    }
    try {
        fresh.take_elements(*this);
    } catch (...) {
        failure = std::current_exception();
    }
    fresh.barrier(); // copies are filled with what has been taken
    try {
        if (failure == nullptr) fresh.take_patterns(*this);
    } catch (...) {
        failure = std::current_exception();
    }
    try {
        this->agree_to_resize(failure);
    } catch (...) {
        fresh.close();
        throw;
    }
    std::swap(*this, fresh);
    fresh.close(); // which has a barrier
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::take_elements(const GlobalArray& other) {
    // The own segment is the buffer; what other ranks own is fetched with as many transfers under way as there are.
    array::PatchTransfer patch{other.window_, array::Direction::get, own_bytes().data(), sizeof(T), other.replicated_};
    fetch_own(other, patch);
    patch.wait();
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::take_patterns(const GlobalArray& old) {
    if (!old.has_copies()) return;
    const PrefetchOptions options = old.prefetch_options();
    prefetching::CopyState& state = this->begin_prefetch(options);
    patterns_ = old.patterns_;
    if (!replicated_)
        for (const prefetching::KeptPattern<N>& pattern : patterns_) prefetch_domains(needed_by(pattern), options, state);
    if (!options.consistent) this->update();
}

} // namespace lapwing
