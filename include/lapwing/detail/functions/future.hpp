// Room: functions
#pragma once

#include <lapwing/detail/functions/calls.hpp>
#include <lapwing/error.hpp>
#include <lapwing/serialise.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace lapwing {

namespace detail::functions {

/// What a future has where a void function has returned.
template <class T>
using Stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// The type of a future for a function that returns R: views become what owns the same values.
template <class R>
struct FutureValue {
    using Type = typename Received<R>::Owner;
};
template <>
struct FutureValue<void> {
    using Type = void;
};

/// A value that comes from other futures.
template <class T>
class Composed {
public:
    virtual ~Composed() = default;
    /// Makes no progress.
    [[nodiscard]] virtual bool done() = 0;
    virtual void progress() = 0;
    virtual void wait_until(const std::function<bool()>& enough) = 0;
    virtual void wait() = 0;
    /// Once done.
    [[nodiscard]] virtual Stored<T> take() = 0;
};

[[noreturn]] void throw_no_future(const char* call);

} // namespace detail::functions

/// The result of a function at another rank, which may still be on its way. It is used by one thread at a time. A
/// future that is destroyed before its result is here drops it: the function runs all the same.
template <class T>
class [[nodiscard]] Future {
public:
    /// Of nothing: valid() is false.
    Future() noexcept = default;
    explicit Future(std::unique_ptr<detail::functions::PendingCall> call) noexcept : call_{std::move(call)} {}
    explicit Future(std::unique_ptr<detail::functions::Composed<T>> composed) noexcept
        : composed_{std::move(composed)} {}

    /// Whether get() may be called: it was not before, and the future was not moved from.
    [[nodiscard]] bool valid() const noexcept { return call_ != nullptr || composed_ != nullptr; }
    /// Whether the result is here; makes a round of progress if it is not.
    [[nodiscard]] bool ready() {
        if (known_ready()) return true;
        if (call_ != nullptr) call_->progress();
        else composed_->progress();
        return known_ready();
    }
    /// Returns when the result is here. Throws PeerLeftError if the other rank has left, and UsageError in a function
    /// that must not wait.
    void wait() {
        if (known_ready()) return;
        if (call_ != nullptr) call_->wait();
        else composed_->wait();
    }
    /// Waits, and returns the result, once. Throws FunctionError if the function has thrown, and as wait().
    T get() {
        wait();
        if (composed_ != nullptr) {
            const auto composed = std::move(composed_);
            if constexpr (std::is_void_v<T>) (void)composed->take();
            else return composed->take();
        } else {
            const auto call = std::move(call_);
            const std::span<const std::byte> bytes = call->result();
            if constexpr (detail::functions::Travels<T>) return ByteReader{bytes}.template read<T>();
            else if constexpr (!std::is_void_v<T>) detail::functions::throw_no_future("Future::get"); // is composed
        }
    }

    /// A future of `g(result)`, or of `g()` after a void function. g runs once, in the thread that first finds the
    /// result here by the new future's ready(), wait() or get(); what this future would throw, the new one does.
    template <class G>
    [[nodiscard]] auto then(G g) &&;

    /// Internal: as ready(), without progress.
    [[nodiscard]] bool known_ready() {
        if (call_ != nullptr) return call_->done();
        if (composed_ == nullptr) detail::functions::throw_no_future("Future");
        return composed_->done();
    }
    /// Internal: waits with its team until `enough()` holds.
    void wait_until(const std::function<bool()>& enough) {
        if (enough()) return;
        if (call_ != nullptr) call_->wait_until(enough);
        else composed_->wait_until(enough);
    }

private:
    std::unique_ptr<detail::functions::PendingCall> call_;
    std::unique_ptr<detail::functions::Composed<T>> composed_; ///< instead
};

