// Compiles only if no name that <lapwing/lapwing.hpp> brings into lapwing is also one that programs use of std.
#include <lapwing/lapwing.hpp>
#include <lapwing/upc.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <valarray>
#include <variant>
#include <vector>

using namespace std; // what programs do
using namespace lapwing;

// Names that programs give to things of their own.
int values = 3;
int copy_of_values = values;
struct patterns {};
double arrays[2], slices[2], pattern[2], geometry[2], traits[2];

int sum_of_names();
int sum_of_names() {
    array<int, 3> a{3, 1, 2};
    vector<int> b(a.begin(), a.end());
    sort(b.begin(), b.end());
    copy(b.begin(), b.end(), a.begin());
    fill(b.begin(), b.end(), 1);
    span<int> c{b};
    const pair<int, int> d{min(1, 2), max(1, 2)};
    tuple<int, double> e{1, 2.0};
    optional<int> f{1};
    variant<int, double> g{1};
    map<int, int> h{{1, 1}};
    set<int> i{1};
    unordered_map<int, int> j{{1, 1}};
    list<int> k{1};
    deque<int> l{1};
    queue<int> m;
    bitset<8> n{1};
    valarray<int> o(1, 3);
    complex<double> p{1, 2};
    atomic<int> q{static_cast<int>(real(p))};
    function<int()> r{[] { return 1; }};
    mutex s;
    const lock_guard guard{s};
    const unique_ptr<int> t = make_unique<int>(1);
    const auto u = chrono::seconds{1};
    namespace v = views; // Clang before 16 does not compile a view of libstdc++
    const string w = to_string(1);
    swap(a[0], a[1]);
    m.push(accumulate(b.begin(), b.end(), 0));
    size_t x = w.size() + n.count() + o.size() + c.size();
    byte y{};
    return a[0] + d.first + get<0>(e) + *f + get<int>(g) + h[1] + *i.begin() + j[1] + k.front() + l.front() +
           m.front() + q.load() + r() + *t + static_cast<int>(u.count()) + *ranges::begin(b) + static_cast<int>(x) +
           to_integer<int>(y);
}
