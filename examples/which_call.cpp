// One need, several calls: the parts between the marks are shown in docs/which-call.md. Each part checks itself.
//
//     mpirun -n 4 which_call
#include <lapwing/lapwing.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::int64_t n = 400;

double value(std::int64_t i) { return 0.5 * static_cast<double>(i); }
std::int64_t place(std::int64_t i) { return i * 7919 % n; }

bool own(lapwing::Runtime& runtime) {
    lapwing::GlobalArray<double, 1> a{runtime, {n}};
    // [own]
    for (auto [i] : a.local_domain()) a.local(i) = value(i); // checked: i must be a local index
    for (double& x : a.local_span()) x *= 2;                 // at the speed of a pointer
    // [end]
    runtime.barrier();
    return a.sum() == static_cast<double>(n * (n - 1)) / 2;
}

bool element(lapwing::Runtime& runtime) {
    lapwing::GlobalArray<double, 1> a{runtime, {n}};
    for (auto [i] : a.local_domain()) a.local(i) = value(i);
    runtime.barrier();
    // [element]
    const double x = a(n / 2); // a load on this node, a round trip to another
    if (runtime.rank() == 0) a(n - 1) = 2 * x;
    runtime.barrier();
    // [end]
    return a(n - 1) == 2 * value(n / 2);
}

bool cache(lapwing::Runtime& runtime) {
    // [cache]
    lapwing::GlobalArray<double, 1> a{runtime, {n}, lapwing::Block{}, {.cache = {.mode = lapwing::CacheMode::epoch}}};
    for (auto [i] : a.local_domain()) a(i) = value(i);
    runtime.barrier(); // what was written is at the owners, what was read is forgotten
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += a(i); // pages travel, ahead of the loop
    // [end]
    return sum == 0.5 * n * (n - 1) / 2;
}

bool list(lapwing::Runtime& runtime) {
    lapwing::GlobalArray<double, 1> a{runtime, {n}};
    lapwing::GlobalArray<std::int64_t, 1> counts{runtime, {n}};
    for (auto [i] : a.local_domain()) a.local(i) = value(i);
    runtime.barrier();
    // [list]
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < 100; ++i) indices.push_back(place(i));
    std::vector<double> values(indices.size());
    a.gather(indices, values); // one message for each owner

    for (const std::int64_t i : indices) counts(i).atomic().add(1); // no result is waited for: hundreds in a message
    runtime.barrier();
    // [end]
    bool right = counts.sum() == 100 * runtime.size();
    for (std::size_t k = 0; k < values.size(); ++k) right = right && values[k] == value(indices[k]);
    return right;
}

bool patch(lapwing::Runtime& runtime) {
    lapwing::GlobalArray<double, 2> a{runtime, {20, 30}};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = value(30 * i + j);
    runtime.barrier();
    // [patch]
    std::vector<double> box(10 * 8);
    a({{5, 15}, {2, 10}}).get(box); // rows 5 to 14, columns 2 to 9, whoever owns them

    lapwing::Completion later = a({{5, 15}, {2, 10}}).start_get(box); // the same, while something else is done
    later.wait();
    // [end]
    bool right = true;
    std::size_t k = 0;
    for (auto [i, j] : lapwing::Domain<2>{{5, 15}, {2, 10}}) right = right && box[k++] == value(30 * i + j);
    runtime.barrier();
    return right;
}

bool plan(lapwing::Runtime& runtime) {
    const std::uint64_t rows = 50;
    const std::uint64_t row_bytes = 20 * sizeof(double);
    std::vector<double> matrix(rows * 20);
    for (std::size_t i = 0; i < matrix.size(); ++i)
        matrix[i] = value(static_cast<std::int64_t>(i)) + runtime.rank().value;
    lapwing::Window window{runtime, rows * sizeof(double)};
    const lapwing::Rank next{(runtime.rank().value + 1) % runtime.size()};
    // [plan]
    const auto column = lapwing::Layout::strided(rows, sizeof(double), row_bytes);
    auto plan =
        lapwing::Plan::put(window, column, next, lapwing::Offset{0}, lapwing::Layout::contiguous(column.bytes()));
    for (int step = 0; step < 10; ++step) {
        plan.execute(matrix.data());
        runtime.barrier();
    }
    // [end]
    const int previous = (runtime.rank().value + runtime.size() - 1) % runtime.size();
    bool right = true;
    for (std::size_t i = 0; i < rows; ++i)
        right = right && window.local_as<double>()[i] == value(static_cast<std::int64_t>(20 * i)) + previous;
    runtime.barrier();
    return right;
}

bool notified(lapwing::Runtime& runtime) {
    lapwing::Window window{runtime, 100 * sizeof(double)};
    const lapwing::Rank next{(runtime.rank().value + 1) % runtime.size()};
    const std::vector<double> block(100, runtime.rank().value);
    // [notified]
    constexpr unsigned arrived = 0; // one of the window's counters: 16, unless its options say more
    window.put_notify(next, lapwing::Offset{0}, block, arrived);
    window.wait_notified(arrived); // the block that came with it can be read
    // [end]
    const double previous = (runtime.rank().value + runtime.size() - 1) % runtime.size();
    bool right = true;
    for (const double x : window.local_as<double>()) right = right && x == previous;
    return right;
}

} // namespace

int main() {
    lapwing::Runtime runtime;
    int wrong = 0;
    const auto check = [&](const char* what, bool right) {
        if (right) return;
        std::printf("rank %d: %s: WRONG\n", runtime.rank().value, what);
        wrong = 1;
    };
    check("own", own(runtime));
    check("element", element(runtime));
    check("cache", cache(runtime));
    check("list", list(runtime));
    check("patch", patch(runtime));
    check("plan", plan(runtime));
    check("notified", notified(runtime));
    if (runtime.rank() == 0 && wrong == 0) std::printf("seven ways to reach data: correct\n");
    return wrong;
}