namespace detail::functions {

template <class T>
[[nodiscard]] Stored<T> get_stored(Future<T>& future) {
    if constexpr (std::is_void_v<T>) {
        future.get();
        return {};
    } else {
        return future.get();
    }
}

template <class T, class U, class G>
class Then final : public Composed<U> {
public:
    Then(Future<T> before, G g) : before_{std::move(before)}, g_{std::move(g)} {}
    [[nodiscard]] bool done() override {
        if (!ran_ && before_.known_ready()) run();
        return ran_;
    }
    void progress() override { (void)before_.ready(); }
    void wait_until(const std::function<bool()>& enough) override { before_.wait_until(enough); }
    void wait() override {
        if (ran_) return;
        before_.wait();
        run();
    }
    [[nodiscard]] Stored<U> take() override {
        if (failure_ != nullptr) std::rethrow_exception(failure_);
        return std::move(*result_);
    }

private:
    void run() {
        ran_ = true;
        try {
            if constexpr (std::is_void_v<T> && std::is_void_v<U>) {
                before_.get();
                g_();
                result_.emplace();
            } else if constexpr (std::is_void_v<T>) {
                before_.get();
                result_.emplace(g_());
            } else if constexpr (std::is_void_v<U>) {
                g_(before_.get());
                result_.emplace();
            } else {
                result_.emplace(g_(before_.get()));
            }
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    Future<T> before_;
    G g_;
    bool ran_ = false;
    std::optional<Stored<U>> result_;
    std::exception_ptr failure_;
};

template <class T, class G>
struct ThenResult {
    using Type = std::decay_t<std::invoke_result_t<G&, T>>;
};
template <class G>
struct ThenResult<void, G> {
    using Type = std::decay_t<std::invoke_result_t<G&>>;
};

template <class... T>
class AllOf final : public Composed<std::tuple<Stored<T>...>> {
public:
    explicit AllOf(Future<T>... futures) : futures_{std::move(futures)...} {}
    [[nodiscard]] bool done() override {
        return std::apply([](auto&... each) { return (each.known_ready() && ...); }, futures_);
    }
    void progress() override {
        std::apply([](auto&... each) { (void)(each.ready() && ...); }, futures_);
    }
    void wait_until(const std::function<bool()>& enough) override { std::get<0>(futures_).wait_until(enough); }
    void wait() override {
        std::apply([](auto&... each) { (each.wait(), ...); }, futures_);
    }
    [[nodiscard]] std::tuple<Stored<T>...> take() override {
        return std::apply([](auto&... each) { return std::tuple<Stored<T>...>{get_stored(each)...}; }, futures_);
    }

private:
    std::tuple<Future<T>...> futures_;
};

template <class T>
class AllOfMany final : public Composed<std::vector<Stored<T>>> {
public:
    explicit AllOfMany(std::vector<Future<T>> futures) : futures_{std::move(futures)} {}
    [[nodiscard]] bool done() override {
        return std::ranges::all_of(futures_, [](Future<T>& each) { return each.known_ready(); });
    }
    void progress() override {
        for (Future<T>& each : futures_)
            if (!each.ready()) return;
    }
    void wait_until(const std::function<bool()>& enough) override {
        if (!futures_.empty()) futures_.front().wait_until(enough);
    }
    void wait() override {
        for (Future<T>& each : futures_) each.wait();
    }
    [[nodiscard]] std::vector<Stored<T>> take() override {
        std::vector<Stored<T>> values;
        values.reserve(futures_.size());
        for (Future<T>& each : futures_) values.push_back(get_stored(each));
        return values;
    }

private:
    std::vector<Future<T>> futures_;
};

} // namespace detail::functions

template <class T>
template <class G>
auto Future<T>::then(G g) && {
    using U = typename detail::functions::ThenResult<T, G>::Type;
    if (!valid()) detail::functions::throw_no_future("Future::then");
    std::unique_ptr<detail::functions::Composed<U>> composed =
        std::make_unique<detail::functions::Then<T, U, G>>(std::move(*this), std::move(g));
    return Future<U>{std::move(composed)};
}

/// A future of the results of all, as a tuple, in which std::monostate stands for void. Its get() throws what the first
/// of them throws.
template <class... T>
    requires(sizeof...(T) != 0)
[[nodiscard]] Future<std::tuple<detail::functions::Stored<T>...>> when_all(Future<T>... futures) {
    std::unique_ptr<detail::functions::Composed<std::tuple<detail::functions::Stored<T>...>>> composed =
        std::make_unique<detail::functions::AllOf<T...>>(std::move(futures)...);
    return Future<std::tuple<detail::functions::Stored<T>...>>{std::move(composed)};
}
template <class T>
[[nodiscard]] Future<std::vector<detail::functions::Stored<T>>> when_all(std::vector<Future<T>> futures) {
    std::unique_ptr<detail::functions::Composed<std::vector<detail::functions::Stored<T>>>> composed =
        std::make_unique<detail::functions::AllOfMany<T>>(std::move(futures));
    return Future<std::vector<detail::functions::Stored<T>>>{std::move(composed)};
}

/// Waits until one of these has its result, and returns which: the first that has. Those whose result was taken, and
/// those that were moved from, are passed over. Throws UsageError if there is no other, and as Future::wait().
template <class T>
std::size_t wait_any(std::span<Future<T>> futures) {
    const auto find = [&](auto&& matches) {
        return static_cast<std::size_t>(
            std::ranges::find_if(futures, [&](Future<T>& each) { return each.valid() && matches(each); }) -
            futures.begin());
    };
    const std::size_t some = find([](Future<T>&) { return true; });
    if (some == futures.size()) detail::functions::throw_no_future("wait_any");
    std::size_t found = futures.size();
    futures[some].wait_until([&] {
        found = find([](Future<T>& each) { return each.known_ready(); });
        return found != futures.size();
    });
    return found;
}
template <class T>
std::size_t wait_any(std::vector<Future<T>>& futures) {
    return wait_any(std::span{futures});
}

} // namespace lapwing
