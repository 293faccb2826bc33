#include "relaxation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lapwing::bench::irregular {

Relaxation::Relaxation(Ranks ranks, RelaxationProblem problem)
    : ranks_{ranks},
      problem_{std::move(problem)},
      graph_{ranks.world, Parts{problem_.edges.vertices, ranks}, problem_.edges},
      shared_{parts_.array<Number>(ranks, "values")} {
    if (problem_.weight == nullptr) return;
    for (Number local = 0; local < parts_.own(); ++local)
        for (const Number other : graph_.row(local)) weights_.push_back(problem_.weight(parts_.first() + local, other));
}

void Relaxation::prepare(Way way) {
    values_.assign(parts_.block(), no_value);
    relaxed_.assign(parts_.block(), no_value);
    buckets_.clear();
    for (Number local = 0; local < parts_.own(); ++local) {
        values_[local] = problem_.begin(parts_.first() + local);
        if (values_[local] != no_value) put_in_bucket(local);
    }
    if (sends_items(way)) return;
    std::ranges::copy(values_, shared_.local_span().begin());
    ranks_.runtime.barrier();
}

void Relaxation::put_in_bucket(Number local) {
    const std::size_t bucket = bucket_of(local);
    if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
    buckets_[bucket].push_back(local);
}

std::size_t Relaxation::first_bucket(Way way) {
    const auto used = [](const std::vector<Number>& bucket) { return !bucket.empty(); };
    const auto found = std::ranges::find_if(buckets_, used);
    auto first = found == buckets_.end() ? std::int64_t{no_value} : found - buckets_.begin();
    if (way != Way::mpi) return static_cast<std::size_t>(ranks_.runtime.min(first));
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT64_T, MPI_MIN, ranks_.world);
    return static_cast<std::size_t>(first);
}

void Relaxation::run(Way way) {
    for (std::size_t bucket = first_bucket(way); bucket != no_value; bucket = first_bucket(way))
        empty_bucket(way, bucket);
}

void Relaxation::empty_bucket(Way way, std::size_t bucket) {
    settled_.clear();
    std::int64_t left = 0;
    do {
        active_.clear();
        if (bucket < buckets_.size()) std::swap(active_, buckets_[bucket]);
        for (const Number local : active_) {
            // It may have come down to a bucket before, or been here twice.
            if (bucket_of(local) != bucket || values_[local] >= relaxed_[local]) continue;
            if (relaxed_[local] == no_value || relaxed_[local] / problem_.width != bucket) settled_.push_back(local);
            relaxed_[local] = values_[local];
            collect(local, true);
        }
        relax(way);
        left = bucket < buckets_.size() ? static_cast<std::int64_t>(buckets_[bucket].size()) : 0;
        left = way == Way::mpi ? sum(ranks_.world, left) : ranks_.runtime.sum(left);
    } while (left != 0);
    if (problem_.weight == nullptr) return;
    for (const Number local : settled_) collect(local, false);
    relax(way);
}

void Relaxation::collect(Number local, bool shorter) {
    std::size_t edge = graph_.begin(local);
    for (const Number other : graph_.row(local)) {
        const Number length = weight(edge++);
        if ((length < problem_.width) != shorter) continue;
        const Number offer = values_[local] + length;
        if (offer >= problem_.begin(other)) continue; // of no use
        targets_.push_back(other);
        offers_.push_back(offer);
    }
}

void Relaxation::relax(Way way) {
    if (sends_items(way)) {
        const auto each = [this](auto&& to) {
            for (std::size_t k = 0; k < targets_.size(); ++k) {
                const auto [owner, local] = parts_.place(targets_[k]);
                to(owner, pair_of(local, offers_[k]));
            }
        };
        const auto offers = way == Way::mpi ? exchange_(each) : deliveries_(each);
        for (const std::uint64_t offer : offers) {
            const Number local = number_of(offer);
            if (value_of(offer) >= values_[local]) continue;
            values_[local] = value_of(offer);
            put_in_bucket(local);
        }
    } else {
        if (way == Way::lists) {
            before_.resize(targets_.size());
            shared_.fetch(Atomic::min, targets_, offers_, before_);
        } else {
            for (std::size_t k = 0; k < targets_.size(); ++k) shared_(targets_[k]).atomic().min(offers_[k]);
        }
        ranks_.runtime.barrier();
        const std::span<const Number> now = shared_.local_span();
        for (Number local = 0; local < parts_.own(); ++local)
            if (now[local] < values_[local]) {
                values_[local] = now[local];
                put_in_bucket(local);
            }
    }
    targets_.clear();
    offers_.clear();
}

std::string Relaxation::fault(Way way) {
    if (expected_.empty()) {
        expected_.resize(parts_.count());
        if (ranks_.rank() == 0)
            expected_ = problem_.solve_serially(Rows{MPI_COMM_SELF, Parts{parts_.count(), 1, 0}, problem_.edges});
        MPI_Bcast(expected_.data(), static_cast<int>(expected_.size()), MPI_UINT32_T, 0, ranks_.world);
    }
    const std::span<const Number> found = sends_items(way) ? std::span<const Number>{values_} : shared_.local_span();
    std::int64_t ends = 0;
    for (Number local = 0; local < parts_.own(); ++local)
        if (found[local] != no_value) ends += graph_.degree(local);
    traversed_ = sum(ranks_.world, ends) / 2;
    for (Number local = 0; local < parts_.own(); ++local)
        if (const Number vertex = parts_.first() + local; found[local] != expected_[vertex])
            return fmt::format("vertex {} has the value {} instead of {}", vertex, found[local], expected_[vertex]);
    return {};
}

} // namespace lapwing::bench::irregular
